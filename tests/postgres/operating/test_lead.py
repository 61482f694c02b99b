"""A person says who leads: who can, who cannot and why, and who may say so."""

import pytest

from paceline.database import Database
from paceline.errors import InvalidInputError, NotAllowedError, NotEligibleError, NotFoundError
from paceline.leading import Leading
from paceline.operating import Operating
from paceline.queue import Queue
from paceline.taint import Taint
from postgres.operating.crew import INSTALL, Join
from support.pg import Login

MAINT = Taint("maint", "", "NoLead")
WELL_SETTLED = "UPDATE paceline.incarnation SET registered_at = registered_at - interval '31 seconds'"
"""An older one takes over only when it has been active for 30 seconds."""


@pytest.fixture
def leading(database: Database) -> Leading:
    """The owner's."""
    return Leading(database)


async def test_the_promoted_one_leads_and_claims_until_the_promotion_ends(
    leading: Leading, leaders: int, join: Join, database: Database
) -> None:
    first, second = await join("r1", group="leaders"), await join("r2", group="leaders")
    await Queue(database, "leaders").enqueue("mail")
    (before,) = await leading.candidates(runner="r1")
    assert (before.grp, before.leads, before.promoted) == (leaders, True, False)
    now = await leading.promote("r2")
    assert (now.name, now.leads, now.promoted, now.leader) == ("r2", True, True, "r2")
    assert now.epoch == (before.epoch or 0) + 1
    assert not (await first.step(1)).jobs
    assert len((await second.step(1)).jobs) == 1
    await database.value(WELL_SETTLED)
    ended, who = await leading.clear("ci/leaders")
    assert (ended.leader, who) == ("r1", "r2")
    assert (await leading.clear("leaders"))[1] is None, "nobody was promoted any more"


async def test_a_promotion_ends_when_its_runner_cannot_lead(
    leading: Leading, operating: Operating, leaders: int, join: Join
) -> None:
    await join("r1", group="leaders")
    await join("r2", group="leaders")
    await leading.promote("r2")
    await operating.taint_runner(leaders, "r2", "annotation", [MAINT])
    (now,) = await leading.candidates(runner="r2")
    assert (now.leader, now.leads, now.promoted, now.taints) == ("r1", False, False, ("maint:NoLead",))
    await operating.taint_runner(leaders, "r2", "annotation", [])
    (now,) = await leading.candidates(runner="r2")
    assert now.leader == "r1"


async def test_one_that_cannot_lead_is_refused_with_the_reason(
    leading: Leading, operating: Operating, group: int, leaders: int, join: Join
) -> None:
    await join("r1", group="leaders")
    await join("r2", group="leaders")
    await operating.taint_runner(leaders, "r2", "annotation", [MAINT, Taint("far", "", "PreferNoClaim")])
    with pytest.raises(
        NotEligibleError, match=r"r2 cannot lead ci/leaders now: it has the taint maint:NoLead: take.*\(nothing"
    ):
        await leading.promote("r2")
    await operating.taint_runner(leaders, "later", "annotation", [])
    with pytest.raises(NotEligibleError, match="later cannot lead ci/leaders now: nobody is registered in its name"):
        await leading.promote("later")
    leaving = await join("r3", group="leaders")
    await leaving.drain()
    with pytest.raises(NotEligibleError, match="r3 cannot lead ci/leaders now: it is draining"):
        await leading.promote("r3")
    assert [each.name for each in await leading.candidates() if each.promoted] == [], "nothing was changed"
    await join("shared")
    with pytest.raises(NotEligibleError, match=r"group ci/builds has no leader.*dispatch: Shared"):
        await leading.promote("shared")
    with pytest.raises(NotEligibleError, match="group ci/builds has no leader"):
        await leading.clear("builds")
    assert group


async def test_what_is_not_there_or_there_twice_is_told_with_what_is(
    leading: Leading, operating: Operating, leaders: int, join: Join
) -> None:
    await join("r1", group="leaders")
    with pytest.raises(NotFoundError, match=r'no Runner "r9" whose .*\(there are: r1\)'):
        await leading.promote("r9")
    with pytest.raises(NotFoundError, match=r'no Runner "r1" in group ci/other .*\(there are: none\)'):
        await leading.promote("r1", group="ci/other")
    with pytest.raises(NotFoundError, match=r'no group "other" .*\(there are: ci/leaders\)'):
        await leading.clear("other")
    other = await operating.put_group(install="second", namespace="qa", name="leaders", pool="more", leader=True)
    await operating.taint_runner(other, "r1", "spec", [])
    both = r"\(--group ci/leaders --install main or --group qa/leaders --install second\)"
    with pytest.raises(InvalidInputError, match=both):
        await leading.promote("r1")
    with pytest.raises(InvalidInputError, match=both):
        await leading.clear("leaders")
    for choice in ({"group": "ci/leaders"}, {"install": INSTALL}):
        assert (await leading.promote("r1", **choice)).grp == leaders


async def test_only_operators_and_gateways_of_the_pool_choose_a_leader(leaders: int, join: Join, login: Login) -> None:
    await join("r1", group="leaders")
    assert leaders
    others = Leading(await login(runner="leaders", producer="leaders", reader="leaders"))
    with pytest.raises(NotAllowedError, match="--as operator"):
        await others.promote("r1")
    with pytest.raises(NotAllowedError, match="--as operator"):
        await others.candidates()
    with pytest.raises(NotFoundError):
        await Leading(await login(operator="builds")).promote("r1")
    for role in ("operator", "gateway"):
        assert (await Leading(await login(role, "leaders")).promote("r1")).leads
