"""Of several operators one acts, and the database holds to it."""

import asyncio

import pytest

from paceline.database import Database
from paceline.errors import NotAllowedError, NotInOfficeError
from paceline.operating import Office, Operating
from postgres.operating.crew import INSTALL, Join
from support.pg import Connect, Login, waits_for_a_lock


async def put(operating: Operating) -> int:
    return await operating.put_group(install=INSTALL, namespace="ci", name="builds", pool="builds")


async def test_an_operator_that_was_followed_by_another_changes_nothing(database: Database, join: Join) -> None:
    office = Office(INSTALL, "a-1")
    first, second = Operating(database, office), Operating(database, Office(INSTALL, "b-1"))
    group = await put(first)
    await join("r1")
    assert await put(second) == group
    for late in (
        put(first), first.delete_group(group), first.set_revision(group, "x"),
        first.number_runners(group, 1), first.retire(group, 1, revision=None), first.drain_runners(group, ["r1"]),
        first.taint_group(group, "spec", []), first.taint_runner(group, "r1", "spec", []),
        first.fence_pods(group, {"uid-r1": "Error"}), first.suspect_pods(group, ["uid-r1"]),
        first.forget_runners(group, ["r1"]),
    ):  # fmt: skip
        office.epoch = 1  # as it was before it slept
        with pytest.raises(NotInOfficeError, match="another operator"):
            await late
    (seen,) = await second.look_at_group(group)
    assert (seen.state, seen.retiring, seen.incarnation is None) == ("active", False, False)


async def test_one_operator_has_one_epoch_whatever_logins_it_uses(database: Database, login: Login) -> None:
    other = await login("operator")
    one, two = Operating(database, Office(INSTALL, "a-1")), Operating(other, Office(INSTALL, "a-1"))
    await put(one)
    await put(two)
    await put(one)
    assert await database.value("SELECT epoch FROM paceline.office WHERE install = $1", INSTALL) == 1


async def test_who_leads_again_takes_a_new_epoch(database: Database) -> None:
    first, second = Operating(database, Office(INSTALL, "a-1")), Operating(database, Office(INSTALL, "b-1"))
    await put(first)
    await put(second)
    with pytest.raises(NotInOfficeError):
        await put(first)
    await put(first)  # its Lease is valid, so it takes office again
    assert await database.value("SELECT epoch FROM paceline.office WHERE install = $1", INSTALL) == 3


async def test_who_may_not_act_sends_nothing(database: Database) -> None:
    leads = True
    operating = Operating(database, Office(INSTALL, "a-1", lambda: leads))
    await put(operating)
    leads = False
    with pytest.raises(NotInOfficeError, match="leads no more"):
        await put(operating)


async def test_a_new_epoch_waits_for_what_is_under_way(database: Database, connect: Connect) -> None:
    await put(Operating(database, Office(INSTALL, "a-1")))
    under_way, taking, watcher = await connect(), await connect(), await connect()
    async with under_way.transaction():
        await under_way.execute("SELECT paceline.in_office($1, 1)", INSTALL)
        following = asyncio.create_task(taking.fetchval("SELECT paceline.take_office($1, 'b-1')", INSTALL))
        await waits_for_a_lock(watcher, taking.get_server_pid())
    assert await following == 2


async def test_whoever_operates_nothing_takes_no_office(login: Login) -> None:
    runner = await login("runner", "builds")
    with pytest.raises(NotAllowedError):
        await runner.value("SELECT paceline.take_office($1, 'x')", INSTALL)


async def test_an_operator_of_other_pools_drives_nobody_out_of_office(database: Database, login: Login) -> None:
    await put(Operating(database, Office(INSTALL, "a-1")))
    take = "SELECT paceline.take_office($1, $2)"
    stranger = await login("operator", "mail")
    with pytest.raises(NotAllowedError):
        await stranger.value(take, INSTALL, "x")
    assert await stranger.value(take, INSTALL, "a-1") == 1, "another login of who is in office"
    assert await stranger.value(take, "another", "x") == 1
    assert await (await login("operator", "builds")).value(take, INSTALL, "b-1") == 2
