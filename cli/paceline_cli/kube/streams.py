"""What comes from a pod as a stream: its log, and whatever listens on its ports."""

import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio.client.rest import RESTClientObject

from paceline_operator.adapters.answer import Answer
from paceline_operator.ports.errors import ClusterError, ForbiddenError, UnreachableError
from paceline_operator.ports.resources import POD

if TYPE_CHECKING:
    from paceline_operator.adapters.access import Access

CONNECT_SECONDS: Final = 10.0
ASK_FOR: Final = "ask for the verbs get and create on pods/portforward, or give --gateway URL"
CHANNELS: Final = "v4.channel.k8s.io"
"""The kubelet's protocol: every message begins with the number of its channel."""
Socket: TypeAlias = aiohttp.ClientWebSocketResponse[bool]


class Streams:
    """Connections to one API server that last; `async with` opens and closes them."""

    def __init__(self, access: "Access") -> None:
        """Connect to nothing yet."""
        self._access = access
        self._host = ""
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        configuration = await self._access.open()
        self._host = configuration.host
        trusted: ssl.SSLContext = RESTClientObject(configuration).ssl_context
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=trusted, limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            proxy=configuration.proxy,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def log(self, namespace: str, pod: str, query: Mapping[str, str]) -> AsyncIterator[bytes]:
        """What a pod has written, as it comes; an answer that is none is the error that it stands for."""
        path = POD.path(namespace, pod, "log")
        try:
            async with self._opened.get(self._url(path, query), headers=self._headers()) as answer:
                if answer.status != 200:
                    raise Answer.parse(f"logs of pod {namespace}/{pod}", answer.status, await answer.read()).error()
                async for piece in answer.content.iter_any():
                    yield piece
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _broken(f"logs of pod {namespace}/{pod}", error) from error

    async def version(self) -> dict[str, Any]:
        """What the API server says of itself."""
        try:
            async with self._opened.get(f"{self._host}/version", headers=self._headers()) as answer:
                return Answer.parse("version", answer.status, await answer.read()).require()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _broken("version", error) from error

    @contextlib.asynccontextmanager
    async def port(self, namespace: str, pod: str, number: int) -> AsyncIterator[Socket]:
        """One connection to a port of a pod."""
        what = f"port-forward to pod {namespace}/{pod}"
        url = self._url(POD.path(namespace, pod, "portforward"), {"ports": str(number)})
        try:
            socket = await self._opened.ws_connect(url, protocols=(CHANNELS,), headers=self._headers(), max_msg_size=0)
        except aiohttp.WSServerHandshakeError as error:
            raise await self._refusal(what, url, error) from None
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _broken(what, error) from error
        async with socket:
            yield socket

    async def _refusal(self, what: str, url: str, error: aiohttp.WSServerHandshakeError) -> ClusterError:
        """A handshake that failed has no words: a plain request for the same gets them."""
        said = Answer(what, error.status, {"message": error.message})
        with contextlib.suppress(aiohttp.ClientError, OSError, TimeoutError):
            async with self._opened.get(url, headers=self._headers()) as answer:
                if answer.status == error.status:
                    said = Answer.parse(what, answer.status, await answer.read())
        if said.status in (401, 403):
            return ForbiddenError(what, said.status, f"{said.message}; {ASK_FOR}")
        return said.error()

    @property
    def _opened(self) -> aiohttp.ClientSession:
        assert self._session is not None
        return self._session

    def _url(self, path: str, query: Mapping[str, str]) -> str:
        return self._host + path + (f"?{urlencode(query)}" if query else "")

    def _headers(self) -> dict[str, str]:
        known = self._access.authorization()
        return {"Authorization": known} if known else {}


def _broken(what: str, error: Exception) -> UnreachableError:
    return UnreachableError(f"{what} failed: {str(error) or type(error).__name__}")
