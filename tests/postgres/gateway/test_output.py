"""What a run says while it goes on, and where that is kept; and what runners are told."""

from paceline.database import Database
from paceline.dialled import Dialling
from paceline.job import OUTPUT_LIMIT, NewJob
from paceline.queue import Queue
from paceline.reading import Reader
from postgres.gateway.dialling import beat, by, dial, take, token_of

TAINT = """\
SELECT paceline.taint_runner((SELECT runner FROM paceline.incarnation WHERE id = $1), 'cli', '{x}', '{""}', $2)"""


async def test_output_is_seen_while_it_runs_and_kept_when_it_is_done(database: Database, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    runner = await dial(database)
    (job,) = await take(database, runner)
    dialling, reader, me = Dialling(database), Reader(database), runner.incarnation
    for text in ("one\n", "", "two\n"):
        assert await dialling.log(me, job.id, job.fence, text)
    (running,) = await reader.job_attempts(made.id)
    assert (running.outcome, running.runner, running.output) == ("running", "laptop", "one\ntwo\n")
    assert running.ended_at is None
    assert await dialling.complete(me, job.id, job.fence, None, None)
    (done,) = await reader.job_attempts(made.id)
    assert (done.outcome, done.output) == ("done", "one\ntwo\n")
    assert await database.value("SELECT count(*) FROM paceline.live_output") == 0


async def test_an_output_of_the_attempt_itself_comes_first(database: Database, queue: Queue) -> None:
    made = await queue.enqueue_many([NewJob(kind="mail") for _ in range(2)])
    runner = await dial(database)
    dialling, me = Dialling(database), runner.incarnation
    one, two = await take(database, runner, 2)
    for job in (one, two):
        await dialling.log(me, job.id, job.fence, "half")
    assert await dialling.complete(me, one.id, one.fence, None, "all of it")
    assert await dialling.fail(me, two.id, two.fence, "bad", None, output="all of it")
    for each in made:
        (attempt,) = await Reader(database).job_attempts(each.id)
        assert attempt.output == "all of it"


async def test_the_last_64_ki_stay_and_no_more_is_stored(database: Database, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    runner = await dial(database)
    (job,) = await take(database, runner)
    dialling, me = Dialling(database), runner.incarnation
    for letter in "abcd":
        await dialling.log(me, job.id, job.fence, letter * 30_000)
    (running,) = await Reader(database).job_attempts(made.id)
    assert running.output == ("b" * 30_000 + "c" * 30_000 + "d" * 30_000)[-OUTPUT_LIMIT:]
    assert await database.value("SELECT count(*) FROM paceline.live_output") == 3
    await dialling.log(me, job.id, job.fence, "e" * 100_000)
    assert await database.value("SELECT sum(length(text)) FROM paceline.live_output") == OUTPUT_LIMIT


async def test_what_a_lost_runner_had_said_is_kept(database: Database, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    runner = await dial(database)
    (job,) = await take(database, runner)
    await Dialling(database).log(runner.incarnation, job.id, job.fence, "last words")
    await database.value("SELECT paceline.fence_incarnation($1, 'OOMKilled')", runner.incarnation)
    (lost,) = await Reader(database).job_attempts(made.id)
    assert (lost.outcome, lost.cause, lost.output) == ("lost", "OOMKilled", "last words")
    await database.value("SELECT paceline.forget_requests()")
    assert await database.value("SELECT count(*) FROM paceline.live_output") == 0


async def test_a_run_that_is_not_its_own_any_more_says_nothing(database: Database, queue: Queue) -> None:
    await queue.enqueue("mail")
    lost, next_one = await dial(database, "a"), await dial(database, "b")
    (old,) = await take(database, lost)
    await Dialling(database).hand_back(lost.incarnation, old.id, old.fence)
    (new,) = await take(database, next_one)
    assert not await Dialling(database).log(lost.incarnation, old.id, old.fence, "late")
    assert await Dialling(database).log(next_one.incarnation, new.id, new.fence, "mine")
    (running, back) = await Reader(database).job_attempts(new.id)
    assert (running.output, back.output) == ("mine", None)


# what runners are told


async def test_who_has_nothing_to_be_told_is_not_told_anything(database: Database, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    runner = await dial(database, socket=True)
    (job,) = await take(database, runner)
    dialling = Dialling(database)
    assert await dialling.news([by(runner)]) == []
    await queue.cancel(made.id)
    (news,) = await dialling.news([by(runner)])
    assert news.verdict == "ok"
    assert news.cancelled == {made.id}
    assert (await beat(database, runner, job)).cancelled == {made.id}
    await dialling.complete(runner.incarnation, job.id, job.fence, None, None)
    assert await dialling.news([by(runner)]) == [], "the one that was cancelled is over"


async def test_a_drain_is_told_and_whether_there_is_a_hurry(database: Database) -> None:
    slow, hurried = await dial(database, "a"), await dial(database, "b")
    await Dialling(database).drain(slow.incarnation)
    await database.value(TAINT, hurried.incarnation, ["Drain"])
    told = await Dialling(database).news([by(slow), by(hurried)])
    assert {(each.incarnation, each.verdict, each.leave) for each in told} == {
        (slow.incarnation, "draining", False), (hurried.incarnation, "draining", True),
    }  # fmt: skip


async def test_an_end_is_told_with_its_cause(database: Database) -> None:
    evicted, late, gone = await dial(database, "a"), await dial(database, "b"), await dial(database, "c", socket=True)
    await database.value("SELECT paceline.fence_incarnation($1, 'Evicted')", evicted.incarnation)
    await Dialling(database).drop(by(gone))
    over = "UPDATE paceline.incarnation SET lease_until = clock_timestamp() WHERE id = ANY ($1)"
    await database.value(over, [late.incarnation, gone.incarnation])
    told = await Dialling(database).news([by(evicted), by(late), by(gone)])
    assert {each.verdict for each in told} == {"fenced"}
    assert {each.incarnation: each.cause for each in told} == {
        evicted.incarnation: "Evicted", late.incarnation: "LeaseExpired", gone.incarnation: "Disconnected",
    }  # fmt: skip


async def test_it_is_told_that_another_socket_has_it_or_that_its_token_is_over(database: Database) -> None:
    moved, expired = await dial(database, "a", socket=True), await dial(database, "b")
    await Dialling(database).resume(await token_of(database, moved), moved.incarnation, {})
    over = "UPDATE paceline.token SET expires_at = clock_timestamp() WHERE id = $1"
    await database.value(over, await token_of(database, expired))
    told = await Dialling(database).news([by(moved), by(expired)])
    assert {each.incarnation: (each.verdict, each.cause) for each in told} == {
        moved.incarnation: ("moved", None), expired.incarnation: ("fenced", "Revoked"),
    }  # fmt: skip
