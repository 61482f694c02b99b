"""Every call that producers, runners and operators of schema version 1 make. Frozen: they are out there, in old images.

Do not edit what stands here to make a test pass: a newer schema must answer these texts as version 1 did. New calls of
a later version get a file of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Kept:
    """A value that an earlier call brought."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """One statement, its arguments, what its rows must contain, and which values later calls need."""

    sql: str
    args: tuple[object, ...] = ()
    rows: tuple[Mapping[str, object], ...] = ({},)
    keep: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """Name: (row, column)."""


STEP = "SELECT * FROM paceline.step($1, $2, $3, $4, $5::jsonb[])"
FAIL = "SELECT paceline.fail($1, $2, $3, $4, $5, $6, $7)"
HEARTBEAT = "SELECT * FROM paceline.heartbeat($1)"
REGISTER = """\
SELECT * FROM paceline.register($1, $2, $3, p_tags => $4, p_slots => $5, p_lease => $6, p_install => $7,
    p_namespace => $8, p_group => $9, p_external => $10, p_hostname => $11, p_pod_uid => $12, p_revision => $13)"""
ENQUEUE = """\
SELECT id, created FROM paceline.enqueue($1, p_kind => $2::text[], p_payload => $3::jsonb[],
    p_priority => $4::smallint[], p_run_at => $5::timestamptz[], p_delay => $6::float8[],
    p_expires_at => $7::timestamptz[], p_ttl => $8::float8[], p_key => $9::text[], p_key_limit => $10::integer[],
    p_dedupe => $11::text[], p_tags => $12::text[], p_tolerations => $13::text[], p_max_tries => $14::smallint[],
    p_max_losses => $15::smallint[], p_timeout_ms => $16::integer[], p_trace => $17::text[])"""

INCARNATION, RUNNER, GROUP, POOL = Kept("incarnation"), Kept("runner"), Kept("grp"), Kept("pool")
A, B, C, D = Kept("a"), Kept("b"), Kept("c"), Kept("d")
FENCE = Kept("fence")
DUE, FUTURE = datetime(2025, 1, 1, 3, tzinfo=UTC), datetime(2125, 1, 1, 3, tzinfo=UTC)

CALLS: Mapping[str, Call] = {
    "put_group": Call(
        "SELECT paceline.put_group($1, $2, $3, $4, p_leader => $5, p_slots => $6, p_tags => $7, p_paused => $8) AS grp",
        ("main", "ci", "builds", "builds", True, 4, ["linux"], False),
        keep={"grp": (0, "grp")},
    ),
    "register": Call(
        REGISTER,
        ("r1", "builds", ["mail", "video"], ["linux"], 4, 30.0, "main", "ci", "builds", False, "host", "uid", "7"),
        ({"state": b"a", "grp": GROUP},),
        {"incarnation": (0, "incarnation"), "runner": (0, "runner"), "pool": (0, "pool")},
    ),
    "set_pool": Call(
        "SELECT paceline.set_pool($1, p_paused => $2, p_max_depth => $3, p_rate => $4, p_burst => $5)",
        ("builds", False, 1000, 500.0, 500.0),
    ),
    "set_kind": Call("SELECT paceline.set_kind($1, $2, $3, $4)", ("builds", "video", 100.0, 100.0)),
    "set_key": Call("SELECT paceline.set_key($1, $2, $3, p_rate => $4, p_burst => $5)", ("builds", "k", 2, 50.0, 50.0)),
    "enqueue": Call(
        ENQUEUE,
        (
            "builds",
            ["mail", "video", "mail", "mail"],
            ['{"n": 1}', "2", "null", "[]"],
            [9, 8, 7, 6],
            None,
            [None, None, None, 3600.0],
            None,
            [3600.0, None, None, None],
            [None, None, None, "k"],
            [None, None, None, 3],
            ["d", None, None, None],
            ["linux", None, None, None],
            ["gpu", None, None, None],
            [3, 5, 5, 5],
            [1, 3, 3, 3],
            [60_000, None, None, None],
            ["00-ab-cd-01", None, None, None],
        ),
        ({"created": True}, {"created": True}, {"created": True}, {"created": True}),
        {"a": (0, "id"), "b": (1, "id"), "c": (2, "id"), "d": (3, "id")},
    ),
    "enqueue a duplicate": Call(
        ENQUEUE, ("builds", ["mail"], ["1"], *[None] * 7, ["d"], *[None] * 6), ({"id": A, "created": False},)
    ),
    "step": Call(
        STEP,
        (INCARNATION, 3, [], [], None),
        (
            {
                "verdict": "ok",
                "refused": None,
                "cancelled": None,
                "ids": [A, B, C],
                "kinds": ["mail", "video", "mail"],
                "payloads": ['{"n": 1}', "2", "null"],
                "priorities": [9, 8, 7],
                "tries": [0, 0, 0],
                "losses": [0, 0, 0],
                "timeouts_ms": [60_000, None, None],
                "traces": ["00-ab-cd-01", None, None],
            },
        ),
        {"fence": (0, "fence")},
    ),
    "heartbeat": Call(HEARTBEAT, (INCARNATION,), ({"verdict": "ok", "cancelled": None},)),
    "extend": Call("SELECT paceline.extend($1, $2, $3, $4)", (INCARNATION, [A], [FENCE], [60.0]), ({"extend": None},)),
    "set_progress": Call(
        "SELECT paceline.set_progress($1, $2, $3, $4::jsonb[])",
        (INCARNATION, [A, 10**9], [FENCE, 1], ["0.5", "1"]),
        ({"set_progress": [10**9]},),
    ),
    "held": Call("SELECT count(*) AS jobs FROM paceline.held($1)", (INCARNATION,), ({"jobs": 3},)),
    "retry": Call("SELECT paceline.retry($1) AS said", (A,), ({"said": "running"},)),
    "await_work": Call("SELECT paceline.await_work($1, $2) AS channel", (POOL, 10.0)),
    "cancel while it runs": Call("SELECT paceline.cancel($1) AS said", (C,), ({"said": "cancelling"},)),
    "heartbeat tells the cancel": Call(HEARTBEAT, (INCARNATION,), ({"verdict": "ok", "cancelled": [C]},)),
    "step with acks": Call(
        STEP,
        (INCARNATION, 0, [A, 10**9], [FENCE, 1], ['{"ok": true}', None]),
        ({"verdict": "ok", "refused": [10**9], "cancelled": [C]},),
    ),
    "fail": Call(
        FAIL,
        (INCARNATION, [B, C], [FENCE, FENCE], ["broken", "told to"], [None, 1.0], "Failed", ["out", None]),
        ({"fail": None},),
    ),
    "redrive": Call("SELECT paceline.redrive($1) AS back", ([B],), ({"back": [B]},)),
    "step again": Call(
        STEP, (INCARNATION, 5, [], [], None), ({"verdict": "ok", "ids": [B], "tries": [0]},), {"later": (0, "fence")}
    ),
    "hand_back": Call(
        "SELECT paceline.hand_back($1, $2, $3, $4)",
        (INCARNATION, [B], [Kept("later")], "HandedBack"),
        ({"hand_back": None},),
    ),
    "step a third time": Call(
        STEP, (INCARNATION, 5, [], [], None), ({"verdict": "ok", "ids": [B], "tries": [0]},), {"latest": (0, "fence")}
    ),
    "fail for good": Call(
        FAIL, (INCARNATION, [B], [Kept("latest")], ["broken"], [None], "Failed", [None]), ({"fail": None},)
    ),
    "purge": Call("SELECT paceline.purge($1) AS gone", ([B],), ({"gone": [B]},)),
    "cancel": Call("SELECT paceline.cancel($1) AS said", (D,), ({"said": "cancelled"},)),
    "cancel what has ended": Call("SELECT paceline.cancel($1) AS said", (A,), ({"said": "finished"},)),
    "tick": Call("SELECT paceline.tick() IS NOT NULL AS done", (), ({"done": True},)),
    "put_cron": Call(
        "SELECT paceline.put_cron($1, $2, $3, $4, $5::jsonb, $6) AS next_at",
        ("builds", "nightly", "0 3 * * *", "UTC", '{"kind": "report", "payload": {"n": 1}}', DUE),
        ({"next_at": DUE},),
    ),
    "list_cron": Call(
        "SELECT * FROM paceline.list_cron($1)",
        ("builds",),
        ({"name": "nightly", "schedule": "0 3 * * *", "timezone": "UTC", "last_at": None, "paused": False},),
    ),
    "pause_cron": Call("SELECT paceline.pause_cron($1, $2, $3, $4)", ("builds", "nightly", False, None)),
    "cron_due": Call(
        "SELECT * FROM paceline.cron_due()",
        (),
        ({"pool": "builds", "name": "nightly", "due_at": DUE},),
        {"cron": (0, "id")},
    ),
    "fire_cron": Call(
        "SELECT id, created FROM paceline.fire_cron($1, $2, $3, $4)",
        (Kept("cron"), DUE, FUTURE, DUE),
        ({"created": True},),
        {"e": (0, "id")},
    ),
    "delete_cron": Call("SELECT paceline.delete_cron($1, $2) AS there", ("builds", "nightly"), ({"there": True},)),
    "cancel what cron made": Call("SELECT paceline.cancel($1) AS said", (Kept("e"),), ({"said": "cancelled"},)),
    "taint_runner": Call(
        "SELECT paceline.taint_runner($1, $2, $3, $4, $5)", (RUNNER, "cli", ["gpu"], ["bad"], ["PreferNoClaim"])
    ),
    "taint_group": Call("SELECT paceline.taint_group($1, $2, $3, $4, $5)", (GROUP, "spec", ["x"], [""], ["NoLead"])),
    "no leader is left": Call(STEP, (INCARNATION, 1, [], [], None), ({"verdict": "standby"},)),
    "untaint_group": Call("SELECT paceline.taint_group($1, $2, $3, $4, $5)", (GROUP, "spec", [], [], [])),
    "promote": Call("SELECT paceline.promote($1, $2)", (GROUP, RUNNER)),
    "promote nobody": Call("SELECT paceline.promote($1, $2)", (GROUP, None)),
    "drain": Call("SELECT paceline.drain($1) AS held", (INCARNATION,), ({"held": 0},)),
    "step while draining": Call(STEP, (INCARNATION, 1, [], [], None), ({"verdict": "draining"},)),
    "deregister": Call("SELECT paceline.deregister($1) AS handed_back", (INCARNATION,), ({"handed_back": 0},)),
    "step after the end": Call(STEP, (INCARNATION, 1, [], [], None), ({"verdict": "fenced"},)),
    "heartbeat after the end": Call(HEARTBEAT, (INCARNATION,), ({"verdict": "fenced", "lease_until": None},)),
    "fence_incarnation": Call(
        "SELECT paceline.fence_incarnation($1, $2) AS lost", (INCARNATION, "OOMKilled"), ({"lost": 0},)
    ),
    "register without a group": Call(
        REGISTER, ("laptop", "free", ["*"], [], 1, 30.0, "", "", None, True, "", None, None), ({"state": b"a"},)
    ),
    "grant_login": Call("SELECT paceline.grant_login($1, $2, $3)", ("somebody", "runner", "builds")),
    "revoke_login": Call("SELECT paceline.revoke_login($1, $2, $3)", ("somebody", "runner", "builds")),
    "grant_namespace": Call("SELECT paceline.grant_namespace($1, $2)", ("builds", "qa")),
    "revoke_namespace": Call("SELECT paceline.revoke_namespace($1, $2)", ("builds", "qa")),
    "delete_group": Call("SELECT paceline.delete_group($1)", (GROUP,)),
}
