"""An attempt is a span under the one that enqueued its job."""

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from paceline.queue import Queue
from paceline_runner.attempt import Attempt, Broken, Done, Ended
from paceline_runner.tracing import Traced, with_spans
from runner.process import StartRunner, until

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Told:
    """An executor that says what it was told to say, and remembers the span it ran in."""

    def __init__(self, ended: Ended) -> None:
        self._ended = ended
        self.span: trace.Span = trace.INVALID_SPAN

    async def run(self, _: Attempt) -> Ended:
        self.span = trace.get_current_span()
        return self._ended


class Job:
    """As much of an attempt as a span needs."""

    class job:  # noqa: N801
        id, fence, kind, tries, trace = 7, 3, "mail", 1, TRACE


@pytest.fixture
def spans() -> Iterator[tuple[InMemorySpanExporter, TracerProvider]]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield exporter, provider
    provider.shutdown()


@pytest.mark.parametrize("ended", [Done("1"), Broken("ValueError: no\nmore", None, "Failed")])
async def test_an_attempt_is_a_span_under_the_producers(
    spans: tuple[InMemorySpanExporter, TracerProvider], ended: Ended
) -> None:
    exporter, provider = spans
    told = Told(ended)
    assert await Traced(told, provider.get_tracer("paceline"), "builds").run(Job()) is ended  # type: ignore[arg-type]
    (span,) = exporter.get_finished_spans()
    assert span.name == "process mail"
    assert span.parent is not None
    assert f"{span.context.trace_id:032x}" == TRACE.split("-")[1]
    assert f"{span.parent.span_id:016x}" == TRACE.split("-")[2]
    assert told.span.get_span_context().span_id == span.context.span_id
    assert span.attributes is not None
    assert (span.attributes["paceline.job"], span.attributes["paceline.attempt"]) == (7, 2)
    if isinstance(ended, Broken):
        assert (span.status.is_ok, span.status.description) == (False, "ValueError: no")
        assert span.attributes["paceline.cause"] == "Failed"
    else:
        assert span.status.is_unset


def test_where_nobody_has_configured_it_there_is_no_detour() -> None:
    told = Told(Done())
    assert with_spans(told, "builds") is told


async def test_a_runner_with_a_configured_sdk_makes_spans(queue: Queue, start: StartRunner) -> None:
    made = await queue.enqueue("mail", {"to": "ann"})
    runner = await start("r1", PACELINE_APP="traced:jobs")
    await until(queue, made.id, "done")
    assert "process mail" in str(await runner.said("a span ended"))
