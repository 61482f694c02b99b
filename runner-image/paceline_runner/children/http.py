"""Work done by a server: the payload is POSTed, the answer is the result, the status says how it went."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

import aiohttp

from paceline.job import Claimed
from paceline.outside import Http
from paceline.retry import LONGEST
from paceline_runner.attempt import Attempt, Ended
from paceline_runner.children.errors import HttpError
from paceline_runner.children.outcome import RESULT_LIMIT, again, never, result

SHOWN: Final = 4096
"""So many bytes of the answer are repeated in an error."""
LATER: Final = frozenset((408, 425, 429))
"""The 4xx that say that another try may help."""
CONNECT_SECONDS: Final = 10.0
_TRACE: Final = re.compile(r"[\x21-\x7e]+")


class HttpExecutor:
    """Talks to servers, all over one session."""

    def __init__(self) -> None:
        """Open nothing yet."""
        self._session: aiohttp.ClientSession | None = None

    async def run(self, attempt: Attempt) -> Ended:
        """Post the payload once. A cancelled caller closes the connection."""
        target = attempt.handler.outside
        assert isinstance(target, Http)
        try:
            async with self._opened().post(
                target.url,
                data=attempt.job.body.encode(),
                headers=headers(target, attempt.job),
                allow_redirects=False,
            ) as answer:
                good = 200 <= answer.status < 300
                body = await _head(answer, RESULT_LIMIT + 1 if good else SHOWN)
                return result(attempt, body) if good else _refused(attempt, target, answer, body)
        except (aiohttp.InvalidURL, ValueError) as error:
            return never(f"HttpError: {target.place} cannot be called: {error}")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            why = str(error) or type(error).__name__
            return again(attempt, HttpError(f"{target.place} cannot be reached, or broke off: {why}"))

    async def close(self) -> None:
        """Close what is open."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # A kept connection may be closed by the server just as it is used, which would cost the job a try.
                connector=aiohttp.TCPConnector(limit=0, force_close=True),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),  # the attempt has its own
                trust_env=False,
            )
        return self._session


def headers(target: Http, job: Claimed) -> dict[str, str]:
    """The handler's own, and those that tell about the job, which nobody overrides."""
    ours = {
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",
        "Paceline-Job-Id": str(job.id),
        "Paceline-Fence": str(job.fence),
        "Paceline-Attempt": str(job.tries + 1),
        "Paceline-Kind": job.kind,
    }
    if job.trace and _TRACE.fullmatch(job.trace):  # anything may stand there, and a line break would be a new header
        ours["traceparent"] = job.trace
    taken = {name.lower() for name in ours}
    return {name: value for name, value in target.headers.items() if name.lower() not in taken} | ours


def _refused(attempt: Attempt, target: Http, answer: aiohttp.ClientResponse, body: bytes) -> Ended:
    said = body.decode(errors="replace").strip()
    status = f"{answer.status} {answer.reason or ''}".strip()
    note = ", a redirect, which is not followed" if 300 <= answer.status < 400 else ""
    error = HttpError(
        f"{target.place} answered {status}{note}{f'; its answer begins:{chr(10)}{said}' if said else ''}", answer.status
    )
    if answer.status < 500 and answer.status not in LATER:
        return never(f"HttpError: {error}")
    return again(attempt, error, wait=retry_after(answer.headers.get("Retry-After"), datetime.now(UTC)))


async def _head(answer: aiohttp.ClientResponse, size: int) -> bytes:
    """The first bytes of an answer, however long it is."""
    kept = bytearray()
    async for piece in answer.content.iter_any():
        kept += piece[: size - len(kept)]
        if len(kept) >= size:
            break
    return bytes(kept)


def retry_after(said: str | None, now: datetime) -> timedelta | None:
    """Seconds or a date; what is neither is not heeded."""
    said = (said or "").strip()
    if not said:
        return None
    if re.fullmatch(r"[0-9]{1,12}", said):
        wait = timedelta(seconds=min(int(said), LONGEST.total_seconds()))
    else:
        try:
            moment = parsedate_to_datetime(said)
        except (ValueError, OverflowError):
            return None
        wait = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
    return min(max(wait, timedelta(0)), LONGEST)
