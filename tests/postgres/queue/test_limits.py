"""What is refused before anything is written, and in which words."""

import pytest

from paceline.errors import (
    InvalidInputError,
    NameTakenError,
    NotFoundError,
    PoolConflictError,
    PoolFullError,
    TooManyLanesError,
)
from paceline.job import NewJob
from paceline.queue import Queue
from support.pg import Register, Tick

VANISHING = """
CREATE FUNCTION paceline.vanish() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM paceline.job WHERE payload = '"old"';
    RETURN NULL;
END $$"""
LIVE = "SELECT count(*) FROM paceline.job"


async def test_a_full_pool_refuses_the_whole_batch_and_says_what_to_do(queue: Queue, register: Register) -> None:
    await queue.database.value("SELECT paceline.set_pool('builds', p_max_depth => 3)")
    await queue.enqueue_many([NewJob(kind="mail"), NewJob(kind="mail", key="k")])
    with pytest.raises(
        PoolFullError, match=r'pool "builds" has 2 waiting jobs, and 2 more would exceed its max_depth of 3'
    ):
        await queue.enqueue_many([NewJob(kind="mail")] * 2)
    assert await queue.database.value(LIVE) == 2
    await queue.enqueue("mail")
    runner = await register()
    await runner.step(1)
    assert (await queue.enqueue("mail")).created, "a running job does not wait"


async def test_a_limit_too_large_to_count_each_time_holds_by_the_last_count(queue: Queue, tick: Tick) -> None:
    await queue.database.value("SELECT paceline.set_pool('builds', p_max_depth => 20000)")
    await queue.enqueue_many([NewJob(kind="mail")] * 19_999)
    await tick()
    with pytest.raises(PoolFullError):
        await queue.enqueue_many([NewJob(kind="mail")] * 2)
    await queue.database.value("SELECT paceline.set_pool('builds', p_max_depth => -1)")
    assert (await queue.enqueue("mail")).created


@pytest.mark.parametrize("pool", ["", "Builds", "-x", "a b", "x" * 64])
async def test_a_pool_must_have_a_name(queue: Queue, pool: str) -> None:
    with pytest.raises(InvalidInputError, match=rf'pool "{pool}" is not a name: use at most 63 lower-case letters'):
        await Queue(queue.database, pool).enqueue("mail")


async def test_too_many_lanes_are_refused_and_those_that_are_there_go_on(queue: Queue) -> None:
    await queue.enqueue_many([NewJob(kind=f"k{number}") for number in range(2000)])
    with pytest.raises(TooManyLanesError, match='pool "builds" has 2000 lanes'):
        await queue.enqueue("one-too-many")
    assert (await queue.enqueue("k7")).created
    assert await queue.database.value(LIVE) == 2001


async def test_an_unknown_kind_stays_queued(queue: Queue, register: Register) -> None:
    made = await queue.enqueue("nobody-knows")
    runner = await register(kinds=("mail",))
    assert not (await runner.step(9)).jobs
    assert await queue.database.value("SELECT state FROM paceline.job WHERE id = $1", made.id) == b"r"


async def test_a_name_of_another_group_is_refused_at_registration(queue: Queue, register: Register) -> None:
    for group in ("one", "two"):
        await queue.database.value("SELECT paceline.put_group('', 'ci', $1, 'builds')", group)
    await register("same", group="one")
    with pytest.raises(NameTakenError, match='a Runner called "same" belongs to group "one" here: choose another name'):
        await register("same", group="two")


async def test_a_group_that_does_not_exist_is_refused_at_registration(register: Register) -> None:
    with pytest.raises(NotFoundError, match="there is no RunnerGroup ci/nowhere in this database"):
        await register(group="nowhere")


async def test_a_pool_belongs_to_the_namespace_that_first_served_it(queue: Queue) -> None:
    put = "SELECT paceline.put_group('', $1, 'g', 'builds')"
    await queue.database.value(put, "ci")
    with pytest.raises(
        PoolConflictError, match='belongs to namespace "ci": run: paceline pool grant builds --namespace qa'
    ):
        await queue.database.value(put, "qa")


async def test_a_leader_group_shares_its_pool_with_nobody(queue: Queue) -> None:
    put = "SELECT paceline.put_group('', 'ci', $1, 'builds', p_leader => $2)"
    await queue.database.value(put, "leaders", True)
    with pytest.raises(PoolConflictError, match="must be the only one"):
        await queue.database.value(put, "others", False)
    await queue.database.value(put, "leaders", False)
    await queue.database.value(put, "others", False)
    with pytest.raises(PoolConflictError, match="must be the only one"):
        await queue.database.value(put, "others", True)


async def test_a_job_with_a_dedupe_value_that_is_live_is_not_made_again(queue: Queue, register: Register) -> None:
    first = await queue.enqueue(NewJob(kind="mail", dedupe="x"))
    again = await queue.enqueue(NewJob(kind="mail", dedupe="x"))
    assert (again.id, again.created) == (first.id, False)
    assert (await queue.enqueue(NewJob(kind="other", dedupe="x"))).created
    assert (await Queue(queue.database, "elsewhere").enqueue(NewJob(kind="mail", dedupe="x"))).created
    many = await queue.enqueue_many([NewJob(kind="mail", dedupe=value) for value in ("a", "x", "a", "b")])
    assert [each.created for each in many] == [True, False, False, True]
    assert many[2].id == many[0].id


async def test_a_job_is_made_when_the_one_in_its_way_finishes_just_then(queue: Queue) -> None:
    """Between the insert that finds it in the way and the look at it: here by a trigger, in life by chance."""
    old = await queue.enqueue(NewJob(kind="mail", dedupe="x", payload="old"))
    await queue.database.value(VANISHING)
    await queue.database.value(
        "CREATE TRIGGER vanish AFTER INSERT ON paceline.job FOR EACH STATEMENT EXECUTE FUNCTION paceline.vanish()"
    )
    new = await queue.enqueue(NewJob(kind="mail", dedupe="x", payload="new", priority=7))
    assert new.created
    assert new.id != old.id
    rows = await queue.database.rows("SELECT id, payload, priority FROM paceline.job")
    assert [tuple(row) for row in rows] == [(new.id, '"new"', 7)]


async def test_a_group_is_found_without_its_installation_unless_there_are_two(queue: Queue, register: Register) -> None:
    await queue.database.value("SELECT paceline.put_group('main', 'ci', 'builds', 'builds')")
    assert (await register("r1", group="builds")).id
    await queue.database.value("SELECT paceline.put_group('other', 'ci', 'builds', 'builds')")
    with pytest.raises(NameTakenError, match=r"several installations have a RunnerGroup ci/builds.*--install"):
        await register("r2", group="builds")
