"""One request to a webhook: on time, to the address that was given and no other, and silent about it."""

from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

import aiohttp

from paceline_operator.adapters.retry import retry_after
from paceline_operator.api.schema import JsonDict

SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request."""

    trouble: str = ""
    """Why it was not taken; empty: it was."""
    wait: float = 0.0
    """Seconds for which the receiver asks to be left alone."""


def open_session(seconds: float = SECONDS) -> aiohttp.ClientSession:
    """Certificates are verified, as aiohttp does unless told otherwise; no cookie is kept."""
    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=seconds), cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": f"paceline-operator/{version('paceline')}"},
    )  # fmt: skip


async def post(session: aiohttp.ClientSession, url: str, body: JsonDict) -> Answer:
    """Send it once. An alert does not follow a redirect: it would go to whom nobody has named."""
    try:
        async with session.post(url, json=body, allow_redirects=False) as answer:
            if 200 <= answer.status < 300:
                return Answer()
            return Answer(f"HTTP {answer.status}", retry_after(answer.headers.get("Retry-After")))
    except TimeoutError:
        return Answer("no answer in time")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Answer(type(error).__name__)  # its words may hold the URL
