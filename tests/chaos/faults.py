"""Every fault of the design's section 11 by name: whom it hits, how it is done here, and what it may cost."""

from dataclasses import dataclass
from enum import StrEnum


class Area(StrEnum):
    """Whom a fault hits: two of one area exclude each other."""

    RUNNER = "runner"
    OPERATOR = "operator"
    GATEWAY = "gateway"
    POSTGRES = "postgres"
    API = "api"
    NODE = "node"
    GROUP = "group"
    INPUT = "input"


class Fault(StrEnum):
    """What can go wrong; the value is what a person says of it."""

    RUNNER_KILL = "runner-kill"
    RUNNER_STOP = "runner-stop"
    LEADER_KILL = "operator-leader-kill"
    LEADER_STOP = "operator-leader-stop"
    STANDBY_KILL = "operator-standby-kill"
    STANDBY_STOP = "operator-standby-stop"
    GATEWAY_KILL = "gateway-kill"
    GATEWAY_STOP = "gateway-stop"
    POSTGRES_RESTART = "postgres-restart"
    POSTGRES_FAILOVER = "postgres-failover"
    DISK_FULL = "disk-full"
    DISK_SLOW = "disk-slow"
    CONNECTION_LIMIT = "connection-limit"
    API_RESTART = "api-restart"
    API_GONE = "api-410"
    API_BUSY = "api-429"
    API_CONFLICTS = "api-conflicts"
    OOM_KILL = "oom-kill"
    NODE_LOSS = "node-loss"
    EVICTION = "eviction"
    IMAGE_PULL = "image-pull"
    CRASH_LOOP = "crash-loop"
    CLOCK_JUMP = "clock-jump"
    DUPLICATE_EVENTS = "duplicate-events"
    HALF_OPEN_DATABASE = "half-open-database"
    HALF_OPEN_API = "half-open-api"
    HALF_OPEN_GATEWAY = "half-open-gateway"
    PAYLOAD_NOT_JSON = "payload-not-json"
    PAYLOAD_TOO_LARGE = "payload-too-large"
    PAYLOAD_KILLS = "payload-kills"
    BAD_DSN = "bad-dsn"
    BAD_CRON = "bad-cron"
    BAD_TAINT = "bad-taint"
    BAD_TEMPLATE = "bad-template"
    MIN_OVER_MAX = "min-over-max"


@dataclass(frozen=True, slots=True)
class About:
    """What a plan, a checker and a reader must know of a fault."""

    area: Area
    how: str
    """How it is done here, in a sentence for the reference page."""
    seconds: float
    """How long it and its recovery take about, for the plan."""
    interrupts: bool = False
    """Whether jobs may be interrupted by it: where not, each that is counts as a violation."""
    aimed: bool = False
    """Whether it interrupts only jobs of those that it is done to, by name; else it may be anybody's."""
    outage: bool = False
    """Whether the database cannot be used meanwhile."""


