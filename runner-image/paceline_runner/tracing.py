"""Spans of attempts, where OpenTelemetry is installed: children of the span that the job's traceparent names.

Only its API is used. Who wants to see spans configures the SDK as usual (`opentelemetry-instrument paceline run …`).
"""

from typing import TYPE_CHECKING

from paceline_runner.attempt import Attempt, Broken, Ended, Executor

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer


class Traced:
    """An executor with a span around each attempt."""

    def __init__(self, executor: Executor, tracer: "Tracer", pool: str) -> None:
        """`tracer` is OpenTelemetry's."""
        self._executor, self._tracer, self._pool = executor, tracer, pool

    async def run(self, attempt: Attempt) -> Ended:
        """Do the work inside a span."""
        from opentelemetry.trace import SpanKind, Status, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        job = attempt.job
        parent = TraceContextTextMapPropagator().extract({"traceparent": job.trace} if job.trace else {})
        attributes: dict[str, str | int] = {
            "messaging.system": "paceline", "messaging.destination.name": self._pool, "paceline.kind": job.kind,
            "paceline.job": job.id, "paceline.fence": job.fence, "paceline.attempt": job.tries + 1,
        }  # fmt: skip
        with self._tracer.start_as_current_span(
            f"process {job.kind}", parent, SpanKind.CONSUMER, attributes=attributes
        ) as span:
            ended = await self._executor.run(attempt)
            if isinstance(ended, Broken):
                span.set_status(Status(StatusCode.ERROR, ended.error.partition("\n")[0]))
                span.set_attribute("paceline.cause", ended.cause)
            return ended


def with_spans(executor: Executor, pool: str) -> Executor:
    """The same executor where OpenTelemetry is not installed, or nobody has configured it."""
    try:
        from opentelemetry import trace
    except ModuleNotFoundError:
        return executor
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return executor
    return Traced(executor, trace.get_tracer("paceline"), pool)
