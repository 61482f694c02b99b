"""The same handlers, in an application that has configured OpenTelemetry to log its spans."""

import logging
from collections.abc import Sequence

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from shop import jobs as jobs  # type: ignore[import-not-found]  # a runner starts in this folder


class Log(SpanExporter):
    """A line for each span."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        for span in spans:
            logging.getLogger("spans").info("a span ended: %s", span.name)
        return SpanExportResult.SUCCESS


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Log()))
trace.set_tracer_provider(provider)
