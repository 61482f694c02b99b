"""How far one of each part goes, from what was measured: pure arithmetic, and every extrapolation is one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from paceline_bench.scaling.constants import Measured

SIZES: Final = (10_000, 100_000, 1_000_000)
HEARTBEAT: Final = 10.0
"""Seconds; as a runner's default."""
POLLS: Final = 150.0
"""A second, of all runners of a pool together: many poll more seldom (`paceline.pool.runners`)."""
MEASURED_RUNNERS: Final = 1_000
CONNECTIONS: Final = 3
"""Of a runner with one dispatcher; docs/how-to/operate.md."""
GATEWAY_CONNECTIONS: Final = 13
MOST_CONNECTIONS: Final = 100
"""PostgreSQL's own default of max_connections."""
OPERATOR_GB: Final = 512 * 2**20 / 1e9
"""The limit of the shipped Deployment."""
MOST_PODS: Final = 150_000
"""Of a cluster, as Kubernetes documents for large clusters."""


@dataclass(frozen=True, slots=True)
class Load:
    """Something that grows with runners, and how much of it there may be."""

    what: str
    unit: str
    of: Callable[[float], float]
    """For so many runners."""
    most: float | None
    """None: there is no limit, only a price."""
    limit: str
    """What the limit is, for the reader."""
    then: str
    """What to do when it is reached."""
    counts: str = "runners"
    """What there are so many of."""

    def upto(self) -> float | None:
        """For how many runners it is enough: the largest number that keeps the limit, by halving."""
        if self.most is None:
            return None
        low, high = 0.0, 1e9
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if self.of(middle) <= self.most else (low, middle)
        return low


def idle_statements(seen: Measured) -> Callable[[float], float]:
    """Heartbeats grow with runners, polls end at 150 a second; the rest was measured and is taken as it is."""
    rest = max(0.0, seen["idle"] - MEASURED_RUNNERS / HEARTBEAT - POLLS)

    def of(runners: float) -> float:
        return runners / HEARTBEAT + min(POLLS, runners / 5) + rest

    return of


def gateways(runners: float) -> float:
    """As many runners on each as were measured."""
    return runners / MEASURED_RUNNERS


def loads(seen: Measured) -> Sequence[Load]:
    """What one database, one operator and one cluster have to bear; what is reached first comes first."""
    found = [
        Load("connections, straight", "", lambda n: CONNECTIONS * n, MOST_CONNECTIONS,
             "`max_connections` of 100, PostgreSQL's default", "raise it to hundreds, then PgBouncer"),
        Load("connections past PgBouncer, with `listenUrl`", "", lambda n: n, MOST_CONNECTIONS,
             "`max_connections` of 100", "no `listenUrl`: runners poll; or the gateway"),
        Load("gateways", "", gateways, 1, "1,000 runners on each: no more were measured", "one more for each 1,000"),
        Load("connections of gateways", "", lambda n: GATEWAY_CONNECTIONS * max(1.0, gateways(n)), MOST_CONNECTIONS,
             "`max_connections` of 100", "PgBouncer before the gateways, then a second database"),
        Load("statements of idle runners", "/s", idle_statements(seen), seen["steps"],
             "what two cores did", "more cores, fewer heartbeats, then a second database"),
        Load("operator at rest", " % of a core", lambda n: n * seen["operator_cpu"], 100,
             "its one core", "a second install for other namespaces"),
        Load("operator at rest, so many groups", " % of a core", lambda n: n * seen["operator_group_cpu"], 100,
             "its one core", "a second install for other namespaces", counts="groups"),
        Load("operator's memory, at most", " GB", lambda n: n * seen["operator_mb"] / 1000, OPERATOR_GB,
             "512Mi, its limit as shipped", "raise the limit"),
        Load("Runner and Pod objects", "", lambda n: 2 * n, 2 * MOST_PODS,
             "150,000 pods in a cluster, as Kubernetes documents", "a second cluster on the same databases"),
        Load("writes to the API server, all replaced once", "", lambda n: n * seen["life"], None,
             "your API server", "runners that live longer"),
        Load("from nothing to all of them", " s", lambda n: n * seen["create"], None, "your patience", "`minReplicas`"),
        Load("memory of the runners", " GB", lambda n: n * seen["runner_mb"] / 1000, None,
             "your nodes", "more slots in each"),
    ]  # fmt: skip
    return sorted(found, key=lambda load: load.upto() or float("inf"))
