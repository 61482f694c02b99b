"""`paceline status` as people see it, to the letter."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from paceline.errors import InvalidInputError, NotFoundError
from paceline_cli.cluster import Where
from paceline_cli.options import Format
from paceline_cli.output import Output
from paceline_cli.status import as_json, draw_group, draw_groups, find_groups
from paceline_operator.api.v1alpha1 import RunnerGroup
from unit.cli.groups import condition, group

TROUBLED = group(
    condition("Paused", "True", "Paused", "no claims"), name="mails", dispatch="Leader", replicas=1, readyReplicas=0,
    busyReplicas=0, idleReplicas=0, pendingReplicas=1, leader={"runner": "mails-x2", "epoch": 4},
    queue={"ready": 1200, "oldestSeconds": 185, "dead": 2}, updateRevision="b2", updatedReplicas=0,
)  # fmt: skip
ONE = """\
GROUP   STATE     RUNNERS  BUSY  IDLE  PENDING  QUEUED  OLDEST  LEADER              UPDATE
builds  AsWanted      3/3     1     2        0       4     12s  -                   done
mails   AsWanted      0/1     0     0        1   1,200    3m5s  mails-x2 (epoch 4)  0 of 1

What wants somebody
GROUP  WHAT            NEXT
mails  it is paused    run: kubectl paceline resume mails -n ci
mails  2 dead letters  look at them: paceline dead list -p mails
"""
WHOLE = """\
Group      ci/mails
State      AsWanted
Pool       mails
Dispatch   Leader
Leader     mails-x2 (epoch 4)
Runners    1 (0 ready, 0 busy, 0 idle, 1 pending)
Jobs       1,200 ready, 0 running, 0 scheduled, 0 blocked, 0 unclaimable, 2 dead
Oldest     3m5s
Update     0 of 1 (b2)

Conditions
CONDITION       STATUS  REASON     MESSAGE
Ready           True    AsWanted   -
Available       True    Available  -
QueueReachable  True    Reachable  -
Paused          True    Paused     no claims

Next
- it is paused
  run: kubectl paceline resume mails -n ci
- 2 dead letters
  look at them: paceline dead list -p mails
"""


@pytest.fixture(autouse=True)
def _no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


class Objects:
    """A cluster that has some groups, and tells which namespace it was asked for."""

    def __init__(self, *found: RunnerGroup) -> None:
        self.found = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in found]
        self.asked: list[str | None] = []

    async def list(self, _: object, namespace: str | None, **__: object) -> list[dict[str, Any]]:
        self.asked.append(namespace)
        return [each for each in self.found if namespace in (None, each["metadata"]["namespace"])]

    async def get(self, resource: object, namespace: str | None, name: str) -> dict[str, Any] | None:
        return next((each for each in await self.list(resource, namespace) if each["metadata"]["name"] == name), None)


def where(*found: RunnerGroup, everywhere: bool = False) -> Where:
    return Where(cast("Any", Objects(*found)), "ci", everywhere, cast("Any", SimpleNamespace()))


def test_a_namespace_at_a_glance(capsys: pytest.CaptureFixture[str]) -> None:
    draw_groups(Output(Format.TABLE), [group(), TROUBLED], where())
    assert capsys.readouterr().out == ONE


def test_one_group_with_everything(capsys: pytest.CaptureFixture[str]) -> None:
    draw_group(Output(Format.TABLE), TROUBLED)
    assert capsys.readouterr().out == WHOLE


def test_with_all_namespaces_each_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    draw_groups(Output(Format.TABLE), [TROUBLED], where(everywhere=True))
    out = capsys.readouterr().out
    assert out.splitlines()[0].startswith("NAMESPACE  GROUP")
    assert "ci/mails  it is paused" in out


def test_nothing_there_is_said_beside_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    draw_groups(Output(Format.TABLE), [], where())
    taken = capsys.readouterr()
    assert (taken.out, taken.err.startswith("no RunnerGroup in namespace ci")) == ("", True)


async def test_one_namespace_is_asked_or_all_and_never_the_other() -> None:
    here, there = group(), group(namespace="web", name="shop")
    assert [each.metadata.name for each in await find_groups(where(here, there), None)] == ["builds"]
    both = where(here, there, everywhere=True)
    assert [each.metadata.name for each in await find_groups(both, None)] == ["builds", "shop"]
    assert cast("Any", both.cluster).asked == [None]
    assert [each.metadata.namespace for each in await find_groups(both, "shop")] == ["web"]
    with pytest.raises(NotFoundError, match="in namespace ci"):
        await find_groups(where(here, there), "shop")
    with pytest.raises(InvalidInputError, match=r"\(ci, web\): choose with -n"):
        await find_groups(where(here, group(namespace="web"), everywhere=True), "builds")


def test_for_programs_it_is_the_status_and_our_words() -> None:
    told = as_json(TROUBLED)
    assert (told["namespace"], told["name"], told["status"]["pendingReplicas"]) == ("ci", "mails", 1)
    assert told["next"][0] == {"what": "it is paused", "step": "run: kubectl paceline resume mails -n ci"}
