"""What everybody in the operator shares; made once, by whoever starts it."""

from dataclasses import dataclass, field

from paceline_operator.adapters.queues import Queues
from paceline_operator.domain.seen import NodeSeen
from paceline_operator.handlers.metrics import Metrics
from paceline_operator.ports.cluster import Cluster
from paceline_operator.ports.events import EventSink
from paceline_operator.ports.webhooks import Webhooks


@dataclass(slots=True, kw_only=True)
class Services:
    """The ways out, and what the watch has told about nodes."""

    install: str
    cluster: Cluster
    queues: Queues
    events: EventSink
    metrics: Metrics
    webhooks: Webhooks | None = None
    """None: nobody is told of alerts but Prometheus."""
    nodes: dict[str, NodeSeen] = field(default_factory=dict)
