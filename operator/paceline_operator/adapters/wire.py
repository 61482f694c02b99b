"""One request to the API server: on time, repeated where that is safe, counted, and only while we may write."""

import asyncio
import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Self
from urllib.parse import urlencode

import aiohttp
from kubernetes.aio.client import ApiClient

from paceline_operator.adapters.access import Access
from paceline_operator.adapters.answer import Answer
from paceline_operator.adapters.requests import Request
from paceline_operator.adapters.retry import Retries, retry_after
from paceline_operator.ports.errors import NotLeadingError, UnreachableError
from paceline_operator.ports.resources import ResourceKind

log = logging.getLogger(__name__)

PARALLEL_WRITES = 25
PARALLEL_READS = 25
"""Of their own: a read never waits for a write. Who waits for his turn has all of his time left when it comes."""

SHORTEST = 0.1
"""No attempt is given less than this many seconds."""

OnRequest = Callable[[str, ResourceKind, int, float], None]
"""Told of every attempt: verb, resource, HTTP status (0 if there was no answer) and seconds."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """No good answer; `undone` if the request was surely not carried out."""

    said: str
    undone: bool
    retry_after: float = 0.0
    answer: Answer | None = None


class Wire:
    """The connection pool and the rules of its use."""

    def __init__(
        self,
        access: Access,
        *,
        timeout: float = 10.0,
        retries: Retries | None = None,
        gate: Callable[[], bool] = lambda: True,
        on_request: OnRequest = lambda _verb, _resource, _status, _seconds: None,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`gate` is asked before every attempt to write: while it is closed, nothing is sent."""
        self._access = access
        self._timeout = timeout
        self._retries = retries or Retries()
        self._gate = gate
        self._on_request = on_request
        self._clock = clock
        self._chance = chance
        self._writes = asyncio.Semaphore(PARALLEL_WRITES)
        self._reads = asyncio.Semaphore(PARALLEL_READS)
        self._agent = f"paceline-operator/{version('paceline')}"
        self._client: Any = None  # the library's request layer is not typed
        self._host = ""

    async def open(self) -> Self:
        """Read the credentials; the first request connects."""
        configuration = await self._access.open()
        configuration.connection_pool_maxsize = PARALLEL_WRITES + PARALLEL_READS
        self._host = configuration.host
        self._client = ApiClient(configuration)
        return self

    async def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.close()

    async def send(self, request: Request) -> Answer:
        """The answer, also a bad one, unless it may be better next time and there is time for a next time."""
        async with self._writes if request.writes else self._reads:
            return await self._persist(request)

    async def _persist(self, request: Request) -> Answer:
        started, attempt = self._clock(), 0
        while True:
            left = self._retries.left(self._clock() - started)
            # never 0, which would be no limit at all
            outcome = await self._attempt(request, max(SHORTEST, min(self._timeout, left)))
            if isinstance(outcome, Answer):
                return outcome
            wait = self._retries.wait(attempt, self._chance(), outcome.retry_after)
            attempt += 1
            in_time = wait < self._retries.left(self._clock() - started)
            if not (in_time and (outcome.undone or request.idempotent)):
                return _give_up(request, outcome, attempt)
            log.info("%s: %s; again in %.1f s", request, outcome.said, wait)
            await asyncio.sleep(wait)

    async def _attempt(self, request: Request, seconds: float) -> Answer | Trouble:
        used = self._access.authorization()
        answer = await self._exchange(request, seconds, used)
        if isinstance(answer, Answer) and answer.status == 401 and await self._access.renew(used):
            answer = await self._exchange(request, seconds, self._access.authorization())
        if isinstance(answer, Trouble):
            return answer
        said = f"{answer.message} (HTTP {answer.status})"
        if answer.overloaded or (answer.contended and request.contends):
            return Trouble(said, undone=True, retry_after=answer.retry_after, answer=answer)
        if answer.broken:
            return Trouble(said, undone=False, retry_after=answer.retry_after, answer=answer)
        return answer

    async def _exchange(self, request: Request, seconds: float, authorization: str | None) -> Answer | Trouble:
        """One HTTP request. The gate is asked last, when nothing is left to wait for but the network."""
        headers = {"User-Agent": self._agent, "Accept": "application/json", "Content-Type": request.content}
        if authorization:
            headers["Authorization"] = authorization
        url = self._host + request.path
        if request.query:
            url += "?" + urlencode(request.query)
        if request.writes and not self._gate():
            raise NotLeadingError(f"{request} was not sent: another operator leads, or our lease may have run out")
        began, status = self._clock(), 0
        try:
            answer = await self._client.rest_client.request(
                request.method,
                url,
                headers=headers,
                body=request.body,
                _request_timeout=aiohttp.ClientTimeout(total=seconds),
            )
            try:
                raw = await answer.read()
            except BaseException:
                answer.response.close()
                raise
            status = answer.status
            return Answer.parse(str(request), status, raw, retry_after(answer.headers.get("Retry-After")))
        except aiohttp.ClientConnectorError as error:
            return Trouble(f"cannot connect: {error}", undone=True)
        except TimeoutError:
            return Trouble(f"no answer after {seconds:.1f} s", undone=False)
        except (aiohttp.ClientError, OSError) as error:
            return Trouble(f"the connection broke: {str(error) or type(error).__name__}", undone=False)
        finally:
            self._on_request(request.verb, request.target.resource, status, self._clock() - began)


def _give_up(request: Request, trouble: Trouble, attempts: int) -> Answer:
    if trouble.answer and trouble.answer.contended:
        return trouble.answer
    times = f" {attempts} times" if attempts > 1 else ""
    doubt = "" if trouble.undone or request.idempotent else "; it is not known whether it was carried out"
    raise UnreachableError(f"{request} failed{times}: {trouble.said}{doubt}")
