"""`paceline explain` and `paceline simulate --recorded`: what was decided, and what would have been."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paceline.claims import Finished, Incarnation, Registration
from paceline.database import Database
from paceline.operating import Operating
from paceline.queue import Queue
from paceline.scaling import DecisionSeen, ScalingKept
from postgres.cli.process import Cli

GROUP = """\
apiVersion: paceline.dev/v1alpha1
kind: RunnerGroup
spec: {slots: 1, autoscaling: {maxReplicas: 5}}
"""


@pytest.fixture
async def group(database: Database) -> int:
    """ci/builds, which grew from 1 to 3 two minutes ago, and two days ago from 0 to 1."""
    operating = Operating(database)
    made = await operating.put_group(install="main", namespace="ci", name="builds", pool="builds")
    await operating.put_scaling(made, 3)
    now = datetime.now(UTC)
    decisions = [
        DecisionSeen(
            at=now - ago, was=was, replicas=replicas, reason=reason, limited_by=limit,
            inputs={"ready": 7, "oldestSeconds": None},
            proposals=[{"rule": "demand", "replicas": 7, "text": "7 jobs want 7 runners"},
                       {"rule": "bounds", "replicas": 3, "text": "maxReplicas is 3"}],
        )
        for ago, was, replicas, reason, limit in (
            (timedelta(days=2), 0, 1, "DesiredWithinRange", None),
            (timedelta(minutes=2), 1, 3, "TooManyReplicas", "maxReplicas"),
        )
    ]  # fmt: skip
    await operating.keep_scaling([ScalingKept(grp=made, state={}, decisions=decisions)])
    return made


@pytest.mark.usefixtures("group")
async def test_decisions_are_told_with_what_limited_them(cli: Cli) -> None:
    told = await cli("explain", "builds")
    assert told.code == 0
    heading, only = told.out.splitlines()
    assert heading.split()[:3] == ["WHEN", "WAS", "RUNNERS"]
    assert re.search(r"\b[2-9]m(\d+s)? ago", only)
    assert "TooManyReplicas" in only
    assert "7 jobs want 7 runners; maxReplicas is 3" in only
    assert "ready 7" not in only
    assert "ready 7" in (await cli("explain", "ci/builds", "-o", "wide")).out
    both = (await cli("explain", "ci/builds", "--since", "3d", "--json", "--install", "main")).json
    assert isinstance(both, list)
    assert [(each["was"], each["replicas"], each["limited_by"]) for each in both if isinstance(each, dict)] == [
        (1, 3, "maxReplicas"),
        (0, 1, None),
    ]
    assert len((await cli("explain", "builds", "--since", "3d", "--limit", "1")).out.splitlines()) == 2


async def test_a_group_without_decisions_and_one_that_is_not_there_are_told_apart(
    cli: Cli, database: Database, group: int
) -> None:
    await database.value("DELETE FROM paceline.decision WHERE grp = $1", group)
    quiet = await cli("explain", "builds")
    assert (quiet.code, quiet.out) == (0, "")
    assert "nothing was decided about ci/builds" in quiet.err
    unknown = await cli("explain", "bilds")
    assert (unknown.code, "(there are: ci/builds)" in unknown.err) == (1, True)
    await Operating(database).put_group(install="other", namespace="ci", name="builds", pool="more")
    twice = await cli("explain", "builds")
    assert (twice.code, "ci/builds --install main or ci/builds --install other" in twice.err) == (1, True)


async def test_what_a_pool_has_done_is_played_again(cli: Cli, database: Database, tmp_path: Path) -> None:
    file = tmp_path / "group.yaml"
    file.write_text(GROUP)
    queue = Queue(database, "builds")
    nothing = await cli("simulate", file, "--recorded", "builds")
    assert (nothing.code, "builds" in nothing.err) == (1, True)
    runner = await Incarnation.register(database, Registration(name="r1", pool="builds", kinds=("*",), slots=9))
    for _ in range(3):
        await queue.enqueue("mail")
    jobs = (await runner.step(3)).jobs
    await runner.step(0, [Finished(each) for each in jobs])
    played = (await cli("simulate", file, "--recorded", "builds", "--since", "1h", "--json")).json
    assert isinstance(played, list)
    assert [each["jobs"] for each in played if isinstance(each, dict)] == [3]
    both = await cli("simulate", file, "--recorded", "builds", "--curve", "steady:1/s")
    assert (both.code, "in one way" in both.err) == (2, True)
