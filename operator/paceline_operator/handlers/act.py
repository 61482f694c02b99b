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
    Fence,
    Forget,
    MarkLeader,
    Mirror,
    Protect,
    Relabel,
    Retire,
    SetBudget,
    SetTaints,
    Suspect,
)
from paceline_operator.domain.names import LABEL_GROUP, LABEL_LEADER, LABEL_RUNNER, runner_name
from paceline_operator.domain.objects import build_budget, build_pod, build_runner
from paceline_operator.domain.reasons import Reason
from paceline_operator.domain.seen import EVICT_ANNOTATIONS, GroupSeen
from paceline_operator.handlers.refusals import why_refused
from paceline_operator.ports.cluster import Cluster
from paceline_operator.ports.errors import AlreadyExistsError, ForbiddenError, RefusedError
from paceline_operator.ports.resources import POD, RUNNER

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
        starts: list[str | CreatePod] = [each for each in actions if isinstance(each, CreatePod)]
        for action in actions:
            if isinstance(action, CreateRunners):
                outcome.created = await self._names(action.count, seen)
                starts += outcome.created
        others = [
            self._change(each)
            for each in actions
            if isinstance(each, DeleteRunner | DeletePod | Protect | Relabel | MarkLeader | Mirror | SetBudget)
        ]
        await _all(others)
        if starts:
            outcome.refused = await self._start(starts)
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
                    outcome.retired = await operating.retire(number, count, unready=unready, revision=seen.revision)
                case Drain(runners):
                    outcome.drained += await operating.drain_runners(number, runners)
                case Forget(runners):
                    await operating.forget_runners(number, runners)
                case SetTaints(runner, source, taints, external):
                    await operating.taint_runner(number, runner, source, taints, external=external)
                case _:
                    pass

    async def _change(
        self, action: DeleteRunner | DeletePod | Protect | Relabel | MarkLeader | Mirror | SetBudget
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

    async def _mark(self, pod: str, uid: str, **metadata: Mapping[str, str | None]) -> None:
        await self._cluster.patch(POD, self._namespace, pod, {"metadata": metadata}, uid=uid)

    async def _names(self, count: int, seen: GroupSeen) -> list[str]:
        """Names that nobody had before: numbered by the database, or while that is away by what is there already."""
        meta = self._group.metadata
        if self._database is None:
            unread = seen.unread.isoformat() if seen.unread else ""
            first = sum(runner.owned for runner in seen.runners)
            return [runner_name(meta.name, f"{meta.uid} {unread}", first + each) for each in range(count)]
        operating, number = self._database
        return [runner_name(meta.name, meta.uid, each) for each in await operating.number_runners(number, count)]

    async def _start(self, starts: Sequence[str | CreatePod]) -> tuple[Reason, str] | None:
        """Try one, then the others: what the API server refuses it is asked only once."""
        first, rest = starts[0], starts[1:]
        try:
            await self._start_one(first)
            await _all([self._start_one(each) for each in rest])
        except (RefusedError, ForbiddenError) as error:
            return why_refused(error)
        return None

    async def _start_one(self, what: str | CreatePod) -> None:
        """A new Runner of that name with its first pod, or another pod of one that is there."""
        if isinstance(what, str):
            made = await self._cluster.apply(build_runner(self._group, what))
            name, uid, boot = what, made["metadata"]["uid"], 1
        else:
            name, uid, boot = what.runner, what.runner_uid, what.boot
        try:
            await self._cluster.create(build_pod(self._group, name, uid, boot, self._install))
        except AlreadyExistsError:
            log.info("pod %s-%d is there already", name, boot)


async def _all(work: Sequence[Awaitable[object]]) -> None:
    """Do all, then raise the first error: one that fails keeps nobody else from being done."""
    results = await asyncio.gather(*work, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
