"""What scaling asks of the database, and what it keeps there."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from paceline.claims import Finished
from paceline.cron import Cron, CronEntry
from paceline.database import Database
from paceline.errors import NotAllowedError, NotFoundError, NotInOfficeError
from paceline.job import NewJob
from paceline.operating import ASLEEP, GroupObserved, Office, Operating
from paceline.queue import Queue
from paceline.reading import Reader
from paceline.scaling import DecisionSeen, ScalingKept
from postgres.operating.crew import INSTALL, Join, taint
from support.pg import Connect, Login


async def surveyed(operating: Operating) -> dict[str, GroupObserved]:
    return {each.name: each for each in await operating.observe(INSTALL)}


async def other(operating: Operating, name: str, weight: int, *tags: str) -> None:
    """One more group on the pool `builds`."""
    made = await operating.put_group(install=INSTALL, namespace="ci", name=name, pool="builds", tags=tags)
    await operating.put_scaling(made, weight)


async def test_a_group_alone_has_all_that_it_could_claim(queue: Queue, operating: Operating, group: int) -> None:
    await queue.enqueue_many([NewJob(kind="mail")] * 5)
    found = (await surveyed(operating))["builds"]
    assert (found.id, found.ready, found.share) == (group, 5, 5)
    assert (found.tainted, found.tainted_running, found.tolerating) == (0, 0, 0)


async def test_groups_of_one_pool_split_each_lane_by_weight_to_the_last_job(
    queue: Queue, operating: Operating, group: int
) -> None:
    await operating.put_scaling(group, 30)
    await other(operating, "more", 10)
    await queue.enqueue_many([NewJob(kind="mail")] * 9 + [NewJob(kind="post")] * 2)
    found = await surveyed(operating)
    assert found["builds"].ready == found["more"].ready == 11
    assert found["builds"].share + found["more"].share == 11
    assert found["builds"].share == 9 * 30 // 40 + 2 * 30 // 40


async def test_what_one_group_alone_could_claim_is_not_split(queue: Queue, operating: Operating, group: int) -> None:
    await operating.put_scaling(group, 1)
    await other(operating, "gpus", 1, "gpu")
    await queue.enqueue_many([NewJob(kind="mail", tags=("gpu",))] * 7 + [NewJob(kind="mail")] * 4)
    found = await surveyed(operating)
    assert (found["builds"].share, found["gpus"].share) == (2, 9)


async def test_a_group_of_no_weight_leaves_all_to_the_others(queue: Queue, operating: Operating, group: int) -> None:
    await operating.put_scaling(group, 3)
    await other(operating, "off", 0)
    await queue.enqueue_many([NewJob(kind="mail")] * 5)
    found = await surveyed(operating)
    assert (found["builds"].share, found["off"].share) == (5, 0)
    await operating.put_scaling(group, 0)
    found = await surveyed(operating)
    assert (found["builds"].share, found["off"].share) == (0, 0), "and nobody divides by it"


async def test_tainted_runners_are_told_with_what_they_hold_and_could_claim(
    queue: Queue, operating: Operating, join: Join, group: int
) -> None:
    runner, _ = await join("r1"), await join("r2")
    await queue.enqueue("mail")
    assert len((await runner.step(1)).jobs) == 1
    await taint(queue.database, runner.runner, "NoClaim")
    await queue.enqueue_many([NewJob(kind="mail")] * 4 + [NewJob(kind="mail", tolerations=("dev",))] * 3)
    found = (await surveyed(operating))["builds"]
    assert (found.id, found.share, found.running) == (group, 7, 1)
    assert (found.tainted, found.tainted_running, found.tolerating) == (1, 1, 1), "one slot is free, three could come"
    await taint(queue.database, runner.runner)
    assert (await surveyed(operating))["builds"].tainted == 0


async def test_other_taints_and_runners_outside_the_cluster_are_no_matter(
    queue: Queue, operating: Operating, join: Join, group: int
) -> None:
    inside, outside = await join("r1"), await join("laptop", external=True)
    await taint(queue.database, inside.runner, "NoLead", "PreferNoClaim")
    await taint(queue.database, outside.runner, "NoClaim")
    found = (await surveyed(operating))["builds"]
    assert (found.id, found.tainted) == (group, 0)


async def test_a_group_that_sleeps_is_woken_by_the_next_job(
    queue: Queue, operating: Operating, group: int, connect: Connect
) -> None:
    listening, heard = await connect(), list[str]()
    await listening.add_listener(ASLEEP, lambda *words: heard.append(words[2]))
    await queue.enqueue("mail")
    await listening.execute("SELECT 1")
    assert heard == [], "nobody has asked for it"
    await operating.observe(INSTALL, [group])
    await queue.enqueue("mail")
    await listening.execute("SELECT 1")
    assert heard == [ASLEEP]
    await queue.database.value("UPDATE paceline.waiter SET asleep = asleep - interval '61 seconds'")
    await queue.enqueue("mail")
    await listening.execute("SELECT 1")
    assert heard == [ASLEEP], "nobody has asked for more"


async def test_jobs_of_runners_outside_and_of_those_that_leave_are_told_apart(
    queue: Queue, operating: Operating, group: int, join: Join
) -> None:
    here, leaving, laptop = await join("r1"), await join("r2"), await join("laptop", external=True)
    await queue.enqueue_many([NewJob(kind="mail")] * 4)
    for runner, count in ((here, 1), (leaving, 2), (laptop, 1)):
        assert len((await runner.step(count)).jobs) == count
    await leaving.drain()
    found = (await surveyed(operating))["builds"]
    assert (found.id, found.running, found.elsewhere) == (group, 4, 3)


async def test_what_is_remembered_and_decided_outlives_its_operator(database: Database, group: int) -> None:
    reader = Reader(database)
    first = Operating(database, Office(INSTALL, "a"))
    assert await first.put_scaling(group, 5) == {}
    older = DecisionSeen(
        at=datetime.now(UTC) - timedelta(minutes=5), was=0, replicas=3, reason="DesiredWithinRange", limited_by=None,
        inputs={"ready": 11, "rate": 0.5}, proposals=[{"rule": "demand", "replicas": 3, "text": "11 jobs"}],
    )  # fmt: skip
    newer = replace(older, at=datetime.now(UTC), was=3, replicas=5, limited_by="maxReplicas")
    state = {"recommended": [[1, 2, 3]]}
    await first.keep_scaling([ScalingKept(grp=group, state=state, decisions=[older, newer])])
    assert await Operating(database, Office(INSTALL, "b")).put_scaling(group, 7) == state
    assert await reader.list_decisions(group) == [newer, older]
    assert await reader.list_decisions(group, most=1) == [newer]
    assert await reader.list_decisions(group, since=timedelta(minutes=1)) == [newer]
    assert await reader.list_decisions(group + 1) == []


async def test_decisions_go_after_a_week_and_with_their_group(
    database: Database, operating: Operating, group: int
) -> None:
    await operating.put_scaling(group, 1)
    one = DecisionSeen(
        at=datetime.now(UTC) - timedelta(days=8),
        was=0,
        replicas=1,
        reason="x",
        limited_by=None,
        inputs={},
        proposals=[],
    )
    fresh = replace(one, at=datetime.now(UTC))
    await operating.keep_scaling([ScalingKept(grp=group, state={}, decisions=[one, fresh])])
    assert await Reader(database).list_decisions(group, since=timedelta(days=30)) == [fresh]
    await operating.keep_scaling([ScalingKept(grp=group + 1000, state={}, decisions=[fresh])])
    await operating.delete_group(group)
    left = "SELECT (SELECT count(*) FROM paceline.scaling) + (SELECT count(*) FROM paceline.decision)"
    assert await database.value(left) == 0
    with pytest.raises(NotFoundError):
        await operating.put_scaling(group, 1)


async def test_scaling_is_the_business_of_the_pools_operator(
    login: Login, database: Database, operating: Operating, group: int
) -> None:
    await operating.put_scaling(group, 1)
    stranger = Operating(await login("operator", "mail"))
    with pytest.raises(NotAllowedError):
        await stranger.put_scaling(group, 9)
    decided = DecisionSeen(
        at=datetime.now(UTC), was=0, replicas=1, reason="x", limited_by=None, inputs={}, proposals=[]
    )
    await stranger.keep_scaling([ScalingKept(grp=group, state={"a": 1}, decisions=[decided])])
    assert await operating.put_scaling(group, 1) == {}
    assert not await database.value("SELECT count(*) FROM paceline.decision")
    await operating.keep_scaling([ScalingKept(grp=group, state={}, decisions=[decided])])
    reading = Reader(await login("reader", "mail"))
    assert await reading.list_decisions(group, since=timedelta(days=9999)) == []


async def test_an_operator_whose_term_is_over_keeps_nothing(database: Database, group: int) -> None:
    late = Operating(database, Office(INSTALL, "late"))
    await late.put_scaling(group, 1)
    await Operating(database, Office(INSTALL, "next")).put_scaling(group, 1)
    with pytest.raises(NotInOfficeError, match="another operator"):
        await late.keep_scaling([ScalingKept(grp=group, state={"a": 1})])
    assert await database.value("SELECT state = '{}' FROM paceline.scaling")


async def test_a_hundred_lanes_shared_by_ten_groups_are_surveyed_in_one_call(
    queue: Queue, operating: Operating, group: int
) -> None:
    await operating.put_scaling(group, 1)
    for number in range(9):
        await other(operating, f"g{number}", 1 + number)
    await queue.enqueue_many([NewJob(kind=f"k{number}") for number in range(100) for _ in range(3)])
    found = await surveyed(operating)
    assert sum(each.share for each in found.values()) == 300


async def test_groups_are_found_by_their_names_and_by_whom_may_read_them(
    database: Database, operating: Operating, group: int, leaders: int, login: Login
) -> None:
    reader = Reader(database)
    assert [each.id for each in await reader.find_groups("builds")] == [group]
    assert [each.full_name for each in await reader.find_groups("ci/leaders", INSTALL)] == ["ci/leaders"]
    assert await reader.find_groups("builds", "another") == []
    assert len(await reader.find_groups()) == 2
    assert [each.id for each in await Reader(await login("reader", "leaders")).find_groups()] == [leaders]


async def test_arrivals_are_read_from_the_history(
    database: Database, queue: Queue, join: Join, group: int, login: Login
) -> None:
    runner = await join()
    await queue.enqueue_many([NewJob(kind="mail")] * 3)
    jobs = (await runner.step(2)).jobs
    await runner.step(0, [Finished(each) for each in jobs])
    since, until = datetime.now(UTC) - timedelta(minutes=5), datetime.now(UTC) + timedelta(minutes=5)
    found = await Reader(database).list_arrivals("builds", since, until, 10)
    assert len(found) == 2, "the third has not been done"
    assert all(since < moment < until and 0 <= seconds < 300 for moment, seconds in found)
    assert found == sorted(found)
    assert len(await Reader(database).list_arrivals("builds", since, until, 1)) == 1
    assert await Reader(database).list_arrivals("builds", until, until, 10) == []
    with pytest.raises(NotAllowedError):
        await Reader(await login("reader", "mail")).list_arrivals("builds", since, until, 10)
    assert group


async def test_a_cron_entry_that_is_due_is_told_and_fired(
    database: Database, queue: Queue, operating: Operating, group: int
) -> None:
    await Cron(database, "builds").put(CronEntry(name="nightly", schedule="0 3 * * *", job=NewJob(kind="mail")))
    assert not (await surveyed(operating))["builds"].cron_due
    await database.value("UPDATE paceline.cron SET next_at = clock_timestamp() - interval '1 second'")
    found = (await surveyed(operating))["builds"]
    assert (found.id, found.cron_due, found.ready) == (group, True, 0)
    await operating.fire_cron()
    found = (await surveyed(operating))["builds"]
    assert (found.cron_due, found.ready) == (False, 1)
    assert queue.pool == "builds"


async def test_two_groups_of_one_pool_sleep_at_once(operating: Operating, group: int) -> None:
    other_one = await operating.put_group(install=INSTALL, namespace="ci", name="more", pool="builds")
    await operating.observe(INSTALL, [group, other_one])
    assert len(await operating.observe(INSTALL, [other_one, group])) == 2
