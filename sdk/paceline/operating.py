"""The operator's side: groups, who is registered in them, who shall go, and what is gone.

Every call asks one SQL function, which wants the role `operator` on the group's pool. A group is named by the number
that `put_group` returned; one that has been deleted meanwhile is a `NotFoundError`.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from paceline.cron import Cron
from paceline.database import Database, translated
from paceline.errors import NotInOfficeError
from paceline.scaling import ScalingKept, as_json
from paceline.seen import GroupSnapshot, read
from paceline.taint import Taint, taint_columns

if TYPE_CHECKING:
    from paceline.database import Record

PUT_GROUP: Final = "paceline.put_group($1, $2, $3, $4, p_leader => $5, p_slots => $6, p_tags => $7, p_paused => $8)"
ASLEEP: Final = "paceline_asleep"
"""The channel of all groups at zero."""
FAR: Final = 5_000
"""Where counts end that are asked for every second, unless a group could use more: each 1,000 jobs take 80 us, and so
large a number tells whoever reads it all there is to know."""
LOOK_AT_GROUPS: Final = """\
SELECT g.id AS grp, l.* FROM unnest($1::integer[]) AS g (id) CROSS JOIN LATERAL paceline.look_at_group(g.id) AS l"""

NEWEST_IS_THERE: Final = """\
SELECT EXISTS (SELECT FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
                WHERE n.nspname = 'paceline' AND p.proname = 'revision_outcomes')"""
"""Of schema version 6, the newest that an operator needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationSeen:
    """A Runner of a group with one of its live incarnations, or with none: then what an incarnation has is None."""

    runner: str
    external: bool
    retiring: bool
    """It was chosen to go: whatever registers in its name drains."""
    created_seconds: float
    seen_seconds: float
    """Since its last heartbeat, or its last registration."""
    incarnation: int | None
    state: Literal["active", "draining"] | None
    leased: bool
    pod_uid: str | None
    hostname: str | None
    revision: str | None
    slots: int | None
    registered_seconds: float | None
    idle_seconds: float | None
    """Since when its heartbeats have seen it without a job; None while it has one, or has just finished one."""
    held: int
    """Jobs."""
    oldest_job_seconds: float | None
    """How long the longest of its jobs has been running."""
    oldest_job: int | None
    """Which one that is."""
    taints: str
    """The effective ones, as `parse_taints` reads them; empty if there are none."""
    declared: str
    """Those that came from the Runner object: each with its source before it, as in `annotation gpu=bad:NoClaim`."""
    leads: bool
    """It is the leader of its group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FencedPod:
    """A registration that ended because its pod is gone."""

    pod_uid: str
    runner: str
    cause: str
    jobs: int
    """How many jobs it held that are claimable again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSeen:
    """A group that the database knows, whether its RunnerGroup is still there or not."""

    id: int
    namespace: str
    name: str
    pool: str
    leader: bool
    paused: bool
    slots: int
    tags: tuple[str, ...]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupObserved(GroupSnapshot):
    """How a group stands, and how many runners it has."""

    registered: int
    """Active and with their lease, in the cluster or outside."""
    busy: int
    """Those of them that hold a job."""
    draining: int
    """With their lease, claiming nothing any more; busy or not."""
    newest: int
    """The last registration of them all; 0 if there is none."""
    taints: str
    """Those of the group itself, as `parse_taints` reads them."""
    share: int
    """Of `ready` what is this group's: jobs that several groups could claim are split among them."""
    elsewhere: int
    """Of `running` what runners outside the cluster hold, and those that leave."""
    tainted: int
    """Active Runners in the cluster with a NoClaim taint of their own."""
    tainted_running: int
    """Jobs that those hold."""
    tolerating: int
    """Ready jobs that those could claim, at most as many as they have free slots."""
    cron_due: bool
    """A cron entry of its pool waits for somebody to fire it."""


@dataclass(slots=True)
class Office:
    """Which operator of an installation acts. Every write carries its epoch; one that is over changes nothing."""

    install: str
    holder: str
    """A name that no other operator ever has, nor this one in a later term."""
    leads: Callable[[], bool] = lambda: True
    """Whether it still does, as far as it can know by itself."""
    epoch: int | None = None


