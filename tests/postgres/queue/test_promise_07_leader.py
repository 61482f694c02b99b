"""Promise 7: in a Leader pool no claim of an old leader commits after the new leader's epoch."""

import asyncio

import pytest

from paceline.claims import Incarnation
from paceline.queue import Queue
from support.pg import STEP, Connect, Expire, Register, Tick, behind, waits_for_a_lock

LEADER = """
SELECT r.name, l.epoch FROM paceline.leader l LEFT JOIN paceline.runner r ON r.id = l.runner
 WHERE l.incarnation IS NOT NULL OR l.runner IS NULL"""
DUE = "UPDATE paceline.tick SET next_at = '-infinity'"
NOT_DUE = "UPDATE paceline.tick SET next_at = 'infinity'"
NOT_LEADING = """
SELECT count(*) FROM paceline.job j JOIN paceline.incarnation i ON i.id = j.incarnation
 WHERE i.state <> 'a' OR i.id IS DISTINCT FROM (SELECT l.incarnation FROM paceline.leader l)"""
OLDER = "UPDATE paceline.incarnation SET registered_at = registered_at - interval '31 seconds' WHERE id = $1"


@pytest.fixture
async def group(queue: Queue) -> int:
    number: int = await queue.database.value(
        "SELECT paceline.put_group('', 'ci', 'leaders', 'builds', p_leader => true)"
    )
    return number


async def _leader(queue: Queue) -> tuple[str | None, int]:
    row = (await queue.database.rows(LEADER))[0]
    return row["name"], row["epoch"]


async def _taint(queue: Queue, runner: Incarnation, *effects: str) -> None:
    await queue.database.value(
        "SELECT paceline.taint_runner($1, 'annotation', $2, $3, $4)",
        runner.runner, ["dev"] * len(effects), [""] * len(effects), list(effects),
    )  # fmt: skip


@pytest.mark.usefixtures("group")
async def test_only_the_oldest_runner_claims_and_the_others_stand_by(queue: Queue, register: Register) -> None:
    await queue.enqueue("mail")
    first, second = await register("z", group="leaders"), await register("a", group="leaders")
    await queue.database.value(NOT_DUE)  # the tick looks at leaders too
    assert (await second.step(1)).verdict == "standby"
    step = await first.step(1)
    assert (step.verdict, len(step.jobs)) == ("ok", 1)


async def test_the_old_leaders_open_claim_is_over_before_the_new_one_leads(
    queue: Queue, register: Register, connect: Connect, group: int
) -> None:
    await queue.enqueue("mail")
    old, new = await register("old", group="leaders"), await register("new", group="leaders")
    claiming, promoting, watcher = await connect(), await connect(), await connect()
    await claiming.execute("BEGIN")
    assert [tuple(row) for row in await claiming.fetch(STEP, old.id, 1)] == [("ok", [1])]

    await behind(claiming, watcher, promoting, "SELECT paceline.promote($1, $2)", group, new.runner)

    assert await _leader(queue) == ("new", 2)
    assert (await old.step(1)).verdict == "standby"
    assert (await new.step(1)).verdict == "ok"


async def test_a_claim_that_waited_for_the_hand_over_takes_nothing(
    queue: Queue, register: Register, connect: Connect, group: int
) -> None:
    await queue.enqueue("mail")
    old, new = await register("old", group="leaders"), await register("new", group="leaders")
    promoting, claiming, watcher = await connect(), await connect(), await connect()
    await promoting.execute("BEGIN")
    await promoting.fetch("SELECT paceline.promote($1, $2)", group, new.runner)

    rows = await behind(promoting, watcher, claiming, STEP, old.id, 1)

    assert [tuple(row) for row in rows] == [("standby", None)]


@pytest.mark.usefixtures("group")
async def test_a_dead_leader_is_replaced_within_a_tick_and_nobody_healthy_means_no_leader(
    queue: Queue, register: Register, expire_lease: Expire, tick: Tick
) -> None:
    first, second = await register("first", group="leaders"), await register("second", group="leaders")
    assert await _leader(queue) == ("first", 1)
    await expire_lease(first)
    await tick()
    assert await _leader(queue) == ("second", 2)
    await expire_lease(second)
    await tick()
    assert await _leader(queue) == (None, 3)


@pytest.mark.usefixtures("group")
async def test_an_older_runner_that_comes_back_takes_over_only_after_thirty_seconds(
    queue: Queue, register: Register, expire_lease: Expire, tick: Tick
) -> None:
    first = await register("first", group="leaders")
    await register("second", group="leaders")
    await expire_lease(first)
    await tick()
    assert (await _leader(queue))[0] == "second"
    back = await register("first", group="leaders")
    await tick()
    assert (await _leader(queue))[0] == "second"
    await queue.database.value(OLDER, back.id)
    await tick()
    assert (await _leader(queue))[0] == "first"


