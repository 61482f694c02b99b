"""What a gateway counts. Labels are routes and fixed words: pools, names and ids would make a series each.

Everything hangs on `services.metrics`:

- `with metrics.waiting_calls.track_inprogress():` around whatever waits (also `waiting_polls` and `sockets`);
- `with metrics.writing("enqueue"):` around a call that writes to the database;
- `metrics.handed_out(job.waited for job in jobs)` when runs leave for a runner;
- `metrics.claim_failed("undelivered")` when one that was claimed did not reach its runner.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, Literal

from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

KIND: Final = CONTENT_TYPE_PLAIN_0_0_4
REQUEST_SECONDS: Final = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
CLAIM_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
WRITE_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)

Write = Literal["enqueue", "claim", "heartbeat", "report", "register"]
"""What a call to the database is for."""
Failure = Literal["database", "undelivered", "unconfirmed", "refused"]
"""Why a claim came to nothing: the call failed, the runner had gone, it did not confirm, or it spoke too late."""

NO_ROUTE: Final = "-"
"""The label of requests that went to none: refused at the door, or a path that there is not."""
HUNG_UP: Final = 499
"""The code of requests whose caller did not wait for the answer."""


class Metrics:
    """One for an app; its registry is its own, so that several apps of one process do not meet."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        self._requests = Counter(
            "paceline_http_requests",
            "Requests that were answered; route is the pattern, and code 499 a caller who hung up.",
            ("route", "method", "code"),
            registry=self.registry,
        )  # fmt: skip
        self._request_seconds = Histogram(
            "paceline_http_request_seconds", "From a request's head to the end of its answer.", ("route", "method"),
            registry=self.registry, buckets=REQUEST_SECONDS,
        )  # fmt: skip
        self._series: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._claim_latency = Histogram(
            "paceline_claim_latency_seconds", "From ready to being handed to a runner that dialled.",
            registry=self.registry, buckets=CLAIM_SECONDS,
        )  # fmt: skip
        self._claims_failed = Counter(
            "paceline_claims_failed",
            "Claimed runs that did not reach a runner that wanted them; refused: reports that no longer count.",
            ("reason",), registry=self.registry,
        )  # fmt: skip
        self._write_seconds = Histogram(
            "paceline_db_write_seconds",
            "A call that writes to the database: enqueue, claim, heartbeat, report or register.",
            ("call",), registry=self.registry, buckets=WRITE_SECONDS,
        )  # fmt: skip
        self.waiting_polls = Gauge("paceline_waiting_polls", "Long polls that wait for runs.", registry=self.registry)
        self.sockets = Gauge("paceline_sockets", "WebSockets of runners.", registry=self.registry)
        self.waiting_calls = Gauge(
            "paceline_waiting_calls", "Callers that wait for a job's end.", registry=self.registry
        )

    def requested(self, route: str, method: str, code: int, seconds: float) -> None:
        """A request was answered; `route` is its pattern, not its path."""
        counter, histogram = self._series.get((route, method, code)) or self._new_series(route, method, code)
        counter.inc()
        histogram.observe(seconds)

    def _new_series(self, route: str, method: str, code: int) -> tuple[Counter, Histogram]:
        """Found once: it takes longer than to count."""
        found = self._requests.labels(route, method, str(code)), self._request_seconds.labels(route, method)
        self._series[route, method, code] = found
        return found

    def handed_out(self, waited: Iterable[float]) -> None:
        """Runs went to a runner, each after so many seconds of being ready."""
        for seconds in waited:
            self._claim_latency.observe(seconds)

    def claim_failed(self, reason: Failure, number: int = 1) -> None:
        """Runs were claimed in vain."""
        self._claims_failed.labels(reason).inc(number)

    @contextmanager
    def writing(self, call: Write) -> Iterator[None]:
        """Time a call that writes, also one that fails."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._write_seconds.labels(call).observe(time.perf_counter() - began)

    def text(self) -> bytes:
        """As Prometheus reads it."""
        return generate_latest(self.registry)


class Counting:
    """Counts every request of an app."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        """Stands before the app."""
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, and see what is answered."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began, code = time.perf_counter(), HUNG_UP

        async def seen(message: Message) -> None:
            nonlocal code
            if message["type"] == "http.response.start":
                code = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, seen)
        finally:
            route = getattr(scope.get("route"), "path", NO_ROUTE)
            self._metrics.requested(route, scope["method"], code, time.perf_counter() - began)
