"""Every call that operators of schema version 3 make beside those of version 1. Frozen, like those."""

from collections.abc import Mapping

from compat.calls_1 import ENQUEUE, HEARTBEAT, REGISTER, STEP, Call, Kept

GROUP, ONE, TWO = Kept("grp"), Kept("one"), Kept("two")
ROW = {"external": False, "retiring": False, "revision": "7", "slots": 4, "hostname": "host", "taints": ""}


def _register(name: str, keep: str) -> Call:
    return Call(
        REGISTER,
        (name, "builds", ["mail"], [], 4, 30.0, "main", "ci", "builds", False, "host", f"uid-{name}", "7"),
        ({"state": b"a", "grp": GROUP},),
        {keep: (0, "incarnation")},
    )


CALLS: Mapping[str, Call] = {
    "put_group": Call(
        "SELECT paceline.put_group($1, $2, $3, $4, p_leader => $5, p_slots => $6, p_tags => $7, p_paused => $8) AS grp",
        ("main", "ci", "builds", "builds", False, 4, [], False),
        keep={"grp": (0, "grp")},
    ),
    "take_office": Call("SELECT paceline.take_office($1, $2) AS epoch", ("main", "op-1"), ({"epoch": 1},)),
    "in_office": Call(
        "WITH o AS MATERIALIZED (SELECT paceline.in_office($2, $3)) "
        "SELECT f.* FROM o, paceline.set_revision($1, '7') AS f",
        (GROUP, "main", 1),
    ),
    "register one": _register("one", "one"),
    "register two": _register("two", "two"),
    "enqueue": Call(ENQUEUE, ("builds", ["mail"], ["1"], *[None] * 14), ({"created": True},)),
    "step": Call(STEP, (ONE, 1, [], [], None), ({"verdict": "ok", "kinds": ["mail"]},)),
    "list_groups": Call(
        "SELECT * FROM paceline.list_groups($1)",
        ("main",),
        ({"id": GROUP, "namespace": "ci", "name": "builds", "pool": "builds", "leader": False, "paused": False},),
    ),
    "observe": Call(
        "SELECT * FROM paceline.observe($1, $2)",
        ("main", 100),
        (
            {
                "id": GROUP,
                "namespace": "ci",
                "name": "builds",
                "pool": "builds",
                "dispatch": "Shared",
                "paused": False,
                "ready": 0,
                "running": 1,
                "scheduled": 0,
                "blocked": 0,
                "unclaimable": 0,
                "dead": 0,
                "capped": False,
                "registered": 2,
                "busy": 1,
                "draining": 0,
            },
        ),
    ),
    "look_at_group": Call(
        "SELECT * FROM paceline.look_at_group($1)",
        (GROUP,),
        (
            {**ROW, "runner": "one", "incarnation": ONE, "state": "active", "leased": True, "held": 1},
            {**ROW, "runner": "two", "incarnation": TWO, "state": "active", "leased": True, "held": 0},
        ),
    ),
    "taint_named": Call(
        "SELECT paceline.taint_named($1, $2, $3, $4, $5, $6, $7)",
        (GROUP, "two", False, "annotation", ["gpu"], [""], ["NoClaim"]),
    ),
    "look at the tainted": Call(
        "SELECT runner, taints, declared, leads FROM paceline.look_at_group($1)",
        (GROUP,),
        (
            {"runner": "one", "taints": "", "declared": "", "leads": False},
            {"runner": "two", "taints": "gpu:NoClaim", "declared": "annotation gpu:NoClaim", "leads": False},
        ),
    ),
    "untaint": Call(
        "SELECT paceline.taint_named($1, $2, $3, $4, $5, $6, $7)", (GROUP, "two", False, "annotation", [], [], [])
    ),
    "list_candidates": Call(
        "SELECT * FROM paceline.list_candidates($1, $2, $3)",
        ("main", "ci/builds", "two"),
        (
            {
                "grp": GROUP,
                "install": "main",
                "namespace": "ci",
                "group": "builds",
                "dispatch": "Shared",
                "name": "two",
                "state": "active",
                "taints": [],
                "leads": False,
                "promoted": False,
                "leader": None,
                "epoch": None,
            },
        ),
    ),
    "suspect_pods": Call("SELECT paceline.suspect_pods($1, $2, $3)", (GROUP, ["uid-one"], "NodeLost")),
    "number_runners": Call("SELECT paceline.number_runners($1, $2) AS first", (GROUP, 3), ({"first": 1},)),
    "retire": Call(
        "SELECT paceline.retire($1, $2, $3, $4) AS names", (GROUP, 5, ["new"], "7"), ({"names": ["new", "two"]},)
    ),
    "step of a retired one": Call(STEP, (TWO, 1, [], [], None), ({"verdict": "draining"},)),
    "drain_runners": Call(
        "SELECT paceline.drain_runners($1, $2) AS names", (GROUP, ["one", "two"]), ({"names": ["one"]},)
    ),
    "fence_pods": Call(
        "SELECT * FROM paceline.fence_pods($1, $2, $3)",
        (GROUP, ["uid-one", "uid-none"], ["OOMKilled", "Error"]),
        ({"pod_uid": "uid-one", "runner": "one", "cause": "OOMKilled", "jobs": 1},),
    ),
    "heartbeat of a fenced one": Call(HEARTBEAT, (ONE,), ({"verdict": "fenced", "cause": "OOMKilled"},)),
    "forget_runners": Call(
        "SELECT paceline.forget_runners($1, $2) AS names", (GROUP, ["one", "two", "new"]), ({"names": ["new", "one"]},)
    ),
}
