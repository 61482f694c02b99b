"""Carrying out a plan: the database first, so that nobody claims who is about to go; then Kubernetes, many at once."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from paceline.operating import FencedPod, Operating
from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.actions import (
    Action,
    CreatePod,
    CreateRunners,
    DeletePod,
    DeleteRunner,
    Drain,
    DropRevision,
    Fence,
    Forget,
    MarkLeader,
    Mirror,
    Protect,
    Relabel,
    Retire,
    SaveRevision,
    SetBudget,
    SetTaints,
    Suspect,
)
from paceline_operator.domain.names import LABEL_GROUP, LABEL_LEADER, LABEL_RUNNER, revision_name, runner_name
from paceline_operator.domain.objects import build_budget, build_pod, build_revision, build_runner
from paceline_operator.domain.reasons import Reason
from paceline_operator.domain.revision import as_of, target_of
from paceline_operator.domain.seen import EVICT_ANNOTATIONS, GroupSeen
from paceline_operator.handlers.refusals import why_refused
from paceline_operator.ports.cluster import Cluster
from paceline_operator.ports.errors import AlreadyExistsError, ForbiddenError, RefusedError
from paceline_operator.ports.resources import CONTROLLER_REVISION, POD, RUNNER

log = logging.getLogger("paceline.operator")
PROTECTION: Final = dict(zip(EVICT_ANNOTATIONS, ("false", "true"), strict=True))


@dataclass(slots=True)
class Outcome:
    """What came of a plan."""

    refused: tuple[Reason, str] | None = None
    """The API server did not let us make a pod."""
    fenced: list[FencedPod] = field(default_factory=list)
    created: list[str] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    drained: list[str] = field(default_factory=list)

    @property
    def again(self) -> bool:
        """There is more to do at once: who was retired can be deleted, what was fenced can be replaced."""
        return bool(self.retired or self.fenced)


@dataclass(frozen=True, slots=True)
class Start:
    """A pod that is to be made."""

    runner: str
    revision: str
    again: CreatePod | None = None
    """Of a Runner that is there; else the Runner is made, too."""


class Actor:
    """Acts for one group."""

    def __init__(
        self, cluster: Cluster, operating: Operating | None, group: RunnerGroup, number: int | None, install: str
    ) -> None:
        """`number` is the group's in its database. Without a database only what needs none can be done."""
        self._cluster, self._group, self._install = cluster, group, install
        self._database = None if operating is None or number is None else (operating, number)
        self._namespace = group.metadata.namespace

    async def carry_out(self, actions: Sequence[Action], seen: GroupSeen) -> Outcome:
        """All of it; what fails on its own account is seen again with the next look."""
        outcome = Outcome()
        if self._database is not None:
            await self._tell(*self._database, actions, seen, outcome)
        starts = [Start(each.runner, each.revision, each) for each in actions if isinstance(each, CreatePod)]
        for action in actions:
            if isinstance(action, CreateRunners):
                names = await self._names(action.count, seen, len(outcome.created))
                outcome.created += names
                starts += [Start(each, action.revision) for each in names]
        # first of all: what a pod is made of must be on record before there is one
        await _all([self._cluster.apply(build_revision(self._group, each.revision))
                    for each in actions if isinstance(each, SaveRevision)])  # fmt: skip
        others = [
            self._change(each)
            for each in actions
            if isinstance(
                each, DeleteRunner | DeletePod | Protect | Relabel | MarkLeader | Mirror | SetBudget | DropRevision
            )
        ]
        await _all(others)
        for revision in dict.fromkeys(each.revision for each in starts):
            refused = await self._start([each for each in starts if each.revision == revision], seen)
            if refused is not None and revision in ("", seen.revision):
                outcome.refused = refused
        return outcome

    async def _tell(
        self, operating: Operating, number: int, actions: Sequence[Action], seen: GroupSeen, outcome: Outcome
    ) -> None:
        """What the database has to know."""
        for action in actions:
            match action:
                case Fence(causes):
                    outcome.fenced = await operating.fence_pods(number, causes)
                case Suspect(pods):
                    await operating.suspect_pods(number, sorted(pods))
                case Retire(count, unready):
                    outcome.retired = await operating.retire(
                        number, count, unready=unready, revision=target_of(seen.group)
                    )
                case Drain(runners):
                    outcome.drained += await operating.drain_runners(number, runners)
                case Forget(runners):
                    await operating.forget_runners(number, runners)
                case SetTaints(runner, source, taints, external):
                    await operating.taint_runner(number, runner, source, taints, external=external)
                case _:
                    pass

    async def _change(
        self, action: DeleteRunner | DeletePod | Protect | Relabel | MarkLeader | Mirror | SetBudget | DropRevision
    ) -> None:
        match action:
            case DeleteRunner(name, uid):
                await self._cluster.delete(RUNNER, self._namespace, name, uid=uid)
            case DeletePod(name, uid):
                await self._cluster.delete(POD, self._namespace, name, uid=uid)
            case Protect(name, uid, on):
                await self._mark(name, uid, annotations=PROTECTION if on else dict.fromkeys(PROTECTION))
            case Relabel(name, uid, runner):
                await self._mark(name, uid, labels={LABEL_GROUP: self._group.metadata.name, LABEL_RUNNER: runner})
            case MarkLeader(name, uid, on):
                await self._mark(name, uid, labels={LABEL_LEADER: "true" if on else None})
            case Mirror(names):
                await _all([self._cluster.apply(build_runner(self._group, each, external=True)) for each in names])
            case SetBudget(least):
                await self._cluster.apply(build_budget(self._group, least))
            case DropRevision(revision, uid):
                name = revision_name(self._group.metadata.name, revision)
                await self._cluster.delete(CONTROLLER_REVISION, self._namespace, name, uid=uid)

    async def _mark(self, pod: str, uid: str, **metadata: Mapping[str, str | None]) -> None:
        await self._cluster.patch(POD, self._namespace, pod, {"metadata": metadata}, uid=uid)

    async def _names(self, count: int, seen: GroupSeen, more: int = 0) -> list[str]:
        """Names that nobody had before: numbered by the database, or while that is away by what is there already."""
        meta = self._group.metadata
        if self._database is None:
            unread = seen.unread.isoformat() if seen.unread else ""
            first = sum(runner.owned for runner in seen.runners) + more
            return [runner_name(meta.name, f"{meta.uid} {unread}", first + each) for each in range(count)]
        operating, number = self._database
        return [runner_name(meta.name, meta.uid, each) for each in await operating.number_runners(number, count)]

    async def _start(self, starts: Sequence[Start], seen: GroupSeen) -> tuple[Reason, str] | None:
        """Try one, then the others: what the API server refuses it is asked only once."""
        kept = seen.revisions.get(starts[0].revision)
        ours = starts[0].revision in ("", seen.revision) or kept is None
        group = self._group if ours or kept is None else as_of(self._group, kept.made_of)
        first, rest = starts[0], starts[1:]
        try:
            await self._start_one(first, group)
            await _all([self._start_one(each, group) for each in rest])
        except (RefusedError, ForbiddenError) as error:
            return why_refused(error)
        return None

    async def _start_one(self, what: Start, group: RunnerGroup) -> None:
        """A new Runner with its first pod, or another pod of one that is there."""
        again = what.again
        if again is None:
            made = await self._cluster.apply(build_runner(self._group, what.runner))
            uid, boot, restarted_at = made["metadata"]["uid"], 1, ""
        else:
            uid, boot, restarted_at = again.runner_uid, again.boot, again.restarted_at
        try:
            await self._cluster.create(build_pod(group, what.runner, uid, boot, self._install, restarted_at))
        except AlreadyExistsError:
            log.info("pod %s-%d is there already", what.runner, boot)


async def _all(work: Sequence[Awaitable[object]]) -> None:
    """Do all, then raise the first error: one that fails keeps nobody else from being done."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
