"""One story for all examples of the description: what is said of it here fits what is said of it elsewhere.

A producer of the pool `builds` sends ada a mail: job 4711. The runner `laptop` of the group `ci/builds` has dialled in,
is registered as 62, and does it. Job 4712 is a call that makes a thumbnail; job 4690 is a mail that could not be sent.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import JsonValue
from pydantic.config import JsonDict

ENQUEUED_AT: Final = "2026-01-15T12:34:56.120Z"
CLAIMED_AT: Final = "2026-01-15T12:34:56.140Z"
FINISHED_AT: Final = "2026-01-15T12:34:57.300Z"
DIED_AT: Final = "2026-01-15T12:20:31Z"
SINCE: Final = "2026-01-15T12:00:00Z"
TRACE: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

# what producers and callers say and hear
JOB: Final[JsonDict] = {"kind": "mail", "payload": {"to": "ada@example.com"}, "priority": 7}
OTHER_JOB: Final[JsonDict] = {"kind": "mail", "payload": {"to": "ann@example.com"}, "dedupe": "welcome-ann"}
JOBS: Final[JsonDict] = {"jobs": [JOB, OTHER_JOB], "pool": "builds"}
ENQUEUED: Final[JsonDict] = {"id": 4711, "created": True}
ENQUEUED_MANY: Final[JsonDict] = {"jobs": [ENQUEUED, {"id": 4698, "created": False}]}
SEEN: Final[JsonDict] = {
    "id": 4711, "pool": "builds", "kind": "mail", "state": "running", "priority": 7, "tags": [], "tolerations": [],
    "key": None, "dedupe": None, "enqueued_at": ENQUEUED_AT, "run_at": None, "ready_at": ENQUEUED_AT,
    "claimed_at": CLAIMED_AT, "expires_at": None, "finished_at": None, "tries": 0, "max_tries": 5, "losses": 0,
    "max_losses": 3, "timeout_seconds": 60, "fence": 991, "runner": "laptop", "cancelling": False,
    "deadline": "2026-01-15T12:35:56.140Z", "progress": {"sent": 0}, "payload": {"to": "ada@example.com"},
    "result": None, "cause": None, "error": None, "traceparent": TRACE,
}  # fmt: skip
ATTEMPT: Final[JsonDict] = {
    "fence": 991, "started_at": CLAIMED_AT, "ended_at": FINISHED_AT, "runner": "laptop", "revision": "a1b2c3",
    "outcome": "done", "cause": None, "error": None, "output": "connected to mail.example.com\nsent\n",
}  # fmt: skip
HAPPENED: Final[JsonDict] = {"id": 4711, "answer": "cancelling"}
CALL: Final[JsonDict] = {"kind": "thumb", "payload": {"url": "https://example.com/ada.png"}, "timeout_seconds": 20}
ANSWER: Final[JsonDict] = {"id": 4712, "result": {"width": 128}}
DEAD: Final[JsonDict] = {
    "id": 4690, "pool": "builds", "kind": "mail", "died_at": DIED_AT, "cause": "Failed",
    "error": "550 no such mailbox", "enqueued_at": SINCE, "priority": 5, "tags": [], "tolerations": [], "key": None,
    "dedupe": None, "tries": 5, "max_tries": 5, "losses": 0, "max_losses": 3, "payload": {"to": "adda@example.com"},
}  # fmt: skip
WHICH: Final[JsonDict] = {"ids": [4690, 4691]}
WHICH_ALIKE: Final[JsonDict] = {"pool": "builds", "kind": "mail", "cause": "Failed", "since": SINCE}
WENT: Final[JsonDict] = {"ids": [4690], "left": [4691], "more": False}
ENTRY: Final[JsonDict] = {
    "schedule": "0 8 * * 1-5", "timezone": "Europe/Berlin", "overlap": "skip", "stamp": "day", "job": JOB,
}  # fmt: skip
NEXT_AT: Final[JsonDict] = {"next_at": "2026-01-16T07:00:00Z"}
ENTRY_SEEN: Final[JsonDict] = {
    "name": "morning-mail", **ENTRY, **NEXT_AT, "last_at": "2026-01-15T07:00:00Z", "paused": False,
}  # fmt: skip
POOL: Final[JsonDict] = {
    "name": "builds", "install": "default", "namespace": "ci", "paused": False, "max_depth": 100_000, "rate": 50,
    "burst": 200, "groups": 1, "runners": 2, "ready": 3, "running": 5, "scheduled": 12, "blocked": 0,
    "unclaimable": 1, "dead": 1, "capped": False,
}  # fmt: skip
LIMITS: Final[JsonDict] = {"max_depth": 100_000, "rate": 50, "burst": 200}
KIND: Final[JsonDict] = {"kind": "mail", "rate": 5, "burst": 20}
KEY: Final[JsonDict] = {"key": "tenant-7", "limit": 3, "rate": 2}
TOKEN: Final[JsonDict] = {"kind": "pk", "pool": "builds", "note": "the shop", "expires_in_seconds": 7_776_000}
TOKEN_MADE: Final[JsonDict] = {
    "token": "pk_4k0q9x2m7c1d_YQ1m0Zc8vN3fWb5LhTtR7uKxEoJ2sPiA6dGqVn4MyBk", "id": "4k0q9x2m7c1d",
}  # fmt: skip
TOKEN_SEEN: Final[JsonDict] = {
    "id": "4k0q9x2m7c1d", "kind": "pk", "state": "good", "pool": "builds", "install": "", "namespace": "",
    "group": None, "runner": None, "read_only": False, "note": "the shop", "created_at": SINCE,
    "created_by": "token 8h2n5r0v3b6y", "expires_at": "2026-04-15T12:00:00Z", "revoked_at": None,
    "used_at": ENQUEUED_AT,
}  # fmt: skip
REVOKED: Final[JsonDict] = {"id": "4k0q9x2m7c1d", "revoked": True}

# what runners that dial out say and hear
ME: Final[JsonDict] = {"runner": "laptop", "pool": "builds", "namespace": "ci", "group": "builds"}
HELLO: Final[JsonDict] = {
    "kinds": ["mail", "thumb"], "tags": ["linux"], "slots": 2, "heartbeat_seconds": 10, "hostname": "laptop",
    "revision": "a1b2c3",
}  # fmt: skip
WELCOME: Final[JsonDict] = {
    "incarnation": 62, "runner": "laptop", "pool": "builds", "state": "active", "heartbeat_seconds": 10,
    "lease_seconds": 30, "confirm_seconds": 30,
}  # fmt: skip
RUN: Final[JsonDict] = {
    "id": 4711, "fence": 991, "kind": "mail", "payload": {"to": "ada@example.com"}, "priority": 7, "tries": 0,
    "losses": 0, "timeout_seconds": 60, "traceparent": TRACE, "waited_seconds": 0.02,
}  # fmt: skip
FOUND: Final[JsonDict] = {"verdict": "ok", "cancelled": [], "runs": [RUN]}
OWNER: Final[JsonDict] = {"incarnation": 62}
HEARTBEAT: Final[JsonDict] = {**OWNER, "runs": [[4711, 991]]}
BEAT: Final[JsonDict] = {
    "verdict": "ok", "cancelled": [], "refused": [], "leave": False, "cause": None, "lease_seconds": 30,
}  # fmt: skip
STUCK: Final[JsonDict] = {**OWNER, "cause": "HandlerStuck"}
LEFT: Final[JsonDict] = {"runs": 1}
ABOUT: Final[JsonDict] = {**OWNER, "fence": 991}
COMPLETE: Final[JsonDict] = {**ABOUT, "result": {"sent": 1}, "output": "connected to mail.example.com\nsent\n"}
FAIL: Final[JsonDict] = {**ABOUT, "error": "421 try again later", "retry_in_seconds": 60}
PROGRESS: Final[JsonDict] = {**ABOUT, "value": {"sent": 0}}
EXTEND: Final[JsonDict] = {**ABOUT, "seconds": 120}
LOG: Final[JsonDict] = {**ABOUT, "text": "connected to mail.example.com\n"}
ACCEPTED: Final[JsonDict] = {"accepted": True}

# what those who look after the cluster say and hear
NODE: Final[JsonDict] = {
    "id": "builds-7xk2p", "hostname": "builds-7xk2p-1", "started_at": "2026-01-15T08:00:00Z",
    "last_heartbeat": "2026-01-15T12:34:56Z", "state": "active", "instances_claimed": 4,
}  # fmt: skip
RUNNER: Final[JsonDict] = {
    **NODE, "pool": "builds", "install": "default", "namespace": "ci", "group": "builds", "external": False,
    "slots": 8, "revision": "a1b2c3", "kinds": ["mail", "thumb"], "tags": ["linux"], "taints": [], "leader": True,
    "incarnation": 57, "runner": 12,
}  # fmt: skip
GROUP: Final[JsonDict] = {
    "id": 3, "install": "default", "namespace": "ci", "name": "builds", "pool": "builds", "dispatch": "Leader",
    "paused": False, "ready": 3, "running": 5, "scheduled": 12, "blocked": 0, "unclaimable": 1, "dead": 1,
    "capped": False, "oldest_seconds": 0.4, "service_seconds": 1.2, "arrival_rate": 3.5, "leader": "builds-7xk2p",
    "epoch": 9,
}  # fmt: skip
DECISION: Final[JsonDict] = {
    "at": "2026-01-15T12:30:00Z", "was": 1, "replicas": 2, "reason": "TooManyReplicas", "limited_by": "maxReplicas",
    "inputs": {
        "current": 1, "ready": 14, "running": 8, "oldestSeconds": 6.2, "arrivalRate": 3.5, "serviceSeconds": 1.2,
        "slotsNeeded": 22, "floor": 1,
    },
    "proposals": [
        {"rule": "demand", "replicas": 3, "text": "14 ready and 8 running want 22 slots"},
        {"rule": "bounds", "replicas": 2, "text": "maxReplicas is 2"},
    ],
}  # fmt: skip
UNCLAIMABLE: Final[JsonDict] = {
    "pool": "builds", "kind": "thumb", "tags": ["gpu"], "tolerations": [], "jobs": 1, "reason": "tags",
    "detail": "it needs the tag gpu; runners with a handler for it have linux",
}  # fmt: skip
CHOICE: Final[JsonDict] = {"runner": "builds-7xk2p", "group": "ci/builds"}
LED: Final[JsonDict] = {
    "install": "default", "group": "ci/builds", "leader": "builds-7xk2p", "epoch": 9, "before": None,
}  # fmt: skip
HEALTH: Final[JsonDict] = {
    "holders": [
        {"holder": "session", "name": "4242", "transactions": 18_230, "age_seconds": 640.5, "pid": 4242,
         "login": "reports", "application": "psql", "state": "idle in transaction"}
    ],
    "live_tuples": 5_120, "dead_tuples": 310, "last_vacuum": "2026-01-15T12:33:10Z", "tick_overdue_seconds": 0,
    "partition_days": 7, "history_late": 0,
}  # fmt: skip


EXAMPLES: Final[Mapping[str, Sequence[JsonDict]]] = {
    "EnqueueBody": [JOB], "ManyBody": [JOBS], "EnqueuedView": [ENQUEUED], "EnqueuedMany": [ENQUEUED_MANY],
    "JobView": [SEEN], "paceline_gateway__jobs__Page": [{"jobs": [SEEN], "next": "4711"}],
    "Attempts": [{"attempts": [ATTEMPT]}], "Happened": [HAPPENED], "CallBody": [CALL], "Answer": [ANSWER],
    "paceline_gateway__dead__Page": [{"dead": [DEAD], "next": None}], "Which": [WHICH, WHICH_ALIKE], "Went": [WENT],
    "EntryBody": [ENTRY], "EntryView": [ENTRY_SEEN], "Entries": [{"entries": [ENTRY_SEEN]}], "NextAt": [NEXT_AT],
    "Pools": [{"pools": [POOL]}], "PoolView": [POOL], "LimitsBody": [LIMITS], "KindBody": [KIND], "KeyBody": [KEY],
    "TokenBody": [TOKEN], "Made": [TOKEN_MADE], "Listed": [{"tokens": [TOKEN_SEEN]}], "Revoked": [REVOKED],
    "Me": [ME], "Hello": [HELLO], "Welcome": [WELCOME], "Found": [FOUND], "Heartbeat": [HEARTBEAT], "Beat": [BEAT],
    "Owner": [OWNER], "OwnLeave": [OWNER, STUCK], "Left": [LEFT], "OwnComplete": [COMPLETE], "OwnFail": [FAIL],
    "OwnHandBack": [ABOUT], "OwnProgress": [PROGRESS], "OwnExtend": [EXTEND], "OwnLog": [LOG], "Accepted": [ACCEPTED],
    "Node": [NODE], "Groups": [{"groups": [GROUP]}], "Decisions": [{"decisions": [DECISION]}],
    "Runners": [{"runners": [RUNNER]}], "Stuck": [{"unclaimable": [UNCLAIMABLE]}], "Choice": [CHOICE], "Led": [LED],
    "Health": [HEALTH],
}  # fmt: skip
"""By the names of the schemas."""
PLAIN: Final[Mapping[tuple[str, str, str], JsonValue]] = {
    ("post", "/v1/jobs", "body"): JOB,
    ("post", "/v1/jobs", "201"): ENQUEUED,
    ("get", "/cluster/nodes", "200"): [NODE],
}
"""Of what is no schema of its own, by method, path, and `body` or the code of the answer."""
