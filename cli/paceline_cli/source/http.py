"""Requests to a gateway, and its answers in our words."""

import json
import ssl
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from pydantic import TypeAdapter, ValidationError

from paceline import errors

T = TypeVar("T")
CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 65.0
"""A gateway gives a request 60 seconds, and then says so itself."""
GOOD: Final = (200, 201, 204)
NOTHING: Final = 204
NO_ROUTE: Final = "Not Found"
"""What the framework says of a path that it does not know."""
PAGE: Final = 500
"""The longest page that a gateway gives."""
BAD_TOKEN: Final = (
    "the token is not good: wrong, expired or revoked "  # noqa: S105 -- words about one
    "(make another: paceline token create --admin)"
)
OWN_CA: Final = " (where it has a certificate of your own, give its CA with --gateway-ca)"
REFUSALS: Final = {
    "invalid": errors.InvalidInputError,
    "name_taken": errors.NameTakenError,
    "not_allowed": errors.NotAllowedError,
    "not_eligible": errors.NotEligibleError,
    "not_found": errors.NotFoundError,
    "read_only": errors.NotAllowedError,
}
"""What the gateway's words mean. Its sentences say what to do already."""


class Http:
    """A gateway behind a token; `async with` opens and closes it."""

    def __init__(
        self, url: str, token: str, *, ca: Path | None = None, place: str = "", proxy: str | None = None
    ) -> None:
        """Connect to nothing yet; `place` is what it is called where the address says nothing to people."""
        self._base = url.rstrip("/")
        self._token, self._proxy = token, proxy
        self._trusted = trusted(ca) if self._base.startswith("https") else True
        self._session: aiohttp.ClientSession | None = None
        self._now: datetime | None = None
        self.place = place or f"the gateway {urlsplit(self._base).netloc}"

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {self._token}"},
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(ssl=self._trusted),
            proxy=self._proxy,
            timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS, sock_connect=CONNECT_SECONDS),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def now(self) -> datetime:
        """By the gateway's last answer, to the second."""
        if self._now is None:
            await self._ask("GET", "/v1/pools")
        return self._now or datetime.now(UTC)

    async def _ask(self, method: str, path: str, body: object = None, **query: str | None) -> dict[str, Any]:
        assert self._session is not None
        given = {key: value for key, value in query.items() if value is not None}
        try:
            async with self._session.request(
                method, self._base + path, params=given, json=body, allow_redirects=False
            ) as answer:
                text = await answer.text(errors="replace")
        except TimeoutError:
            raise errors.GatewayError(f"{self.place} does not answer") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            fix = OWN_CA if isinstance(error, aiohttp.ClientConnectorCertificateError) else ""
            why = str(error) or type(error).__name__
            raise errors.GatewayError(f"cannot reach {self.place}: {why}{fix}") from error
        told = {} if answer.status == NOTHING else _object(text)
        if answer.status in GOOD and told is not None:
            self._now = _date(answer.headers.get("Date"))
            return told
        raise self._refusal(path, answer.status, told or {})

    def _refusal(self, path: str, status: int, told: dict[str, Any]) -> errors.PacelineError:
        """An answer of the gateway itself has a word; anything else comes from whoever stands between."""
        word, detail = told.get("error"), told.get("detail")
        if word == "unauthorized":
            return errors.NotAllowedError(f"{self.place} says: {BAD_TOKEN}")
        if word == "not_found" and detail == NO_ROUTE:
            return errors.GatewayError(f"{self.place} does not serve {path}: it is older than this command; update it")
        if word in REFUSALS:
            return REFUSALS[str(word)](f"{self.place} says: {detail}")
        return errors.GatewayError(f"{self.place} answers {status}{f': {detail}' if detail else ''}")

    def _read(self, kind: type[T], told: object) -> T:
        try:
            return TypeAdapter(kind).validate_python(told)
        except ValidationError as error:
            where = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise self._strange(where) from None

    def _strange(self, where: str) -> errors.GatewayError:
        return errors.GatewayError(
            f"{self.place} says something that this version does not understand ({where}): "
            "use a paceline of the gateway's version"
        )


def trusted(ca: Path | None) -> ssl.SSLContext:
    """Whom to believe that he is the gateway."""
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise errors.InvalidInputError(f"gateway-ca {ca} has no certificates in PEM: {error}") from None


def proxy_for(url: str) -> str | None:
    """As the variables say. Not aiohttp's own way: it would look into .netrc for another login too."""
    parts = urlsplit(url)
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _date(header: str | None) -> datetime | None:
    try:
        return parsedate_to_datetime(header or "")
    except ValueError:
        return None
