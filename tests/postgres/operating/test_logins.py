"""Only an operator of the pool may do what operators do."""

from collections.abc import Awaitable, Callable

import pytest

from paceline.errors import NotAllowedError
from paceline.operating import Operating
from postgres.operating.crew import INSTALL, Join
from support.pg import Login

Call = Callable[[Operating, int], Awaitable[object]]
ON_A_GROUP: dict[str, Call] = {
    "put_group": lambda who, _: who.put_group(install=INSTALL, namespace="ci", name="builds", pool="builds", slots=2),
    "set_revision": lambda who, group: who.set_revision(group, "8"),
    "look_at_group": lambda who, group: who.look_at_group(group),
    "retire": lambda who, group: who.retire(group, 1, revision="new"),
    "drain_runners": lambda who, group: who.drain_runners(group, ["r1"]),
    "fence_pods": lambda who, group: who.fence_pods(group, {"uid-r1": "Error"}),
    "suspect_pods": lambda who, group: who.suspect_pods(group, ["uid-r1"]),
    "forget_runners": lambda who, group: who.forget_runners(group, ["r1"]),
    "delete_group": lambda who, group: who.delete_group(group),
}
ON_ALL: dict[str, Call] = {
    "list_groups": lambda who, _: who.list_groups(INSTALL),
    "observe": lambda who, _: who.observe(INSTALL),
}


@pytest.mark.parametrize("name", [*ON_A_GROUP, *ON_ALL])
async def test_other_roles_on_the_pool_may_not(group: int, join: Join, login: Login, name: str) -> None:
    runner = await join()
    call = {**ON_A_GROUP, **ON_ALL}[name]
    other = Operating(await login(runner="builds", producer="builds", reader="builds", gateway="builds"))
    with pytest.raises(NotAllowedError, match="--as operator"):
        await call(other, group)
    assert (await runner.heartbeat()).verdict == "ok"


@pytest.mark.parametrize("name", ON_A_GROUP)
async def test_an_operator_of_another_pool_may_not(
    group: int, leaders: int, join: Join, login: Login, name: str
) -> None:
    runner = await join()
    other = Operating(await login(operator="leaders"))
    with pytest.raises(NotAllowedError, match='on pool "builds"'):
        await ON_A_GROUP[name](other, group)
    assert (await runner.heartbeat()).verdict == "ok"
    assert await other.look_at_group(leaders) == []


async def test_an_operator_of_the_pool_may_do_all_of_it_and_sees_no_other(
    group: int, leaders: int, join: Join, login: Login
) -> None:
    await join()
    mine = Operating(await login(operator="builds", gateway="leaders"))
    for call in ON_A_GROUP.values():
        assert [each.id for each in await mine.list_groups(INSTALL)] == [group]
        assert [each.id for each in await mine.observe(INSTALL)] == [group]
        await call(mine, group)
    assert await mine.list_groups(INSTALL) == []
    with pytest.raises(NotAllowedError):
        await mine.look_at_group(leaders)
