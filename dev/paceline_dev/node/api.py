"""The API server, in plain JSON: models would drop what they do not know, and cost more than the request."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
from kubernetes.aio import config
from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.client.exceptions import ApiException

from paceline_dev.errors import DevError
from paceline_dev.node.wire import Json

SECONDS = 10.0
"""How long one request may take."""
WATCH_SECONDS = 300
SILENCE_SECONDS = 90.0
"""A watch that says nothing for so long is dead: there is a bookmark every minute."""
CONNECTIONS = 100
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
TROUBLE = (aiohttp.ClientError, OSError, TimeoutError, asyncio.TimeoutError)
"""What a request can end with when nobody answers it."""


class AnswerError(DevError):
    """The API server said no; `code` is its HTTP status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Api:
    """A connection to one API server."""

    def __init__(self, client: ApiClient) -> None:
        """Speak through that client."""
        self._client = client

    @classmethod
    async def connect(cls, kubeconfig: Path) -> Self:
        """Read a kubeconfig; nothing is sent yet."""
        settings = Configuration()
        if not kubeconfig.is_file():  # noqa: ASYNC240 -- once, before anything runs
            raise DevError(f"{kubeconfig} cannot be used as a kubeconfig: there is no such file")
        try:
            load: Any = config.load_kube_config  # it has no types
            await load(str(kubeconfig), client_configuration=settings, persist_config=False)
        except (config.ConfigException, OSError) as error:
            raise DevError(f"{kubeconfig} cannot be used as a kubeconfig: {error}") from None
        settings.connection_pool_maxsize = CONNECTIONS
        settings.retries = None
        settings.client_session_kwargs = {"trust_env": False}  # no proxy between us and loopback
        return cls(ApiClient(settings))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        close: Any = self._client.close  # it has no types
        await close()

    async def get(self, path: str, **query: str) -> Json:
        """Read one object or list."""
        return await self._ask("GET", path, query)

    async def text(self, path: str, **query: str) -> str:
        """Read what is no JSON: a log."""
        return (await self._data("GET", path, query)).decode(errors="replace")

    async def find(self, path: str) -> Json | None:
        """Read one object; None if it does not exist."""
        try:
            return await self.get(path)
        except AnswerError as error:
            if error.code == 404:
                return None
            raise

    async def post(self, path: str, body: Json) -> Json:
        """Create an object."""
        return await self._ask("POST", path, {}, body)

    async def patch(self, path: str, body: Json, kind: str = STRATEGIC) -> Json:
        """Change an object."""
        return await self._ask("PATCH", path, {"fieldManager": "paceline-local-node"}, body, kind)

    async def put(self, path: str, body: Json) -> Json:
        """Replace an object."""
        return await self._ask("PUT", path, {}, body)

    async def delete(self, path: str, body: Json | None = None) -> Json:
        """Delete an object, by the options in the body."""
        return await self._ask("DELETE", path, {}, body)

    async def watch(self, path: str, version: str, **query: str) -> AsyncIterator[tuple[str, Json]]:
        """Events after that version, until the server ends the watch; AnswerError 410 when it is too old."""
        query |= {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": version}
        query["timeoutSeconds"] = str(WATCH_SECONDS)
        patience = aiohttp.ClientTimeout(total=None, sock_connect=SECONDS, sock_read=SILENCE_SECONDS)
        answer = await self._send("GET", path, query, None, None, patience)
        try:
            if answer.status >= 400:
                raise AnswerError(answer.status, (await answer.read()).decode(errors="replace"))
            while line := await answer.response.content.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise AnswerError(event["object"].get("code", 0), event["object"].get("message", ""))
                yield event["type"], event["object"]
        finally:
            answer.response.close()

    async def _ask(
        self, method: str, path: str, query: Mapping[str, str], body: Json | None = None, kind: str | None = None
    ) -> Json:
        found: Json = json.loads(await self._data(method, path, query, body, kind))
        return found

    async def _data(
        self, method: str, path: str, query: Mapping[str, str], body: Json | None = None, kind: str | None = None
    ) -> bytes:
        answer = await self._send(method, path, query, body, kind, SECONDS)
        data: bytes = await answer.read()
        if answer.status >= 400:
            raise AnswerError(answer.status, _message(data) or f"{method} {path}: {answer.status}")
        return data

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Json | None,
        kind: str | None,
        patience: float | aiohttp.ClientTimeout,
    ) -> Any:
        headers = {"Accept": "application/json", "Content-Type": kind or "application/json"}
        request = await self._client.param_serialize(
            method, path, query_params=list(query.items()), header_params=headers, body=body,
            auth_settings=["BearerToken"],
        )  # fmt: skip
        try:
            return await self._client.call_api(*request, _request_timeout=patience)
        except ApiException as error:
            raise AnswerError(error.status or 0, str(error.reason)) from None


def _message(data: bytes) -> str:
    try:
        return str(json.loads(data).get("message", ""))
    except ValueError:
        return data.decode(errors="replace")
