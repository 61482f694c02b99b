"""A small cluster with a small queue, for plans to be carried out in: what Kubernetes and database would do."""

import itertools
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from paceline_operator.api.meta import ObjectMeta, OwnerReference
from paceline_operator.api.v1alpha1 import Runner, RunnerGroup, RunnerGroupStatus, RunnerStatus
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
    Why,
)
from paceline_operator.domain.failures import Memory
from paceline_operator.domain.names import TAINTS, runner_name
from paceline_operator.domain.plan import Plan, plan
from paceline_operator.domain.report import Trouble, report_group
from paceline_operator.domain.report_runner import report_other, report_runner
from paceline_operator.domain.revision import RevisionSeen
from paceline_operator.domain.seen import (
    GroupSeen,
    NodeSeen,
    Outcomes,
    PodSeen,
    Registration,
    RunnerSeen,
    read_runner,
)

START = datetime(2026, 11, 17, 12, tzinfo=UTC)
KEPT = {"rev": RevisionSeen(name="rev", uid="c-1")}
"""The revision that pods of tests have."""


def group(
    replicas: int = 1, annotations: dict[str, str] | None = None, deleted: datetime | None = None, /, **spec: object
) -> RunnerGroup:
    """A RunnerGroup called builds."""
    template = {"spec": {"containers": [{"name": "runner", "image": "acme/builds:1"}]}}
    return RunnerGroup.model_validate(
        {
            "metadata": {
                "name": "builds", "namespace": "ci", "uid": "u-1", "generation": 3, "annotations": annotations or {},
                "creationTimestamp": START.isoformat(),
                "deletionTimestamp": deleted.isoformat() if deleted else None,
            },
            "spec": {"database": {"secretRef": {"name": "db"}}, "replicas": replicas, "template": template, **spec},
        }
    )  # fmt: skip


def pod(runner: str, boot: int = 1, /, **changes: object) -> PodSeen:
    """A pod that has begun."""
    seen = PodSeen(name=f"{runner}-{boot}", uid=f"p-{runner}-{boot}", runner=runner, boot=boot, created=START,
                   owner=f"r-{runner}", phase="Running", node="n1", revision="rev")  # fmt: skip
    return replace(seen, **changes)  # type: ignore[arg-type]  # the fields of PodSeen


def runner(name: str, /, **changes: object) -> RunnerSeen:
    """A Runner object of the group."""
    return replace(RunnerSeen(name=name, uid=f"r-{name}"), **changes)  # type: ignore[arg-type]  # its fields


def registered(name: str, boot: int = 1, /, **changes: object) -> Registration:
    """A Runner that may claim, out of its nth pod."""
    row = Registration(runner=name, incarnation=boot, state="active", leased=True, pod_uid=f"p-{name}-{boot}",
                       hostname=f"{name}-{boot}", revision="rev")  # fmt: skip
    return replace(row, **changes)  # type: ignore[arg-type]  # its fields


def outside(name: str, /, **changes: object) -> Registration:
    """A runner outside the cluster that may claim."""
    row = Registration(runner=name, external=True, incarnation=1, state="active", leased=True)
    return replace(row, **changes)  # type: ignore[arg-type]  # its fields