@pytest.mark.usefixtures("group")
@pytest.mark.parametrize("effect", ["NoLead", "NoClaim", "Drain"])
async def test_a_taint_takes_the_lead_away_at_once_and_its_removal_gives_it_back(
    queue: Queue, register: Register, effect: str
) -> None:
    first = await register("first", group="leaders")
    await register("second", group="leaders")
    await queue.database.value(OLDER, first.id)
    await _taint(queue, first, effect)
    assert (await _leader(queue))[0] == "second"
    await _taint(queue, first)
    assert (await _leader(queue))[0] == ("second" if effect == "Drain" else "first")


async def test_a_promotion_holds_while_its_runner_is_eligible_and_no_longer(
    queue: Queue, register: Register, group: int
) -> None:
    await register("first", group="leaders")
    second = await register("second", group="leaders")
    await queue.database.value("SELECT paceline.promote($1, $2)", group, second.runner)
    assert (await _leader(queue))[0] == "second"
    await _taint(queue, second, "NoLead")
    assert (await _leader(queue))[0] == "first"
    await _taint(queue, second)
    assert (await _leader(queue))[0] == "first", "it is over, not only suspended"
    await queue.database.value("SELECT paceline.promote($1, $2)", group, second.runner)
    assert (await _leader(queue))[0] == "second"
    await queue.database.value("SELECT paceline.promote($1, NULL)", group)
    assert (await _leader(queue))[0] == "second", "a younger leader stays until an older one was active for 30 s"


async def test_one_that_cannot_lead_now_does_not_lead_later_by_a_promotion(
    queue: Queue, register: Register, group: int
) -> None:
    await register("first", group="leaders")
    second = await register("second", group="leaders")
    await _taint(queue, second, "NoLead")
    await queue.database.value("SELECT paceline.promote($1, $2)", group, second.runner)
    await _taint(queue, second)
    assert (await _leader(queue))[0] == "first"


@pytest.mark.usefixtures("group")
async def test_a_runner_of_no_group_does_not_claim_from_a_leader_pool(queue: Queue, register: Register) -> None:
    await queue.enqueue("mail")
    stranger = await register("stranger")
    step = await stranger.step(1)
    assert (step.verdict, step.jobs) == ("standby", ())


@pytest.mark.usefixtures("group")
async def test_taints_of_the_group_do_not_hold_for_a_runner_outside_the_cluster(
    queue: Queue, register: Register, group: int
) -> None:
    """The laptop: the cluster's runners may not lead, the one on the desk does."""
    await register("pod", group="leaders", external=False)
    await register("laptop", group="leaders", external=True)
    taint = "SELECT paceline.taint_group($1, 'annotation', $2, $3, $4)"
    await queue.database.value(taint, group, ["dev"], [""], ["NoLead"])
    assert (await _leader(queue))[0] == "laptop"
    later = await register("pod-2", group="leaders", external=False)
    assert (await later.step(1)).verdict == "standby"


@pytest.mark.usefixtures("group")
async def test_a_leader_whose_own_housekeeping_elects_another_claims_nothing(
    queue: Queue, register: Register, expire_lease: Expire, tick: Tick
) -> None:
    await queue.enqueue("mail")
    first, second = await register("first", group="leaders"), await register("second", group="leaders")
    await expire_lease(first)
    await tick()
    back = await register("first", group="leaders")
    await queue.database.value(OLDER, back.id)
    await queue.database.value(DUE)

    step = await second.step(1)

    assert await _leader(queue) == ("first", 3)
    assert (step.verdict, step.jobs) == ("standby", ())
    assert await queue.database.value(NOT_LEADING) == 0


@pytest.mark.usefixtures("group")
async def test_a_runner_whose_own_housekeeping_finds_its_lease_at_an_end_claims_nothing(
    queue: Queue, register: Register, connect: Connect, expire_lease: Expire
) -> None:
    """It would hold a job that nobody looks for: the lease is over, and is not looked at again."""
    await queue.enqueue("mail")
    runner = await register("only", group="leaders")
    holding, claiming, watcher = await connect(), await connect(), await connect()
    await queue.database.value(DUE)
    await holding.execute("BEGIN")
    await holding.execute("SELECT FROM paceline.leader FOR UPDATE")
    step = asyncio.create_task(claiming.fetch(STEP, runner.id, 1))
    await waits_for_a_lock(watcher, claiming.get_server_pid())
    await expire_lease(runner)
    await holding.execute("COMMIT")

    assert [tuple(row) for row in await step] == [("fenced", None)]
    assert await queue.database.value(NOT_LEADING) == 0
