"""What the machine may play, how often, and with what."""

from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from postgres.machine.world import Runner

RUNNERS: Final = {
    who.name: who
    for who in (
        Runner("s1", "shop", ("*",), ("gpu",), external=False),
        Runner("s2", "shop", ("mail",), (), external=True),
        Runner("l1", "lead", ("*",), (), external=False),
        Runner("l2", "lead", ("*",), (), external=False),
    )
}
A_WHILE: Final = 1000.0
"""Seconds; delays and lives of jobs are 0.5, 1.5 or 2.5 times as long, so that the true clock decides nothing."""
TAINTS: Final = ["", "", "bad=disk:NoClaim", "bad=disk:PreferNoClaim", "shy:NoLead", "leave:Drain"]
WRITES: Final = ["fail", "retry", "later", "back", "extend", "progress"]
UPSETS: Final = ["drain", "deregister", "fence", "heartbeat", "end lease", "end lease", "register", "register"]
RACERS: Final = [
    *("claim", "claim", "claim", "ack", "ack and claim", "cancel", *WRITES, *UPSETS, "tick", "redrive", "enqueue"),
    *("NoClaim", "PreferNoClaim", "Drain", "promote"),
]
"""What several do to one runner at once."""
TAKERS: Final = ["drain", "deregister", "fence", "end lease", "register", "NoClaim", "Drain", "promote"]
"""Those after which it may not claim what it claimed before."""

pools = st.sampled_from(["shop", "shop", "lead"])
workers = st.sampled_from(["s1", "s1", "s2", "leader", "leader", "l1", "l2"])
kinds = st.sampled_from(["mail", "mail", "scan"])
priorities = st.sampled_from([5, 5, 9])
keys = st.sampled_from([(None, None), (None, None), ("a", None), ("a", 2), ("b", 1)])
picks = st.lists(st.integers(0, 5), min_size=1, max_size=2, unique=True)
seldom = st.sampled_from([False, False, False, True])
holds = st.sampled_from([0, 0, 0, 0, 0, 1, 2, 3, -2])
"""For how many calls of others a transaction stays open; one with a negative number is rolled back then."""

SCENES: Final[dict[str, tuple[int, dict[str, st.SearchStrategy[Any]]]]] = {
    "enqueue": (
        3,
        {
            "pool": pools,
            "kind": kinds,
            "priority": priorities,
            "tags": st.sampled_from([(), (), ("gpu",)]),
            "tolerations": st.sampled_from([(), (), ("bad",), ("bad=disk:NoClaim",)]),
            "key": keys,
            "delay": st.sampled_from([None, None, None, 1.5 * A_WHILE]),
            "expires": st.sampled_from([None, None, 0.5 * A_WHILE, 2.5 * A_WHILE]),
            "dedupe": st.sampled_from([None, None, "x"]),
            "max_tries": st.integers(1, 2),
            "max_losses": st.integers(0, 1),
            "hold": holds,
        },
    ),
    "enqueue_some": (
        2,
        {"pool": pools, "kind": kinds, "levels": st.lists(priorities, min_size=2, max_size=3), "key": keys},
    ),
    "claim": (4, {"name": workers, "want": st.integers(1, 3), "due": seldom, "old": seldom, "hold": holds}),
    "ack": (
        4,
        {"name": workers, "want": st.integers(0, 2), "numbers": picks, "due": seldom, "old": seldom, "hold": holds},
    ),
    "work": (
        4,
        {
            "name": workers,
            "kind": kinds,
            "levels": st.lists(priorities, min_size=1, max_size=3),
            "key": keys,
            "want": st.integers(1, 2),
            "then": st.sampled_from(["", "", "ack", "again", *WRITES]),
            "hold": holds,
        },
    ),
    "race": (
        5,
        {
            "name": workers,
            "key": keys,
            "first": st.sampled_from(["claim"] * len(RACERS) + RACERS),
            "second": st.sampled_from(TAKERS * 2 + RACERS),
            "third": st.sampled_from(["", "", *RACERS]),
            "both": seldom,
            "commit": st.sampled_from([True, True, False]),
        },
    ),
    "spend": (2, {"name": workers, "what": st.sampled_from(["pool", "kind", "key"]), "later": st.booleans()}),
    "take": (1, {"name": workers, "how": st.sampled_from(TAKERS)}),
    "succeed": (1, {"how": st.sampled_from(["promote", "NoLead"]), "want": st.integers(0, 1)}),
    "hesitate": (1, {"name": workers, "effect": st.sampled_from(["NoClaim", "PreferNoClaim"])}),
    "late": (1, {"name": workers, "then": st.sampled_from(["claim", "ack", "retry", "back"])}),
    "stranded": (1, {"levels": st.lists(priorities, min_size=1, max_size=2)}),
    "write": (2, {"name": workers, "numbers": picks, "how": st.sampled_from(WRITES), "hold": holds}),
    "cancel": (1, {"number": st.integers(0, 20), "hold": holds}),
    "tick": (2, {"hold": holds}),
    "upset": (3, {"name": st.sampled_from([*RUNNERS]), "what": st.sampled_from(UPSETS), "old": seldom, "hold": holds}),
    "taint": (
        3,
        {
            "whose": st.sampled_from([*RUNNERS, "shop", "shop", "lead"]),
            "source": st.sampled_from(["annotation", "cli"]),
            "taints": st.sampled_from(TAINTS),
            "hold": holds,
        },
    ),
    "promote": (1, {"name": st.sampled_from([None, "l1", "l2", "l2"]), "hold": holds}),
    "bring": (1, {"what": st.sampled_from(["redrive", "redrive", "purge"]), "hold": holds}),
    "limit": (
        3,
        {
            "pool": pools,
            "what": st.sampled_from(["pause", "pause", "pool", "kind", "key"]),
            "on": st.booleans(),
            "limit": st.integers(1, 3),
            "hold": holds,
        },
    ),
    "pass_time": (1, {}),
    "end": (2, {"number": st.integers(0, 2), "commit": st.sampled_from([True, True, False])}),
}
"""How often, and with what."""


@dataclass(frozen=True, repr=False)
class Scene:
    name: str
    args: dict[str, Any]

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.args.items())})"


def scenes() -> st.SearchStrategy[Scene]:
    often = [name for name, (weight, _) in SCENES.items() for _ in range(weight)]
    return st.sampled_from(often).flatmap(
        lambda name: st.fixed_dictionaries(SCENES[name][1]).map(lambda args: Scene(name, args))
    )
