"""One look at a group: the database first, then the API server.

A pod is there before its runner can register: a registration whose pod is not in the later list is that of a dead one.
"""

import asyncio
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from paceline.operating import Operating, RegistrationSeen
from paceline_operator.api.core import Pod
from paceline_operator.api.v1alpha1 import Runner, RunnerGroup
from paceline_operator.domain.names import LABEL_GROUP, budget_name
from paceline_operator.domain.objects import template_problem
from paceline_operator.domain.revision import read_revision, revision_of
from paceline_operator.domain.seen import GroupSeen, NodeSeen, Registration, read_pod, read_runner
from paceline_operator.ports.cluster import Cluster, Manifest
from paceline_operator.ports.resources import CONTROLLER_REVISION, POD, POD_DISRUPTION_BUDGET, RUNNER


async def look(
    cluster: Cluster,
    group: RunnerGroup,
    operating: Operating | None,
    number: int | None,
    nodes: Mapping[str, NodeSeen],
    crew: Sequence[RegistrationSeen] | None = None,
) -> GroupSeen:
    """Everything that a plan is made from; without a database the group is seen as far as Kubernetes shows it.

    `crew` is who was in the group some seconds ago, where nobody wants to ask again.
    """
    registrations = None
    if operating is not None and number is not None:
        rows = await operating.look_at_group(number) if crew is None else crew
        registrations = tuple(map(_registration, rows))
    meta = group.metadata
    labels = {LABEL_GROUP: meta.name}
    runners, pods, kept, budget = await asyncio.gather(
        cluster.list(RUNNER, meta.namespace, fields={"spec.groupRef.name": meta.name}),
        cluster.list(POD, meta.namespace, labels=labels),
        cluster.list(CONTROLLER_REVISION, meta.namespace, labels=labels),
        cluster.get(POD_DISRUPTION_BUDGET, meta.namespace, budget_name(meta.name)),
    )
    pods += await _without_label(cluster, meta.namespace, registrations or (), pods)
    now = datetime.now(UTC)
    read = [Runner.model_validate(each) for each in runners]
    return GroupSeen(
        group=group,
        now=now,
        runners=tuple(read_runner(each, meta.uid) for each in read),
        pods=tuple(read_pod(Pod.model_validate(each), now) for each in pods),
        registrations=registrations,
        nodes=nodes,
        template_problem=template_problem(group),
        revision=revision_of(group),
        revisions={each.name: each for each in map(read_revision, kept)},
        budget=_least(budget),
    )


async def _without_label(
    cluster: Cluster, namespace: str, registrations: Iterable[Registration], pods: Iterable[Manifest]
) -> list[Manifest]:
    """Pods that are registered and were not in the list: a label that somebody took away makes no pod disappear."""
    listed = {each["metadata"]["uid"] for each in pods}
    missing = {row.pod_uid: row.hostname for row in registrations if row.pod_uid and row.pod_uid not in listed}
    found = await asyncio.gather(*(cluster.get(POD, namespace, name) for name in missing.values() if name))
    return [each for each in found if each is not None and each["metadata"]["uid"] in missing]


def _least(budget: Manifest | None) -> int | None:
    found = ((budget or {}).get("spec") or {}).get("minAvailable")
    return found if isinstance(found, int) else None


def _registration(row: RegistrationSeen) -> Registration:
    names = {each.name for each in dataclasses.fields(Registration)}
    given = {name: getattr(row, name) for name in names}
    return Registration(
        **{**given, "hostname": row.hostname or "", "registered_seconds": row.registered_seconds or 0.0}
    )