ABOUT: dict[Fault, About] = {
    Fault.RUNNER_KILL: About(
        Area.RUNNER, "SIGKILL of the process of a pod that works, and of one that dials a gateway", 12,
        interrupts=True, aimed=True,
    ),
    Fault.RUNNER_STOP: About(
        Area.RUNNER, "SIGSTOP of the process of a pod that works, for longer than its lease, then SIGCONT", 35,
        interrupts=True, aimed=True,
    ),
    Fault.LEADER_KILL: About(Area.OPERATOR, "SIGKILL of the operator that acts; another one is started", 25),
    Fault.LEADER_STOP: About(
        Area.OPERATOR, "SIGSTOP of the operator that acts until the other one does, then SIGCONT", 30
    ),
    Fault.STANDBY_KILL: About(Area.OPERATOR, "SIGKILL of the operator that stands by; another one is started", 15),
    Fault.STANDBY_STOP: About(Area.OPERATOR, "SIGSTOP of the operator that stands by for 12 s, then SIGCONT", 20),
    Fault.GATEWAY_KILL: About(
        Area.GATEWAY, "SIGKILL of one of the two gateways; it is started again at its address", 15,
        interrupts=True, aimed=True,
    ),
    Fault.GATEWAY_STOP: About(
        Area.GATEWAY, "SIGSTOP of one of the two gateways for 12 s, then SIGCONT", 25, interrupts=True, aimed=True
    ),
    Fault.POSTGRES_RESTART: About(
        Area.POSTGRES, "immediate shutdown of the primary (as a crash), and its start", 20, interrupts=True, outage=True
    ),
    Fault.POSTGRES_FAILOVER: About(
        Area.POSTGRES, "immediate shutdown of the primary for good; its synchronous standby is promoted, the address "
        "leads there, and a new standby is made", 40, interrupts=True, outage=True,
    ),
    Fault.DISK_FULL: About(
        Area.POSTGRES, "a file takes all room of the file system that the primary's data and log are on (a tmpfs of "
        "its own), for 10 s and until the server has complained; one that gives up is started again", 45,
        interrupts=True, outage=True,
    ),
    Fault.DISK_SLOW: About(
        Area.POSTGRES, "the standby's receiver is stopped for 0.4 s of each 0.5 s, for 15 s: every commit waits for "
        "it, as for a disk that takes so long", 25, interrupts=True, outage=True,
    ),
    Fault.CONNECTION_LIMIT: About(
        Area.POSTGRES, "the logins of runners, operators and gateways lose their connections and get no new ones for "
        "8 s (SQLSTATE 53300)", 25, interrupts=True, outage=True,
    ),
    Fault.API_RESTART: About(Area.API, "SIGKILL of the API server; it is started again after 3 s", 35),
    Fault.API_GONE: About(
        Area.API, "the operators' watches are cut, and for 5 s ask for a version that is no longer kept: the API "
        "server answers 410", 20,
    ),
    Fault.API_BUSY: About(Area.API, "a proxy answers the operators 429 with Retry-After for 6 s", 20),
    Fault.API_CONFLICTS: About(
        Area.API, "somebody else writes annotations on all groups, Runners and pods, as quickly as it goes, for 8 s", 20
    ),
    Fault.OOM_KILL: About(
        Area.NODE, "the local node kills a pod that works and reports OOMKilled; no memory is short", 12,
        interrupts=True, aimed=True,
    ),
    Fault.NODE_LOSS: About(
        Area.NODE, "one of the two local nodes falls silent and its processes die, for longer than it takes to call it "
        "lost; then it comes back", 60, interrupts=True, aimed=True,
    ),
    Fault.EVICTION: About(
        Area.NODE, "the local node evicts a pod that works, as a kubelet does that is short of memory", 15,
        interrupts=True, aimed=True,
    ),
    Fault.IMAGE_PULL: About(
        Area.GROUP, "the template of a group gets an image that is nowhere; it is taken back by itself", 45
    ),
    Fault.CRASH_LOOP: About(
        Area.GROUP, "the template of a group gets a program that ends at once with 1; it is taken back by itself", 45
    ),
    Fault.CLOCK_JUMP: About(
        Area.RUNNER, "the wall clock of all runners, operators and gateways jumps by an hour for 10 s, and back "
        "(a library under the programs; the database's clock and the monotonic one stay)", 25,
    ),
    Fault.DUPLICATE_EVENTS: About(Area.API, "a proxy gives the operators every watch event twice, for 10 s", 20),
    Fault.HALF_OPEN_DATABASE: About(
        Area.POSTGRES, "nothing comes through between runners and database, and nobody is told, for longer than a "
        "lease", 45, interrupts=True, outage=True,
    ),
    Fault.HALF_OPEN_API: About(Area.API, "the same between the operators and the API server, for 15 s", 35),
    Fault.HALF_OPEN_GATEWAY: About(
        Area.GATEWAY, "the connections that runners have to a gateway are forgotten; new ones work", 40,
        interrupts=True, aimed=True,
    ),
    Fault.PAYLOAD_NOT_JSON: About(Area.INPUT, "jobs whose payload is no JSON, by HTTP and by the SDK", 3),
    Fault.PAYLOAD_TOO_LARGE: About(Area.INPUT, "jobs whose payload is over 1 MiB, by HTTP and by the SDK", 3),
    Fault.PAYLOAD_KILLS: About(
        Area.RUNNER, "a job whose handler kills its process with SIGKILL, whoever runs it", 30,
        interrupts=True, aimed=True,
    ),
    Fault.BAD_DSN: About(
        Area.GROUP, "the operator's Secret of a group gets a URL that is none, and then the right one", 20
    ),
    Fault.BAD_CRON: About(Area.INPUT, "a cron entry gets a schedule that is none", 3),
    Fault.BAD_TAINT: About(Area.GROUP, "a Runner gets a taint with an effect that does not exist", 10),
    Fault.BAD_TEMPLATE: About(Area.GROUP, "the template of a group loses its runner container, and gets it back", 15),
    Fault.MIN_OVER_MAX: About(Area.GROUP, "a group gets a minReplicas over its maxReplicas", 3),
}  # fmt: skip

QUICK = (
    Fault.RUNNER_KILL, Fault.LEADER_KILL, Fault.STANDBY_KILL, Fault.GATEWAY_KILL, Fault.OOM_KILL, Fault.EVICTION,
)  # fmt: skip
"""Those that may come on top of another: they need nobody's help to be got over."""
