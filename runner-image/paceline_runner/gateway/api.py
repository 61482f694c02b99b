"""Requests to a gateway: one session, the token in a header, errors in our words."""

import asyncio
import json
import ssl
from collections.abc import Coroutine
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from paceline import errors
from paceline_runner.settings import Gateway

CONNECT_SECONDS: Final = 5.0
"""A socket that dropped has five seconds to come back, so nobody waits longer for a connection."""
ANSWER_SECONDS: Final = 10.0
LONGEST_PAUSE: Final = 60.0
"""Whoever stands between may ask for hours."""
LARGEST_FRAME: Final = 8 * 2**20
"""A payload of 1 MiB, in which every character may be escaped."""
REFUSALS: Final = {
    "not_allowed": errors.NotAllowedError,
    "not_found": errors.NotFoundError,
    "name_taken": errors.NameTakenError,
    "pool_conflict": errors.PoolConflictError,
    "invalid": errors.InvalidInputError,
    "not_yours": errors.NotFoundError,
}
"""What the gateway's words mean; another try would be answered with the same."""
BAD_TOKEN: Final = (
    "the token is not good: wrong, expired or revoked (make another: paceline token create --runner NAME)"  # noqa: S105
)
Socket: TypeAlias = aiohttp.ClientWebSocketResponse[bool]


class NotAuthorizedError(errors.NotAllowedError):
    """The gateway does not know the token, or not any more."""


class NoSocketError(errors.GatewayError):
    """The gateway may be there, but a WebSocket does not come through to it."""

    def __init__(self, why: str, *, passing: bool) -> None:
        """`passing`: it may be better soon."""
        super().__init__(why)
        self.passing = passing


class Api:
    """One gateway and one token. To be used in the loop that it was made in."""

    def __init__(self, gateway: Gateway) -> None:
        """Connect to nothing yet."""
        self._base = gateway.url.rstrip("/")
        self.place = f"the gateway {urlsplit(self._base).netloc}"
        trusted = ssl.create_default_context(cafile=gateway.ca) if self._base.startswith("https") else None
        self._options: dict[str, Any] = {"proxy": _proxy(self._base), "ssl": trusted or True}
        self.retry_after = 0.0
        """Seconds that the gateway asked us to wait, with its last answer."""
        self._ending: set[asyncio.Future[object]] = set()
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {gateway.secret()}"},
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        )

    async def close(self) -> None:
        """End what is under way."""
        await self._session.close()

    async def call(
        self, method: str, path: str, body: str | None = None, *, seconds: float = ANSWER_SECONDS,
        query: dict[str, str] | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """The answer; `body` is JSON."""
        self.retry_after = 0.0
        try:
            async with (
                asyncio.timeout(seconds),
                self._session.request(
                    method, self._base + path, data=None if body is None else body.encode(), params=query,
                    headers={} if body is None else {"Content-Type": "application/json"}, allow_redirects=False,
                    **self._options,
                ) as answer,
            ):  # fmt: skip
                told = _object(await answer.text(errors="replace"))
        except TimeoutError:
            raise errors.GatewayError(f"{self.place} does not answer") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self.unreachable(error) from error
        self.retry_after = _seconds(answer.headers.get("Retry-After", ""))
        if answer.status == 200 and told is not None:
            return told
        raise self._refusal(answer.status, told or {})

    async def connect(self, path: str, heartbeat: float) -> Socket:
        """A WebSocket. Whoever does not let it through is told apart by a handshake that fails, or by none at all."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                made: Socket = await self._session.ws_connect(
                    self._base + path, protocols=("paceline.v1",), heartbeat=heartbeat, max_msg_size=LARGEST_FRAME,
                    timeout=aiohttp.ClientWSTimeout(ws_close=1.0), **self._options,
                )  # fmt: skip
                return made
        except TimeoutError:
            raise NoSocketError("nothing comes back", passing=False) from None
        except aiohttp.WSServerHandshakeError as error:
            passing = error.status >= 500 or error.status == 429
            raise NoSocketError(f"the answer is {error.status}", passing=passing) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self.unreachable(error) from error

    def finish(self, work: Coroutine[Any, Any, object]) -> None:
        """Let something come to its end by itself."""
        task = asyncio.ensure_future(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def unreachable(self, error: Exception) -> errors.GatewayError:
        """The error for a connection that could not be made, or that broke."""
        fix = ""
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            fix = " (where it has a certificate of your own, give its CA with --gateway-ca)"
        return errors.GatewayError(f"cannot reach {self.place}: {str(error) or type(error).__name__}{fix}")

    def _refusal(self, status: int, told: dict[str, Any]) -> errors.PacelineError:
        """An answer of the gateway itself has a word; anything else comes from whoever stands between, and may pass."""
        word, detail = told.get("error"), told.get("detail")
        if word == "unauthorized":
            return NotAuthorizedError(f"{self.place} says: {BAD_TOKEN}")
        if word in REFUSALS:
            return REFUSALS[word](f"{self.place} says: {detail}")
        return errors.GatewayError(f"{self.place} answers {status}{f': {detail}' if detail else ''}")


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _seconds(text: str) -> float:
    """Of a Retry-After; a date is nothing that a gateway of ours would send."""
    return min(float(text), LONGEST_PAUSE) if text.isascii() and text.isdigit() else 0.0


def _proxy(url: str) -> str | None:
    """As the variables say. Not aiohttp's own way: it would look into .netrc for another login too."""
    parts = urlsplit(url)
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)
