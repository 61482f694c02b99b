"""Promise 8: once a drain or a taint has committed, its runner claims nothing that it must not."""

from datetime import timedelta

import pytest

from paceline.claims import Finished
from paceline.job import NewJob
from paceline.queue import Queue
from support.pg import STEP, Connect, Register, behind

TAKE_AWAY = {
    "drain": "SELECT paceline.drain($1)",
    "taint": "SELECT paceline.taint_runner((SELECT runner FROM paceline.incarnation WHERE id = $1), "
    "'annotation', '{maint}', '{\"\"}', '{NoClaim}')",
    "drain taint": "SELECT paceline.taint_runner((SELECT runner FROM paceline.incarnation WHERE id = $1), "
    "'annotation', '{maint}', '{\"\"}', '{Drain}')",
    "taint on the group": "SELECT paceline.taint_group((SELECT r.grp FROM paceline.incarnation i "
    "JOIN paceline.runner r ON r.id = i.runner WHERE i.id = $1), 'annotation', '{maint}', '{\"\"}', '{NoClaim}')",
    "fence": "SELECT paceline.fence_incarnation($1, 'Error')",
}
HELD = "SELECT array_agg(id ORDER BY id) FROM paceline.job WHERE incarnation = $1 AND state = 'x'"


@pytest.mark.parametrize("way", TAKE_AWAY)
async def test_whoever_takes_away_waits_for_a_claim_in_flight_and_sees_it(
    queue: Queue, register: Register, connect: Connect, way: str
) -> None:
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(4)])
    runner = await register(external=False)
    claiming, taking, watcher = await connect(), await connect(), await connect()
    await claiming.execute("BEGIN")
    assert [tuple(row) for row in await claiming.fetch(STEP, runner.id, 2)] == [("ok", [1, 2])]

    answer = await behind(claiming, watcher, taking, TAKE_AWAY[way], runner.id)

    if way in ("drain", "fence"):
        assert answer[0][0] == 2, "it must have seen both jobs"
    held = await queue.database.value(HELD, runner.id)
    assert held == (None if way == "fence" else [1, 2])
    assert not (await runner.step(2)).jobs


@pytest.mark.parametrize("way", TAKE_AWAY)
async def test_a_claim_that_waited_for_it_takes_nothing(
    queue: Queue, register: Register, connect: Connect, way: str
) -> None:
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(4)])
    runner = await register(external=False)
    taking, claiming, watcher = await connect(), await connect(), await connect()
    await taking.execute("BEGIN")
    await taking.fetch(TAKE_AWAY[way], runner.id)

    rows = await behind(taking, watcher, claiming, STEP, runner.id, 2)

    assert [row["ids"] for row in rows] == [None]
    assert await queue.database.value(HELD, runner.id) is None


async def test_a_heartbeat_does_not_wait_for_a_claim(queue: Queue, register: Register, connect: Connect) -> None:
    await queue.enqueue("mail")
    runner = await register()
    claiming = await connect()
    await claiming.execute("BEGIN")
    await claiming.fetch(STEP, runner.id, 1)
    other = await connect()
    await other.execute("SET lock_timeout = '2s'")
    row = await other.fetchrow("SELECT verdict FROM paceline.heartbeat($1)", runner.id)
    assert row is not None
    assert row["verdict"] == "ok"


async def test_a_draining_runner_may_still_finish(queue: Queue, register: Register) -> None:
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(2)])
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    assert await runner.drain() == 1
    step = await runner.step(1, [Finished(job)])
    assert (step.verdict, step.jobs, step.refused) == ("draining", (), frozenset())
    assert (await runner.heartbeat()).verdict == "draining"
    assert await runner.drain() == 0


TAINTS = "SELECT paceline.taint_runner($1, $2, $3, $4, $5)"


@pytest.mark.parametrize(
    ("tolerations", "comes"),
    [
        ((), False),
        (("gpu=bad:NoClaim",), True),
        (("gpu=bad",), True),
        (("gpu:NoClaim",), True),
        (("gpu",), True),
        (("*",), True),
        (("gpu=good",), False),
        (("gpu:Drain",), False),
        (("other",), False),
    ],
)
async def test_a_tainted_runner_claims_only_what_tolerates_it(
    queue: Queue, register: Register, tolerations: tuple[str, ...], comes: bool
) -> None:
    await queue.enqueue(NewJob(kind="mail", tolerations=tolerations))
    runner = await register()
    await queue.database.value(TAINTS, runner.runner, "annotation", ["gpu"], ["bad"], ["NoClaim"])
    assert bool((await runner.step(1)).jobs) is comes


async def test_taints_of_one_source_do_not_touch_those_of_another(queue: Queue, register: Register) -> None:
    await queue.enqueue("mail")
    runner = await register()
    await queue.database.value(TAINTS, runner.runner, "annotation", ["a"], [""], ["NoClaim"])
    await queue.database.value(TAINTS, runner.runner, "cli", ["a"], [""], ["NoClaim"])
    await queue.database.value(TAINTS, runner.runner, "annotation", [], [], [])
    assert not (await runner.step(1)).jobs
    await queue.database.value(TAINTS, runner.runner, "cli", [], [], [])
    assert len((await runner.step(1)).jobs) == 1


async def test_taints_survive_a_restart_of_the_runner(queue: Queue, register: Register) -> None:
    await queue.enqueue("mail")
    before = await register("same")
    await queue.database.value(TAINTS, before.runner, "annotation", ["a"], [""], ["NoClaim"])
    after = await register("same")
    assert after.runner == before.runner
    assert not (await after.step(1)).jobs


async def test_a_runner_that_registers_under_a_drain_taint_is_draining(queue: Queue, register: Register) -> None:
    before = await register("same")
    await queue.database.value(TAINTS, before.runner, "annotation", ["a"], [""], ["Drain"])
    after = await register("same")
    assert after.draining
    assert (await after.step(1)).verdict == "draining"


async def test_prefer_no_claim_leaves_a_job_to_others_until_it_is_five_seconds_old(
    queue: Queue, register: Register
) -> None:
    young, old = await queue.enqueue("mail"), await queue.enqueue("mail")
    aged = "UPDATE paceline.job SET ready_at = ready_at - $2::interval WHERE id = $1"
    await queue.database.value(aged, old.id, timedelta(seconds=6))
    await queue.database.value(aged, young.id, timedelta(minutes=-1))
    await queue.database.value("UPDATE paceline.job SET seq = 0 WHERE id = $1", old.id)
    runner = await register()
    await queue.database.value(TAINTS, runner.runner, "annotation", ["a"], [""], ["PreferNoClaim"])
    assert [job.id for job in (await runner.step(9)).jobs] == [old.id]
    other = await register("other")
    assert [job.id for job in (await other.step(9)).jobs] == [young.id]


async def test_a_paused_pool_gives_out_nothing_and_takes_acks(queue: Queue, register: Register) -> None:
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(2)])
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    await queue.pause()
    step = await runner.step(1, [Finished(job)])
    assert (step.verdict, step.jobs, step.refused) == ("paused", (), frozenset())
    await queue.resume()
    assert len((await runner.step(1)).jobs) == 1
