"""Logins are bound to pools: a runner of pool A can neither see, claim nor ack a job of pool B, nor read a table."""

from datetime import timedelta
from urllib.parse import urlsplit

import asyncpg
import pytest

from paceline.admin import list_grants
from paceline.claims import Failed, Finished, Incarnation, Registration
from paceline.errors import NotAllowedError, NotFoundError
from paceline.job import NewJob
from paceline.queue import Queue
from support.pg import Login, Register


def _registration(pool: str = "builds", name: str = "r") -> Registration:
    return Registration(name=name, pool=pool, kinds=("*",))


async def test_a_producer_of_one_pool_enqueues_there_and_nowhere_else(queue: Queue, login: Login) -> None:
    await queue.enqueue("mail")
    await Queue(queue.database, "other").enqueue("mail")
    mine = await login(producer="builds")
    assert (await Queue(mine, "builds").enqueue("mail")).created
    with pytest.raises(NotAllowedError, match=r'pool "other": .*paceline pool grant other --login l_\w+ --as producer'):
        await Queue(mine, "other").enqueue("mail")
    with pytest.raises(NotAllowedError):
        await Incarnation.register(mine, _registration())


async def test_only_who_may_use_every_pool_makes_a_new_one(login: Login) -> None:
    with pytest.raises(NotAllowedError):
        await Queue(await login(producer="builds"), "new").enqueue("mail")
    assert (await Queue(await login(producer=None), "new").enqueue("mail")).created


async def test_a_runner_of_one_pool_neither_serves_nor_fills_another(queue: Queue, login: Login) -> None:
    await queue.enqueue("mail")
    await Queue(queue.database, "other").enqueue("mail")
    mine = await login(runner="builds")
    runner = await Incarnation.register(mine, _registration())
    assert len((await runner.step(5)).jobs) == 1
    with pytest.raises(NotAllowedError):
        await Incarnation.register(mine, _registration("other"))
    with pytest.raises(NotAllowedError):
        await Queue(mine, "builds").enqueue("mail")


async def test_nobody_acts_for_a_runner_that_another_login_registered(
    queue: Queue, register: Register, login: Login
) -> None:
    await queue.enqueue("mail")
    theirs = await register()
    (job,) = (await theirs.step(1)).jobs
    mine = await login(runner="builds")
    thief = await Incarnation.register(mine, _registration(name="thief"))
    assert (await thief.step(0, [Finished(job)])).refused == {job.id}
    thief.id = theirs.id
    for attempt in (
        thief.step(1, [Finished(job)]),
        thief.heartbeat(),
        thief.drain(),
        thief.hand_back([job]),
        thief.deregister(),
        mine.value("SELECT paceline.fence_incarnation($1, 'x')", theirs.id),
    ):
        with pytest.raises(NotAllowedError):
            await attempt
    assert not (await theirs.step(0, [Finished(job)])).refused


