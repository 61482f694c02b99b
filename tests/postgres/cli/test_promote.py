"""`paceline promote`: a person says who leads."""

import pytest

from paceline.claims import Incarnation, Registration
from paceline.database import Database
from postgres.cli.process import Cli

GROUP = "ci/leaders"


@pytest.fixture
async def crew(database: Database) -> tuple[Incarnation, Incarnation]:
    """Two runners of a group with dispatch: Leader; the first leads."""
    await database.value("SELECT paceline.put_group('main', 'ci', 'leaders', 'leaders', p_leader => true)")
    first, second = [
        await Incarnation.register(
            database,
            Registration(name=name, pool="", kinds=("*",), install="main", namespace="ci", group="leaders"),
        )
        for name in ("r1", "r2")
    ]
    await database.value("UPDATE paceline.incarnation SET registered_at = registered_at - interval '31 seconds'")
    return first, second


async def test_a_runner_is_promoted_and_the_promotion_ends(cli: Cli, crew: tuple[Incarnation, Incarnation]) -> None:
    first, second = crew
    told = await cli("promote", "r2")
    assert (told.code, told.out) == (0, "r2 leads ci/leaders (epoch 2)\n")
    assert [(await each.step(0)).verdict for each in (first, second)] == ["standby", "ok"]
    again = await cli("promote", "r2", "--group", GROUP, "--install", "main", "--json")
    assert again.json == {"install": "main", "group": GROUP, "promoted": "r2", "leader": "r2", "epoch": 2}
    ended = await cli("promote", "--clear", "--group", GROUP)
    assert ended.out == "r2 is no longer promoted in ci/leaders; r1 leads (epoch 3)\n"
    assert (await cli("promote", "--clear", "--group", "leaders", "-o", "json")).fields["promoted"] is None
    nobody = await cli("promote", "--clear", "--group", GROUP)
    assert nobody.out == "nobody was promoted in ci/leaders; r1 leads (epoch 3)\n"


async def test_what_cannot_be_is_one_line_that_says_why(cli: Cli, crew: tuple[Incarnation, Incarnation]) -> None:
    await crew[1].taint("gpu=bad:NoLead")
    tainted = await cli("promote", "r2")
    assert (tainted.code, tainted.out) == (1, "")
    assert tainted.err.startswith("error: r2 cannot lead ci/leaders now: it has the taint gpu=bad:NoLead")
    unknown = await cli("promote", "r9")
    assert (unknown.code, "(there are: r1, r2)" in unknown.err) == (1, True)
    for words in ((), ("--clear",), ("r1", "--clear", "--group", GROUP)):
        assert (await cli("promote", *words)).code == 2
