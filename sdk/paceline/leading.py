"""Who leads a group with dispatch: Leader, by a person's word instead of by age.

A promoted Runner leads as long as it is eligible: registered, not draining, and without a taint that forbids it. Then
the promotion is over, and the oldest eligible one leads.
"""

from dataclasses import dataclass
from typing import Literal

from paceline.database import Database
from paceline.errors import InvalidInputError, NotEligibleError, NotFoundError
from paceline.seen import read

SHOWN = 10
"""How many names an error tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A Runner and the group that it could lead, or (without a name) a group that has no Runner."""

    grp: int
    install: str
    namespace: str
    group: str
    dispatch: Literal["Shared", "Leader"]
    runner: int | None
    name: str | None
    state: Literal["active", "draining"] | None
    """None: nobody is registered in its name."""
    taints: tuple[str, ...]
    """Those that keep it from leading."""
    leads: bool
    promoted: bool
    leader: str | None
    """Who leads the group."""
    epoch: int | None

    @property
    def full_group(self) -> str:
        """The group as `--group` takes it."""
        return f"{self.namespace}/{self.group}" if self.namespace else self.group

    @property
    def obstacle(self) -> str | None:
        """Why it cannot lead now, and what to do."""
        if self.state is None:
            return "nobody is registered in its name: start it, or wait until its pod is ready"
        if self.taints:
            return f"it has the taint {', '.join(self.taints)}: take that away first"
        return "it is draining, and will leave" if self.state == "draining" else None


class Leading:
    """Chooses leaders in one database; wants the role `operator` or `gateway` on the group's pool."""

    def __init__(self, database: Database) -> None:
        """Use a database that is open."""
        self._database = database

    async def candidates(
        self, *, install: str | None = None, group: str | None = None, runner: str | None = None
    ) -> list[Candidate]:
        """Everybody who fits; `group` is a name, or namespace/name."""
        sql = "SELECT * FROM paceline.list_candidates($1, $2, $3)"
        return [read(Candidate, row) for row in await self._database.rows(sql, install, group, runner)]

    async def promote(self, runner: str, *, group: str | None = None, install: str | None = None) -> Candidate:
        """Make a Runner the leader, from now on and as long as it is eligible; returns how it stands then.

        NotEligibleError: it cannot lead, and nothing was changed.
        """
        found = await self._one_runner(runner, group, install)
        _need_leader(found)
        _need_eligible(found, "nothing was changed")
        await self._set(found.grp, found.runner)
        (now,) = await self.candidates(install=found.install, group=found.full_group, runner=runner)
        if not now.leads:
            _need_eligible(now, "its promotion is over")
        return now

    async def clear(self, group: str, *, install: str | None = None) -> tuple[Candidate, str | None]:
        """End a promotion: the oldest eligible Runner leads. Returns how the group stands, and who was promoted."""
        before = await self._one_group(group, install)
        _need_leader(before[0])
        await self._set(before[0].grp, None)
        now = await self.candidates(install=before[0].install, group=before[0].full_group)
        return now[0], next((each.name for each in before if each.promoted), None)

    async def _set(self, group: int, runner: int | None) -> None:
        await self._database.value("SELECT paceline.promote($1, $2)", group, runner)

    async def _one_runner(self, runner: str, group: str | None, install: str | None) -> Candidate:
        found = await self.candidates(install=install, group=group, runner=runner)
        if not found:
            others = await self.candidates(install=install, group=group)
            names = [each.name for each in others if each.name is not None]
            raise NotFoundError(
                f'there is no Runner "{runner}"{f" in group {group}" if group else ""} whose leader this login may '
                f"choose (there are: {_some(names)}): correct the name, or wait until it has registered"
            )
        if len(found) > 1:
            raise InvalidInputError(f'several Runners are called "{runner}": {_choose(found)}')
        return found[0]

    async def _one_group(self, group: str, install: str | None) -> list[Candidate]:
        found = await self.candidates(install=install, group=group)
        if not found:
            names = {each.full_group for each in await self.candidates(install=install)}
            raise NotFoundError(
                f'there is no group "{group}" whose leader this login may choose (there are: {_some(sorted(names))})'
            )
        if len({each.grp for each in found}) > 1:
            raise InvalidInputError(f'several groups are called "{group}": {_choose(found)}')
        return found


def _need_leader(found: Candidate) -> None:
    if found.dispatch != "Leader":
        raise NotEligibleError(
            f"group {found.full_group} has no leader, all its runners work (dispatch: Shared): "
            "a leader wants a group with spec.dispatch: Leader"
        )


def _need_eligible(found: Candidate, consequence: str) -> None:
    if why := found.obstacle:
        raise NotEligibleError(f"{found.name} cannot lead {found.full_group} now: {why} ({consequence})")


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "") or "none"


def _choose(found: list[Candidate]) -> str:
    """How to say which one is meant."""
    ways = {f"--group {each.full_group} --install {each.install}": None for each in found}
    return f"say which one is meant ({' or '.join(ways)})"
