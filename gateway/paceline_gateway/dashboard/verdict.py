"""Whether a pool keeps up, and if not why: one word and one sentence, from how it stands. Values in, value out."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from paceline.seen import Unclaimable
from paceline.standing import Standing

PATIENCE_SECONDS: Final = 30.0
"""A queue is there to be waited in; from here on somebody notices."""


class State(StrEnum):
    """How bad it is, the worst last."""

    IDLE = "idle"
    OK = "ok"
    CATCHING_UP = "catching-up"
    PAUSED = "paused"
    BEHIND = "behind"
    STUCK = "stuck"


@dataclass(frozen=True, slots=True)
class Stuck:
    """Jobs that nobody can take."""

    kind: str
    tags: tuple[str, ...]
    jobs: int
    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to think of a pool."""

    state: State
    text: str
    todo: str = ""
    """A command, or where to look; empty where nothing is to be done."""
    stuck: tuple[Stuck, ...] = ()
    """Whoever is among these waits without end."""


def judge(pool: Standing, unclaimable: Sequence[Unclaimable] = ()) -> Verdict:
    """The first thing that is wrong; `unclaimable` is what nobody can take, of this pool or of others too."""
    waiting = pool.ready + pool.blocked + pool.scheduled
    if pool.paused and waiting + pool.running:
        return Verdict(State.PAUSED, f"Paused: {_jobs(waiting)}, and nobody may claim.", _resume(pool))
    if pool.unclaimable:
        stuck = tuple(_stuck(each) for each in unclaimable if each.pool == pool.name)
        why = f" ({stuck[0].kind}): {stuck[0].why}" if stuck else ""
        text = f"No runner can take {_number(pool.unclaimable)} of the ready jobs{why}."
        return Verdict(State.STUCK, text, "" if stuck else f"paceline pool show {pool.name}", stuck)
    if pool.ready == 0:
        if pool.running + pool.blocked + pool.scheduled == 0:
            return Verdict(State.IDLE, "Nothing to do.")
        return Verdict(State.OK, "Keeping up: nothing waits for a runner.")
    return _nobody(pool) or _waiting(pool)


def _stuck(lane: Unclaimable) -> Stuck:
    start = {
        "kind": f"Start a runner of pool {lane.pool} whose app has a handler for {lane.kind}",
        "tags": f"Start a runner, or a group, with the tags {', '.join(lane.tags)}",
        "taints": "Take the taint away, or start a runner without it",
    }[lane.reason]
    return Stuck(lane.kind, lane.tags, lane.jobs, lane.detail, f"{start}; or cancel what nobody needs any more.")


def _nobody(pool: Standing) -> Verdict | None:
    """Jobs are ready, and nobody could begin with one."""
    if pool.dispatch == "Leader" and pool.leader is None:
        return Verdict(
            State.STUCK, "Nobody leads: in this pool only the leader claims.", f"paceline pool show {pool.name}"
        )
    if pool.busy + pool.idle:
        return None
    if pool.pending:
        runners = "a runner" if pool.pending == 1 else f"{pool.pending} runners"
        return Verdict(State.BEHIND, _upper(f"{_jobs(pool.ready)} for {runners} to start."), "kubectl get runners,pods")
    return Verdict(
        State.STUCK, _upper(f"{_jobs(pool.ready)}, and no runner is registered."),
        f"paceline run --pool {pool.name} --app MODULE:JOBS",
    )  # fmt: skip


def _waiting(pool: Standing) -> Verdict:
    oldest = pool.oldest_seconds or 0.0
    if oldest < PATIENCE_SECONDS:
        return Verdict(State.OK, f"Keeping up: the oldest ready job waits {_span(oldest)}.")
    if pool.ready_before is not None and pool.ready < pool.ready_before:
        told = f"the oldest waits {_span(oldest)}, and fewer jobs wait than a minute ago"
        return Verdict(State.CATCHING_UP, f"Catching up: {told}.")
    if pool.oldest_before is not None and oldest < pool.oldest_before:
        return Verdict(State.CATCHING_UP, f"Catching up: the oldest waits {_span(oldest)}, and that gets less.")
    return Verdict(State.BEHIND, f"Falling behind: the oldest waits {_span(oldest)}{_why(pool)}.", _todo(pool))


def _why(pool: Standing) -> str:
    if pool.pending:
        return f"; {pool.pending} more runner{'s' if pool.pending > 1 else ''} were decided on and have not come yet"
    if pool.running >= pool.slots:
        full = f"; all {pool.slots} slots are busy"
        return f"{full}, and {pool.limited_by} allows no more runners" if pool.limited_by else full
    return "; slots are free, so a rate or a taint holds the jobs back"


def _todo(pool: Standing) -> str:
    if pool.limited_by and pool.groups:
        return f"paceline explain {pool.groups[0]}"
    return f"paceline jobs list --pool {pool.name} --state ready"


def _resume(pool: Standing) -> str:
    if pool.paused == "groups":
        namespace, _, name = pool.groups[0].rpartition("/")
        return f"kubectl annotate -n {namespace} runnergroup {name} paceline.dev/paused-"
    return f"paceline pool resume {pool.name}"


def _jobs(number: int) -> str:
    return "a job waits" if number == 1 else f"{_number(number)} jobs wait"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _number(number: int) -> str:
    return f"{number:,}"


def _span(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