class Operating:
    """Operates the groups of one database."""

    def __init__(self, database: Database, office: Office | None = None) -> None:
        """Use a database that is open; without an office nobody else operates it."""
        self._database, self._office = database, office

    async def require_schema(self) -> None:
        """SchemaError where the newest of these calls is not there yet: an older schema serves a part of them only.

        The catalog answers every login; what one may not call it is told when it calls.
        """
        if not await self._database.value(NEWEST_IS_THERE):
            raise translated("42883", "", None, self._database.address.place)

    async def _act(self, call: str, *args: object) -> "list[Record]":
        """The rows of a function that writes, guarded by our epoch in the same statement."""
        office = self._office
        if office is None:
            return await self._database.rows(f"SELECT f.* FROM {call} AS f", *args)  # noqa: S608 -- ours
        if not office.leads():
            raise NotInOfficeError(f'this operator of "{office.install}" leads no more: nothing was sent')
        if office.epoch is None:
            take = "SELECT paceline.take_office($1, $2)"
            office.epoch = int(await self._database.value(take, office.install, office.holder))
        guard = f"SELECT paceline.in_office(${len(args) + 1}, ${len(args) + 2})"
        sql = f"WITH o AS MATERIALIZED ({guard}) SELECT f.* FROM o, {call} AS f"  # noqa: S608 -- ours
        try:
            return await self._database.rows(sql, *args, office.install, office.epoch)
        except NotInOfficeError:
            office.epoch = None
            raise

    async def put_group(
        self,
        *,
        install: str,
        namespace: str,
        name: str,
        pool: str,
        leader: bool = False,
        slots: int = 1,
        tags: Iterable[str] = (),
        paused: bool = False,
    ) -> int:
        """Make a group, or bring it up to date; returns its number. PoolConflictError: the pool is another's."""
        (row,) = await self._act(PUT_GROUP, install, namespace, name, pool, leader, slots, sorted(tags), paused)
        return int(row[0])

    async def delete_group(self, group: int) -> None:
        """End its runners and forget them; what they held is claimable, and no job is lost. Gone already: nothing."""
        await self._act("paceline.delete_group($1)", group)

    async def set_revision(self, group: int, revision: str) -> None:
        """Say which revision the group's next runners will have."""
        await self._act("paceline.set_revision($1, $2)", group, revision)

    async def list_groups(self, install: str) -> list[GroupSeen]:
        """The groups of an installation."""
        rows = await self._database.rows("SELECT * FROM paceline.list_groups($1)", install)
        return [read(GroupSeen, row) for row in rows]

    async def observe(self, install: str, asleep: Iterable[int] = (), cap: int = FAR) -> list[GroupObserved]:
        """Do the housekeeping if it is due, and see how the installation's groups stand: one call for all of them.

        `asleep` are groups without runners: for the next minute whoever makes work for them notifies `ASLEEP`.
        """
        rows = await self._database.rows("SELECT * FROM paceline.survey($1, $2, $3)", install, list(asleep), cap)
        return [read(GroupObserved, row) for row in rows]

    async def fire_cron(self) -> None:
        """Make the jobs of cron entries that are due: where there is no runner, nobody else does."""
        await Cron.fire_due(self._database)

    async def look_at_group(self, group: int) -> list[RegistrationSeen]:
        """Everybody in a group, by name."""
        rows = await self._database.rows("SELECT * FROM paceline.look_at_group($1)", group)
        return [read(RegistrationSeen, row) for row in rows]

    async def outcomes(self, group: int, seconds: float) -> dict[str, tuple[int, int]]:
        """By revision, how many attempts of its runners ended in the last seconds, and how many of these failed."""
        rows = await self._database.rows("SELECT * FROM paceline.revision_outcomes($1, $2)", group, seconds)
        return {row["revision"]: (row["ended"], row["failed"]) for row in rows}

    async def look_at_groups(self, groups: Iterable[int]) -> dict[int, list[RegistrationSeen]]:
        """Everybody in several groups, by the groups' numbers, in one call; one that is gone spoils it for all."""
        found: dict[int, list[RegistrationSeen]] = {group: [] for group in groups}
        for row in await self._database.rows(LOOK_AT_GROUPS, list(found)):
            found[row["grp"]].append(read(RegistrationSeen, row))
        return found

    async def number_runners(self, group: int, count: int) -> range:
        """Numbers for so many new Runners; none is ever given twice."""
        (row,) = await self._act("paceline.number_runners($1, $2)", group, count)
        return range(int(row[0]), int(row[0]) + count)

    async def put_scaling(self, group: int, weight: int) -> dict[str, Any]:
        """Say how much of what others could claim too is this group's; returns what was kept of its scaling."""
        (row,) = await self._act("paceline.put_scaling($1, $2)", group, weight)
        found: dict[str, Any] = json.loads(row[0])
        return found

    async def keep_scaling(self, kept: Iterable[ScalingKept]) -> None:
        """Keep what several groups' scaling remembers and has decided."""
        await self._act("paceline.keep_scaling($1)", as_json(kept))

    async def retire(self, group: int, count: int, *, unready: Iterable[str] = (), revision: str | None) -> list[str]:
        """Choose at most `count` in-cluster Runners that hold no job; from now on they claim nothing. Returns them.

        `unready` are Runners that are not ready, also ones that have never registered; `revision` is the current one,
        and older ones go first. A Runner that is not registered, or drains, is chosen only if it is in `unready`.
        """
        (row,) = await self._act("paceline.retire($1, $2, $3, $4)", group, count, list(unready), revision)
        return list(row[0])

    async def drain_runners(self, group: int, names: Iterable[str]) -> list[str]:
        """Let Runners finish, however long it takes, and leave; returns those that were active."""
        (row,) = await self._act("paceline.drain_runners($1, $2)", group, list(names))
        return list(row[0])

    async def taint_group(self, group: int, source: str, taints: Iterable[Taint]) -> None:
        """Set the taints that all in-cluster Runners of a group have from one source, now and later."""
        await self._act("paceline.taint_group($1, $2, $3, $4, $5)", group, source, *taint_columns(taints))

    async def taint_runner(
        self, group: int, name: str, source: str, taints: Iterable[Taint], *, external: bool = False
    ) -> None:
        """Set the taints that a Runner has from one source, also before it has ever registered."""
        call = "paceline.taint_named($1, $2, $3, $4, $5, $6, $7)"
        await self._act(call, group, name, external, source, *taint_columns(taints))

    async def fence_pods(self, group: int, causes: Mapping[str, str]) -> list[FencedPod]:
        """Nobody works in these pods any more; `causes` are by the pod's UID. Returns those that had not ended."""
        rows = await self._act("paceline.fence_pods($1, $2, $3)", group, list(causes), list(causes.values()))
        return [read(FencedPod, row) for row in rows]

    async def suspect_pods(self, group: int, uids: Iterable[str], cause: str = "NodeLost") -> None:
        """Should the leases of these pods end, that is why; all others of the group are cleared of it."""
        await self._act("paceline.suspect_pods($1, $2, $3)", group, list(uids), cause)

    async def forget_runners(self, group: int, names: Iterable[str]) -> list[str]:
        """Delete Runners that have no live registration; returns those that went."""
        (row,) = await self._act("paceline.forget_runners($1, $2)", group, list(names))
        return list(row[0])