async def test_no_table_can_be_read_and_no_inner_function_called(login: Login) -> None:
    mine = await login(runner="builds", producer="builds", reader="builds", gateway="builds", operator="builds")
    async with mine.connection() as connection:
        for table in ("job", "history", "dead", "login", "incarnation", "runner_taint", "seq"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch(f"TABLE paceline.{table}")
        for call in ("ack(1, '{}', '{}', NULL, NULL, true)", "end_incarnations('{1}', 'x')", "do_tick()", "elect(1)"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError, match="permission denied for function"):
                await connection.fetch(f"SELECT paceline.{call}")


async def test_grants_are_the_owners_business(login: Login) -> None:
    mine = await login(operator=None, gateway=None)
    with pytest.raises(NotAllowedError):
        await mine.value("SELECT paceline.grant_login('somebody', 'runner', NULL)")


async def test_a_role_taken_on_later_does_not_change_who_asks(queue: Queue, login: Login) -> None:
    """`SET ROLE` changes current_user; the login stays who it is."""
    mine = await login(reader="builds")
    owner = urlsplit(queue.database.address.url).username
    name = urlsplit(mine.address.url).username
    await queue.database.value(f'GRANT "{owner}" TO {name}')
    async with mine.connection() as connection:
        await connection.execute(f'SET ROLE "{owner}"')
        with pytest.raises(asyncpg.PostgresError, match="may not do this"):
            await connection.fetch("SELECT paceline.enqueue('builds', '{mail}', '{1}')")


async def test_taking_a_grant_away_fences_what_was_registered_with_it(
    queue: Queue, register: Register, login: Login
) -> None:
    await queue.enqueue("mail")
    mine = await login(runner="builds")
    runner = await Incarnation.register(mine, _registration())
    (job,) = (await runner.step(1)).jobs
    name = urlsplit(mine.address.url).username
    await queue.database.value("SELECT paceline.revoke_login($1, 'runner', 'builds')", name)
    assert (await runner.step(1, [Finished(job)])).verdict == "fenced"
    other = await register("other")
    assert [each.id for each in (await other.step(1)).jobs] == [job.id]


async def test_housekeeping_may_be_done_by_runners_and_not_by_producers(login: Login) -> None:
    assert await (await login(runner="builds")).value("SELECT paceline.tick()") is True
    with pytest.raises(NotAllowedError):
        await (await login(producer="builds")).value("SELECT paceline.tick()")


async def test_a_runner_may_taint_itself_and_nobody_else(queue: Queue, register: Register, login: Login) -> None:
    mine = await login(runner="builds")
    own = await Incarnation.register(mine, _registration(name="own"))
    other = await register("other")
    taint = "SELECT paceline.taint_runner($1, $2, '{dev}', '{x}', '{NoClaim}')"
    await mine.value(taint, own.runner, "cli")
    await queue.enqueue("mail")
    assert not (await own.step(1)).jobs
    for runner, source in ((other.runner, "cli"), (own.runner, "annotation")):
        with pytest.raises(NotAllowedError):
            await mine.value(taint, runner, source)


async def test_a_misspelt_pool_takes_no_grant_away(queue: Queue, login: Login) -> None:
    mine = await login(producer=None)
    name = urlsplit(mine.address.url).username
    with pytest.raises(NotFoundError, match='there is no pool "buidls"'):
        await queue.database.value("SELECT paceline.revoke_login($1, 'producer', 'buidls')", name)
    assert (await Queue(mine, "builds").enqueue("mail")).created


async def test_a_job_of_another_pool_is_unknown(queue: Queue, register: Register, login: Login) -> None:
    made = await queue.enqueue("mail")
    runner = await register()
    await runner.step(0, [Finished(job) for job in (await runner.step(1)).jobs])
    await Queue(queue.database, "other").enqueue("mail")
    stranger = Queue(await login(producer="other"), "other")
    assert await stranger.cancel(made.id) == "unknown"
    assert await queue.cancel(made.id) == "finished"


async def test_a_runner_that_was_forgotten_is_told_that_it_is_fenced(
    queue: Queue, register: Register, login: Login
) -> None:
    mine = await login(runner="builds")
    runner = await Incarnation.register(mine, _registration())
    await queue.database.value("DELETE FROM paceline.incarnation WHERE id = $1", runner.id)
    assert (await runner.heartbeat()).verdict == "fenced"
    assert (await runner.step(1)).verdict == "fenced"
    assert await runner.drain() == 0


async def test_grants_are_listed_to_those_whom_they_concern(queue: Queue, login: Login) -> None:
    await queue.enqueue("mail")
    await queue.database.value("SELECT paceline.grant_namespace('builds', 'team-b')")
    reader, operator = await login("reader", "builds"), await login("operator", "builds")
    names = [urlsplit(each.address.url).username for each in (reader, operator)]
    own = [("builds", names[0], "reader", None)]
    both = sorted([*own, ("builds", names[1], "operator", None)], key=str)
    seen = [(each.pool, each.login, each.role, each.namespace) for each in await list_grants(reader)]
    assert seen == own
    seen = [(each.pool, each.login, each.role, each.namespace) for each in await list_grants(operator, "builds")]
    assert seen == [*both, ("builds", None, None, "team-b")]
    everything = await list_grants(queue.database)
    assert (everything[0].pool, everything[0].role) == (None, "owner")
    assert len(everything) == 4
    with pytest.raises(NotAllowedError):
        await list_grants(reader, "other")


async def test_a_job_of_another_pool_cannot_be_tried_again(queue: Queue, register: Register, login: Login) -> None:
    await queue.enqueue_many([NewJob(kind="mail"), NewJob(kind="mail", delay=timedelta(hours=1))])
    runner = await register()
    (job,) = (await runner.step(1)).jobs
    await runner.fail([Failed(job, "over")])
    later = await queue.database.value("SELECT id FROM paceline.job")
    mine = Queue(await login("producer", "other"), "other")
    assert await mine.retry(job.id) == "unknown"
    with pytest.raises(NotAllowedError):
        await mine.retry(later)
    assert await queue.retry(job.id) == "retried"