@dataclass
class World:
    """Carries out what a plan says, and lets things happen in between."""

    replicas: int = 1
    spec: dict[str, object] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    now: datetime = START
    runners: dict[str, RunnerSeen] = field(default_factory=dict)
    pods: dict[str, PodSeen] = field(default_factory=dict)
    rows: dict[tuple[str, str | None], Registration] = field(default_factory=dict)
    """By Runner and pod; without a pod: the Runner alone."""
    revision: str = "rev"
    """What the spec says now."""
    revisions: dict[str, RevisionSeen] = field(default_factory=dict)
    status: RunnerGroupStatus = field(default_factory=RunnerGroupStatus)
    outcomes: dict[str, Outcomes] = field(default_factory=dict)
    nodes: dict[str, NodeSeen] = field(default_factory=lambda: {"n1": NodeSeen(), "n2": NodeSeen()})
    budget: int | None = None
    database: bool = True
    memory: Memory = field(default_factory=Memory)
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    named: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    said: dict[str, str] = field(default_factory=dict)
    """Taints by annotation on Runners."""
    interrupted: list[str] = field(default_factory=list)
    """Runners that were taken away by us while they held a job."""

    def look(self) -> GroupSeen:
        """What the operator would see."""
        return GroupSeen(
            group=group(self.replicas, self.annotations, **self.spec).model_copy(update={"status": self.status}),
            now=self.now,
            runners=tuple(self.runners.values()),
            pods=tuple(self.pods.values()),
            registrations=tuple(self.rows.values()) if self.database else None,
            nodes=dict(self.nodes),
            revision=self.revision,
            revisions=dict(self.revisions),
            outcomes=dict(self.outcomes),
            budget=self.budget,
        )

    def turn(self) -> Plan:
        """One pass of the operator: look, plan, act, report."""
        if self.database:
            self._taint_group()
        seen = self.look()
        made = plan(seen, self.memory)
        self.memory = made.memory
        for action in made.actions:
            self.do(action)
        self.status = report_group(seen, made, Trouble())
        lives = {life.runner.name: life for life in made.lives}
        for each in seen.runners:
            status = report_runner(lives[each.name], seen) if each.name in lives else report_other(each, seen)
            if status is not None and each.name in self.runners:
                self._write(each.name, status)
        return made

    def do(self, action: Action) -> None:
        """What the API server, or the database, would do."""
        match action:
            case CreateRunners(count, revision):
                for _ in range(count):
                    name = runner_name("builds", "u-1", next(self.named))
                    self._write(name, RunnerStatus())
                    self._start(name, 1, revision)
            case CreatePod(name, uid, boot, _, revision, restarted_at):
                assert self.runners[name].uid == uid
                self._start(name, boot, revision, restarted_at)
            case SaveRevision(kept):
                self.revisions[kept.name] = kept
            case DropRevision(revision):
                del self.revisions[revision]
            case DeleteRunner(name, uid, why):
                if self.runners.get(name) and self.runners[name].uid == uid:
                    held = sum(row.held for row in self.rows.values() if row.runner == name)
                    if why in (Why.SCALE_DOWN, Why.SERVED) and held:
                        self.interrupted.append(name)
                    self.remove_runner(name)
            case DeletePod(name, uid):
                if name in self.pods and self.pods[name].uid == uid:
                    self.leave(name)
            case Fence(causes):
                for key, row in list(self.rows.items()):
                    if row.pod_uid in causes:
                        self._end(key)
            case Retire(count, unready):
                self._retire(count, unready)
            case Drain(names):
                for key, row in list(self.rows.items()):
                    if row.runner in names and row.state == "active":
                        self.rows[key] = replace(row, state="draining")
            case Forget(names):
                for key, row in list(self.rows.items()):
                    if row.runner in names and row.incarnation is None:
                        del self.rows[key]
            case Protect(name, _, on):
                if name in self.pods:
                    self.pods[name] = replace(self.pods[name], protected=on)
            case SetBudget(least):
                self.budget = least
            case Relabel(name):
                self.pods[name] = replace(self.pods[name], astray=False)
            case SetTaints(name, source, taints):
                words = ",".join(f"{source} {each}" for each in taints)
                self.rows.setdefault((name, None), Registration(runner=name))
                for key, row in list(self.rows.items()):
                    if row.runner == name:
                        self.rows[key] = replace(row, declared=words)
                self._taint_group()
            case Mirror(names):
                for name in names:
                    self._write(name, RunnerStatus(), external=True)
            case MarkLeader(name, _, on):
                self.pods[name] = replace(self.pods[name], leads=on)
            case Suspect():
                pass

    def _taint_group(self) -> None:
        """What the database makes of all taints."""
        for key, row in list(self.rows.items()):
            own = [part.partition(" ")[2] for part in row.declared.split(",") if part]
            shared = [] if row.external else [each for each in self.annotations.get(TAINTS, "").split(",") if each]
            taints = ",".join(sorted({*own, *shared}))
            drains = ":Drain" in taints and row.state == "active"
            self.rows[key] = replace(row, taints=taints, state="draining" if drains else row.state)

    def _write(self, name: str, status: RunnerStatus, *, external: bool | None = None) -> None:
        old = self.runners.get(name)
        uid = old.uid if old else f"r-{next(self.numbers)}"
        outside = external if external is not None else bool(old and old.external)
        owner = OwnerReference(api_version="paceline.dev/v1alpha1", kind="RunnerGroup", name="builds", uid="u-1")
        annotations = {TAINTS: self.said[name]} if name in self.said else {}
        meta = ObjectMeta(name=name, uid=uid, generation=1, owner_references=(owner,), annotations=annotations)
        spec = {"groupRef": {"name": "builds"}, "external": outside}
        self.runners[name] = read_runner(
            Runner.model_validate({"metadata": meta, "spec": spec, "status": status}), "u-1"
        )

    def say(self, name: str, taints: str) -> None:
        """A user annotates a Runner."""
        resource = self.runners[name].resource
        self.said[name] = taints
        self._write(name, resource.status if resource else RunnerStatus())

    def _start(self, name: str, boot: int, revision: str, restarted_at: str = "") -> None:
        assert revision in self.revisions, f"nobody knows what a pod of {revision} is made of"
        assert f"{name}-{boot}" not in self.pods, f"pod {name}-{boot} is there already"
        uid = self.runners[name].uid
        free = [node for node, seen in self.nodes.items() if not seen.cordoned]
        made = pod(name, boot, uid=f"p-{next(self.numbers)}", created=self.now, owner=uid, phase="Pending",
                   node=free[0] if free else "", revision=revision, restarted_at=restarted_at)  # fmt: skip
        self.pods[made.name] = made

    def _retire(self, count: int, unready: tuple[str, ...]) -> None:
        busy = {row.runner for row in self.rows.values() if row.held}
        going = {row.runner for row in self.rows.values() if row.retiring}
        idle = [row.runner for row in self.rows.values() if row.state == "active" and not row.external]
        for name in [*unready, *idle]:
            if count > 0 and name not in busy and name not in going:
                going.add(name)
                count -= 1
                self.rows.setdefault((name, None), Registration(runner=name))
                for key, row in list(self.rows.items()):
                    if row.runner == name:
                        self.rows[key] = replace(row, retiring=True, state="draining" if row.state else None)

    def _end(self, key: tuple[str, str | None]) -> None:
        row = self.rows.pop(key)
        self.rows.setdefault(
            (row.runner, None),
            replace(row, incarnation=None, state=None, leased=False, pod_uid=None, hostname="", held=0),
        )

    # what happens by itself

    def register(self, name: str) -> None:
        """A pod's runner registers."""
        seen = self.pods[name]
        if seen.live and self.database and (seen.runner, seen.uid) not in self.rows:
            known = [row for row in self.rows.values() if row.runner == seen.runner]
            retiring = any(row.retiring for row in known)
            declared = known[0].declared if known else ""
            for key, row in list(self.rows.items()):  # the newest registration of a name wins
                if row.runner == seen.runner and row.state == "active":
                    self._end(key)
            self.pods[name] = replace(seen, phase="Running", ready=True)
            self.rows[seen.runner, seen.uid] = Registration(
                runner=seen.runner, incarnation=next(self.numbers), state="draining" if retiring else "active",
                leased=True, pod_uid=seen.uid, hostname=name, retiring=retiring, declared=declared,
            )  # fmt: skip
            self._taint_group()

    def connect(self, name: str) -> None:
        """A runner outside the cluster registers."""
        if self.database and (name, "outside") not in self.rows:
            self.rows.pop((name, None), None)
            self.rows[name, "outside"] = outside(name, incarnation=next(self.numbers))

    def disconnect(self, name: str, hours: float) -> None:
        """It has gone, and was last heard of so long ago."""
        if (name, "outside") in self.rows:
            self._end((name, "outside"))
        if (name, None) in self.rows:
            self.rows[name, None] = replace(self.rows[name, None], seen_seconds=hours * 3600)

    def claim(self, name: str) -> None:
        """A runner takes a job, if it may."""
        for key, row in self.rows.items():
            if row.runner == name and row.working:
                self.rows[key] = replace(row, held=row.held + 1)

    def finish(self, name: str) -> None:
        """A runner has done its jobs; one that drains leaves then."""
        for key, row in list(self.rows.items()):
            if row.runner == name:
                self.rows[key] = replace(row, held=0)

    def exit_drained(self) -> None:
        """Runners that drain and hold nothing leave, as do those in pods that were told to go."""
        for key, row in list(self.rows.items()):
            found = next((each for each in self.pods.values() if each.uid == row.pod_uid), None)
            told = row.state == "draining" or (found is not None and found.deleting)
            if row.incarnation is not None and row.held == 0 and told:
                self._end(key)
                if found is not None:
                    self.end(found.name, 0)

    def end(self, name: str, code: int, **changes: object) -> None:
        """A runner's container ends; a pod that was told to go is gone then."""
        seen = self.pods[name]
        if seen.deleting:
            del self.pods[name]
        elif not seen.ended:
            phase = "Failed" if code else "Succeeded"
            self.pods[name] = replace(seen, exit_code=code, phase=phase, ready=False, **changes)  # type: ignore[arg-type]

    def leave(self, name: str) -> None:
        """A pod is told to go: one that works finishes first."""
        seen = self.pods[name]
        if seen.ended or (seen.runner, seen.uid) not in self.rows:
            del self.pods[name]
        else:
            self.pods[name] = replace(seen, deleting=True)

    def remove_runner(self, name: str) -> None:
        """A Runner object goes, and Kubernetes tells its pods to."""
        uid = self.runners.pop(name).uid
        for seen in [each for each in self.pods.values() if each.owner == uid]:
            self.leave(seen.name)

    def later(self, seconds: float) -> None:
        """Time passes."""
        self.now += timedelta(seconds=seconds)

    def settle(self, turns: int = 40) -> Plan:
        """Everything goes well for a while."""
        self.database = True
        self.nodes = {name: NodeSeen() for name in self.nodes}
        made = self.turn()
        for _ in range(turns):
            self.later(400)
            for name in list(self.pods):
                self.register(name)
            for name in {row.runner for row in self.rows.values()}:
                self.finish(name)
            self.exit_drained()
            made = self.turn()
        return made
