"""Taints that the operator writes: by name, by source, before a Runner has ever registered."""

import pytest

from paceline.claims import Incarnation, Registration
from paceline.database import Database
from paceline.errors import NameTakenError, NotAllowedError, NotFoundError
from paceline.job import NewJob
from paceline.operating import Operating
from paceline.queue import Queue
from paceline.taint import Taint
from postgres.operating.crew import INSTALL, Join
from support.pg import Login

GPU = Taint("gpu", "bad", "NoClaim")
MAINT = Taint("maint", "", "Drain")


async def test_a_taint_is_there_before_its_runner(queue: Queue, operating: Operating, group: int, join: Join) -> None:
    await operating.taint_runner(group, "r1", "annotation", [GPU])
    await queue.enqueue_many([NewJob(kind="mail"), NewJob(kind="mail", tolerations=("gpu",))])
    runner = await join("r1")
    jobs = (await runner.step(2)).jobs
    assert len(jobs) == 1, "only the one that tolerates it"
    (seen,) = await operating.look_at_group(group)
    assert (seen.taints, seen.declared, seen.external) == ("gpu=bad:NoClaim", "annotation gpu=bad:NoClaim", False)


async def test_each_source_is_set_alone(operating: Operating, group: int, join: Join) -> None:
    runner = await join("r1")
    await runner.taint("dev:NoLead")
    await operating.taint_runner(group, "r1", "annotation", [GPU])
    await operating.taint_runner(group, "r1", "spec", [GPU, MAINT])
    (seen,) = await operating.look_at_group(group)
    assert seen.taints == "dev:NoLead,gpu=bad:NoClaim,maint:Drain"
    assert seen.declared == "annotation gpu=bad:NoClaim,spec gpu=bad:NoClaim,spec maint:Drain"
    assert seen.state == "draining"
    await operating.taint_runner(group, "r1", "spec", [])
    (seen,) = await operating.look_at_group(group)
    assert seen.taints == "dev:NoLead,gpu=bad:NoClaim"


async def test_a_name_of_another_group_is_refused(operating: Operating, group: int, leaders: int, join: Join) -> None:
    await join("r1", group="leaders")
    with pytest.raises(NameTakenError, match='"r1" belongs to group "leaders"'):
        await operating.taint_runner(group, "r1", "annotation", [GPU])
    assert leaders


async def test_whoever_does_not_operate_the_pool_taints_nobody(group: int, login: Login) -> None:
    reader = Operating(await login("reader"))
    with pytest.raises(NotAllowedError):
        await reader.taint_runner(group, "r1", "annotation", [GPU])


async def test_a_group_that_is_gone_is_said_to_be(operating: Operating, group: int) -> None:
    await operating.delete_group(group)
    with pytest.raises(NotFoundError, match=f"no group {group}"):
        await operating.taint_runner(group, "r1", "annotation", [GPU])


async def test_a_groups_taints_are_observed(operating: Operating, group: int, join: Join) -> None:
    (before,) = await operating.observe(INSTALL)
    assert (before.taints, before.newest) == ("", 0)
    await operating.taint_group(group, "annotation", [GPU])
    await operating.taint_group(group, "spec", [MAINT])
    runner = await join("r1")
    (now,) = await operating.observe(INSTALL)
    assert (now.taints, now.newest) == ("gpu=bad:NoClaim,maint:Drain", runner.id)


async def test_the_leader_is_seen(operating: Operating, leaders: int, join: Join) -> None:
    await join("a", group="leaders")
    await join("b", group="leaders")
    assert [(each.runner, each.leads) for each in await operating.look_at_group(leaders)] == [("a", True), ("b", False)]
    await operating.taint_runner(leaders, "a", "annotation", [Taint("x", "", "NoLead")])
    assert [(each.runner, each.leads) for each in await operating.look_at_group(leaders)] == [("a", False), ("b", True)]


async def test_a_name_in_the_cluster_cannot_be_taken_from_outside_nor_the_other_way_round(
    database: Database, group: int, join: Join
) -> None:
    await join("inside")
    await join("laptop", external=True)
    with pytest.raises(NameTakenError, match='"inside" lives in the cluster'):
        await join("inside", external=True)
    with pytest.raises(NameTakenError, match='"laptop" lives outside the cluster'):
        await join("laptop")
    again = Registration(name="laptop", pool="", kinds=("*",), install=INSTALL, namespace="ci", group="builds")
    assert (await Incarnation.register(database, again)).id > 0
    assert group
