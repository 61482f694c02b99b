"""Levers: what each writes, what it leaves alone, and that nobody's taint is lost."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from paceline.errors import InvalidInputError, NotFoundError
from paceline_cli import levers
from paceline_cli.cluster import Where
from paceline_cli.options import Format
from paceline_cli.output import Output
from paceline_cli.run import Session
from paceline_cli.target import find
from paceline_operator.ports.errors import ConflictError
from unit.cli.cluster import Memory, at, thing

TAINTS, DRAIN, PAUSED = "paceline.dev/taints", "paceline.dev/drain", "paceline.dev/paused"
KEY = ("Runner", "ci", "r1")


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    made = Memory(
        thing("Runner", "r1"), thing("RunnerGroup", "builds"), thing("Runner", "both"), thing("RunnerGroup", "both")
    )

    @asynccontextmanager
    async def reached(namespace: str | None, *_: object, **__: object) -> AsyncIterator[Where]:
        yield at(made, namespace or "ci")

    monkeypatch.setattr(levers, "reached", reached)
    return made


@pytest.fixture
def session() -> Session:
    return Session(None, Output(Format.TABLE))


def annotations(memory: Memory, kind: str = "Runner", name: str = "r1") -> dict[str, str]:
    found: dict[str, str] = memory.objects[kind, "ci", name]["metadata"].get("annotations") or {}
    return found


async def test_a_taint_is_added_to_those_that_are_there_and_replaces_its_like(
    memory: Memory, session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    await levers.taint(session, "r1", ["gpu=bad:NoClaim", "maint:NoLead"])
    await levers.taint(session, "r1", ["gpu=worse:NoClaim"])
    assert annotations(memory) == {TAINTS: "gpu=worse:NoClaim,maint:NoLead"}
    assert capsys.readouterr().out.splitlines()[-1] == (
        "runner r1 has gpu=worse:NoClaim, maint:NoLead by annotation; "
        "kubectl paceline untaint r1 gpu=worse:NoClaim -n ci takes it away"
    )
    with pytest.raises(InvalidInputError, match='unknown effect "NoClam"'):
        await levers.taint(session, "r1", ["gpu=bad:NoClam"])
    with pytest.raises(InvalidInputError, match="64 are the most"):
        await levers.taint(session, "r1", [f"t{number}:NoClaim" for number in range(64)])
    assert annotations(memory) == {TAINTS: "gpu=worse:NoClaim,maint:NoLead"}


async def test_taints_go_by_key_by_effect_and_all(memory: Memory, session: Session) -> None:
    every = "a:NoClaim,a:NoLead,b=1:NoClaim,c:NoClaim"
    memory.objects[KEY]["metadata"]["annotations"] = {TAINTS: every, "note": "mine"}
    await levers.untaint(session, "r1", ["a:NoLead", "b"])
    assert annotations(memory) == {TAINTS: "a:NoClaim,c:NoClaim", "note": "mine"}
    with pytest.raises(InvalidInputError, match=r"no taint d by annotation \(there are: a:NoClaim, c:NoClaim\)"):
        await levers.untaint(session, "r1", ["a", "d"])
    assert annotations(memory)[TAINTS] == "a:NoClaim,c:NoClaim", "all or nothing"
    await levers.untaint(session, "r1", None, everything=True)
    assert annotations(memory) == {"note": "mine"}


async def test_who_was_quicker_does_not_lose_a_taint(memory: Memory, session: Session) -> None:
    def another(cluster: Memory) -> None:
        cluster.before_patch = lambda _: None
        meta = cluster.objects[KEY]["metadata"]
        meta["annotations"], meta["resourceVersion"] = {TAINTS: "theirs:NoClaim"}, "2"

    memory.before_patch = another
    await levers.taint(session, "r1", ["ours:NoLead"])
    assert annotations(memory) == {TAINTS: "theirs:NoClaim,ours:NoLead"}


async def test_who_is_always_too_late_is_told(memory: Memory, session: Session) -> None:
    def another(cluster: Memory) -> None:
        cluster.objects[KEY]["metadata"]["resourceVersion"] += "x"

    memory.before_patch = another
    with pytest.raises(ConflictError):
        await levers.taint(session, "r1", ["ours:NoLead"])


async def test_an_annotation_that_cannot_be_read_is_quoted_and_can_be_removed(memory: Memory, session: Session) -> None:
    memory.objects[KEY]["metadata"]["annotations"] = {TAINTS: "nonsense"}
    with pytest.raises(InvalidInputError, match=r'taint "nonsense" has no effect.*or untaint --all'):
        await levers.taint(session, "r1", ["a:NoClaim"])
    await levers.untaint(session, "r1", None, everything=True)
    assert annotations(memory) == {}


async def test_drain_and_back(memory: Memory, session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    await levers.drain(session, "r1", at(memory))
    await levers.drain(session, "builds", at(memory))
    assert annotations(memory) == annotations(memory, "RunnerGroup", "builds") == {DRAIN: "true"}
    await levers.undrain(session, "r1")
    assert annotations(memory) == {}
    await levers.taint(session, "r1", ["maint:Drain"])
    await levers.undrain(session, "r1")
    assert capsys.readouterr().out.splitlines()[-1] == (
        "runner r1 still drains; it still has the taint maint:Drain: kubectl paceline untaint r1 maint:Drain"
    )


async def test_pause_is_for_groups(memory: Memory, session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    await levers.pause(session, "builds")
    assert annotations(memory, "RunnerGroup", "builds") == {PAUSED: "true"}
    await levers.resume(session, "builds")
    assert annotations(memory, "RunnerGroup", "builds") == {}
    with pytest.raises(NotFoundError, match="there is no RunnerGroup r1 in namespace ci"):
        await levers.pause(session, "r1")
    assert capsys.readouterr().out == (
        "group builds is paused: it claims nothing and keeps its size; kubectl paceline resume builds -n ci ends it\n"
        "group builds goes on\n"
    )


@pytest.mark.parametrize(
    ("name", "kind"), [("runner/both", "Runner"), ("rnr/both", "Runner"), ("rgrp/both", "RunnerGroup")]
)
async def test_a_name_that_two_have_is_chosen_by_its_kind(memory: Memory, name: str, kind: str) -> None:
    assert (await find(at(memory), name)).resource.kind == kind


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("both", "write runner/both or group/both"),
        ("nobody", "there is no Runner or RunnerGroup nobody in namespace ci"),
        ("pod/r1", "write runner/NAME or group/NAME"),
    ],
)
async def test_a_name_that_means_nothing_or_two_is_told(memory: Memory, name: str, said: str) -> None:
    with pytest.raises((InvalidInputError, NotFoundError), match=said):
        await find(at(memory), name)


async def test_a_namespace_is_not_mixed_up_with_another(memory: Memory, session: Session) -> None:
    memory.objects["Runner", "web", "r1"] = thing("Runner", "r1", "web")
    await levers.taint(session, "r1", ["a:NoClaim"], namespace="web")
    assert annotations(memory) == {}
    found: dict[str, Any] = memory.objects["Runner", "web", "r1"]["metadata"]["annotations"]
    assert found == {TAINTS: "a:NoClaim"}
