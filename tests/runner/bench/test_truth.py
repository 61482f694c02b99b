"""What a soak says of jobs at its end, on a real queue."""

from paceline import Queue
from paceline_bench.soak import truth


async def test_a_job_is_lost_where_it_is_nowhere_and_doubled_where_it_is_in_two_places(queue: Queue) -> None:
    told = {(await queue.enqueue("mail")).id for _ in range(3)}
    assert await truth.of(queue.database, told) == {"lost": 0, "twice": 0, "dead": 0, "interrupted": 0}
    first = min(told)
    await queue.cancel(first)
    assert (await truth.of(queue.database, told))["lost"] == 0, "it is in the history"
    await queue.database.value("DELETE FROM paceline.job WHERE id = $1", max(told))
    assert (await truth.of(queue.database, told))["lost"] == 1
    await queue.database.value(
        "INSERT INTO paceline.history_late SELECT * FROM paceline.history WHERE id = $1", first
    )  # fmt: skip
    assert (await truth.of(queue.database, told))["twice"] == 1


async def test_an_attempt_that_was_lost_or_handed_back_was_interrupted_and_a_failed_one_was_not(
    queue: Queue,
) -> None:
    await queue.enqueue("mail")
    for outcome in "lhfd":
        await queue.database.value(
            "INSERT INTO paceline.attempt_late (job, fence, outcome, started_at, ended_at)"
            " SELECT id, 1, $1::text::\"char\", now(), now() FROM paceline.job", outcome
        )  # fmt: skip
    assert (await truth.of(queue.database, ()))["interrupted"] == 2
