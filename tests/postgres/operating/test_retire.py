"""Scale-down: who is chosen, in which order, and that nobody who works ever is."""

import pytest

from paceline.claims import Incarnation
from paceline.database import Database
from paceline.job import NewJob
from paceline.operating import Operating
from paceline.queue import Queue
from postgres.operating.crew import INSTALL, Join, idle_for, taint

ORDER = ["z-drain", "y-no-claim", "x-old", "w-unready", "v-never", "u-long", "s-short", "t-short", "r-unknown"]
UNREADY = ["z-drain", "w-unready", "v-never"]


async def crew(database: Database, join: Join) -> None:
    """One for each rank, and those whom nobody may choose."""
    drain, no_claim = await join("z-drain"), await join("y-no-claim")
    await taint(database, drain.runner, "Drain", "NoLead")
    await taint(database, no_claim.runner, "NoClaim")
    await idle_for(database, await join("x-old", revision="old"), 1)
    await idle_for(database, await join("w-unready"), 1)
    await idle_for(database, await join("u-long"), 1000)
    for name in ("s-short", "t-short"):
        await join(name)
    await database.value("UPDATE paceline.incarnation SET idle_since = now() WHERE hostname LIKE '%-short'")
    unknown = await join("r-unknown")
    await database.value("UPDATE paceline.incarnation SET idle_since = NULL WHERE id = $1", unknown.id)
    await idle_for(database, await join("laptop", external=True, revision="old"), 5000)


async def test_the_least_useful_go_first(database: Database, operating: Operating, group: int, join: Join) -> None:
    await crew(database, join)
    chosen = []
    for _ in ORDER:
        chosen += await operating.retire(group, 1, unready=UNREADY, revision="new")
    assert chosen == ORDER
    assert await operating.retire(group, 1, unready=UNREADY, revision="new") == []


async def test_several_at_once_come_in_the_same_order_and_no_more_than_asked(
    database: Database, operating: Operating, group: int, join: Join
) -> None:
    await crew(database, join)
    assert await operating.retire(group, 0, unready=UNREADY, revision="new") == []
    assert await operating.retire(group, -1, unready=UNREADY, revision="new") == []
    assert await operating.retire(group, 4, unready=UNREADY, revision="new") == ORDER[:4]
    assert await operating.retire(group, 99, unready=UNREADY, revision="new") == ORDER[4:]


async def test_whoever_is_chosen_claims_nothing_and_is_seen_as_retiring(
    queue: Queue, operating: Operating, group: int, join: Join
) -> None:
    await queue.enqueue("mail")
    runner = await join()
    assert await operating.retire(group, 1, revision="new") == ["r1"]
    step = await runner.step(1)
    assert (step.verdict, step.jobs) == ("draining", ())
    beat = await runner.heartbeat()
    assert (beat.verdict, beat.leave) == ("draining", False)
    (seen,) = await operating.look_at_group(group)
    assert (seen.retiring, seen.state) == (True, "draining")


async def test_a_runner_that_holds_a_job_is_never_chosen(
    queue: Queue, operating: Operating, group: int, join: Join
) -> None:
    await queue.enqueue("mail")
    busy, idle = await join("busy", revision="old"), await join("idle")
    assert len((await busy.step(1)).jobs) == 1
    await taint(queue.database, busy.runner, "NoClaim")
    assert await operating.retire(group, 2, unready=["busy"], revision="new") == ["idle"]
    assert (await busy.heartbeat()).verdict == "ok"
    assert (await idle.heartbeat()).verdict == "draining"


async def test_a_runner_whose_predecessor_still_works_is_busy(
    queue: Queue, operating: Operating, group: int, join: Join
) -> None:
    await queue.enqueue("mail")
    before = await join()
    assert len((await before.step(1)).jobs) == 1
    await before.drain()
    after = await join()
    assert await operating.retire(group, 1, revision="new") == []
    assert (await after.heartbeat()).verdict == "ok"


async def test_whatever_registers_in_the_name_of_a_retiring_runner_drains(
    operating: Operating, group: int, join: Join
) -> None:
    await join()
    assert await operating.retire(group, 2, unready=["never"], revision="new") == ["never", "r1"]
    assert (await join("r1")).draining
    assert (await join("never")).draining
    assert not (await join("another")).draining
    (seen,) = [each for each in await operating.look_at_group(group) if each.runner == "never"]
    assert (seen.external, seen.retiring) == (False, True)


async def test_who_is_not_registered_or_drains_already_is_chosen_only_by_name(
    operating: Operating, group: int, join: Join
) -> None:
    gone, leaving = await join("gone"), await join("leaving")
    await gone.deregister()
    await leaving.drain()
    assert await operating.retire(group, 9, revision="new") == []
    assert await operating.retire(group, 9, unready=["gone", "leaving"], revision="new") == ["leaving", "gone"]


async def test_names_of_other_groups_and_of_runners_outside_are_left_alone(
    database: Database, operating: Operating, group: int, leaders: int, join: Join
) -> None:
    await join("theirs", group="leaders")
    await join("laptop", external=True)
    assert await operating.retire(group, 9, unready=["theirs", "laptop"], revision="new") == []
    assert await database.value("SELECT count(*) FROM paceline.runner WHERE retiring") == 0
    assert [each.runner for each in await operating.look_at_group(leaders)] == ["theirs"]


async def leader_of(database: Database, group: int) -> str | None:
    name: str | None = await database.value(
        "SELECT r.name FROM paceline.leader l JOIN paceline.runner r ON r.id = l.runner"
        " WHERE l.grp = $1 AND l.incarnation IS NOT NULL",
        group,
    )
    return name


async def test_the_leader_goes_last_and_its_successor_leads_with_the_same_commit(
    database: Database, operating: Operating, leaders: int, join: Join
) -> None:
    await Queue(database, "leaders").enqueue("mail")
    first, second = await join("a", group="leaders", revision="old"), await join("b", group="leaders")
    await join("c", group="leaders")
    assert await leader_of(database, leaders) == "a"
    assert await operating.retire(leaders, 1, revision="new") == ["b"]
    assert await leader_of(database, leaders) == "a"
    assert await operating.retire(leaders, 2, revision="new") == ["c", "a"]
    assert await leader_of(database, leaders) is None
    later = await join("d", group="leaders")
    assert await leader_of(database, leaders) == "d"
    verdicts = [(await each.step(1)).verdict for each in (first, second, later)]
    assert verdicts == ["draining", "draining", "ok"]


async def test_a_chosen_leader_hands_over_at_once(
    database: Database, operating: Operating, leaders: int, join: Join
) -> None:
    """The others are busy with what they held before."""
    lead = Queue(database, "leaders")
    await lead.enqueue("mail")
    first, second = await join("a", group="leaders"), await join("b", group="leaders")
    await database.value("SELECT paceline.promote($1, $2)", leaders, second.runner)
    assert len((await second.step(1)).jobs) == 1
    await database.value("SELECT paceline.promote($1, $2)", leaders, first.runner)
    assert await operating.retire(leaders, 9, revision="new") == ["a"]
    assert await leader_of(database, leaders) == "b"


@pytest.mark.parametrize("revision", ["7", None])
async def test_a_group_without_revisions_has_no_old_ones(
    operating: Operating, group: int, join: Join, revision: str | None
) -> None:
    names = ["a", "b"]
    runners: list[Incarnation] = [await join(name, revision=revision) for name in names]
    assert len(runners) == 2
    assert await operating.retire(group, 2, revision=revision) == names


async def test_an_empty_group_gives_nobody(operating: Operating, group: int, queue: Queue) -> None:
    await operating.put_group(install=INSTALL, namespace="ci", name="other", pool="other")
    await queue.enqueue_many([NewJob(kind="mail")])
    assert await operating.retire(group, 5, revision="new") == []
