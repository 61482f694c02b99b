"""Completion: names from the cluster, silence where there is none, and kubectl's own form."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from paceline_cli import cluster, complete
from paceline_cli.cluster import Where
from paceline_cli.main import app
from unit.cli.cluster import Memory, at, thing


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    made = Memory(
        thing("RunnerGroup", "builds"), thing("Runner", "builds-x1"), thing("Runner", "mails-x1"),
        thing("Runner", "builds-far", "web"),
    )  # fmt: skip

    @asynccontextmanager
    async def reached(namespace: str | None, *_: object, **__: object) -> AsyncIterator[Where]:
        yield at(made, namespace or "ci")

    monkeypatch.setattr(cluster, "reached", reached)
    return made


def kubectl(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """What kubectl is told for these words, the last one to be completed."""
    monkeypatch.setattr("sys.argv", ["kubectl_complete-paceline", *words])
    for name in ("_PACELINE_COMPLETE", "_TYPER_COMPLETE_FISH_ACTION", "_TYPER_COMPLETE_ARGS"):
        monkeypatch.setenv(name, "")  # so that it is put back
    complete.kubectl_main()
    taken = capsys.readouterr()
    assert taken.err == ""
    *found, directive = taken.out.splitlines()
    assert directive == ":4"
    return [each.partition("\t")[0] for each in found]


def test_names_are_those_of_the_namespace(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kubectl(monkeypatch, capsys, "drain", "bui") == ["builds", "builds-x1"]
    assert kubectl(monkeypatch, capsys, "drain", "-n", "web", "") == ["builds-far"]
    assert kubectl(monkeypatch, capsys, "rollout", "undo", "") == ["builds"]
    assert kubectl(monkeypatch, capsys, "promote", "m") == ["mails-x1"]


def test_commands_and_options_are_completed_too(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kubectl(monkeypatch, capsys, "unt") == ["untaint"]
    assert "--all-namespaces" in kubectl(monkeypatch, capsys, "status", "--all")


def test_a_cluster_that_is_away_is_no_word_on_the_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def reached(*_: object, **__: object) -> None:
        raise RuntimeError("no cluster")

    monkeypatch.setattr(cluster, "reached", reached)
    assert kubectl(monkeypatch, capsys, "drain", "") == []


def test_whoever_takes_too_long_is_not_waited_for(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    async def never(*_: object, **__: object) -> list[object]:
        await asyncio.Event().wait()
        return []

    monkeypatch.setattr(memory, "list", never)
    monkeypatch.setattr(complete, "SECONDS", 0.01)
    assert kubectl(monkeypatch, capsys, "drain", "") == []


@pytest.mark.parametrize(
    ("shell", "asked", "told"),
    [
        ("bash", {"COMP_WORDS": "paceline drain bui", "COMP_CWORD": "2"}, "builds\nbuilds-x1"),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "paceline drain bui"}, '_arguments \'*: :(("builds"\n"builds-x1"))\''),
        (
            "fish",
            {"_TYPER_COMPLETE_ARGS": "paceline drain bui", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
            "builds\nbuilds-x1",
        ),
    ],
)
def test_every_shell_is_answered_in_its_form(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shell: str,
    asked: dict[str, str], told: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("_PACELINE_COMPLETE", f"complete_{shell}")
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        app(prog_name="paceline")
    assert capsys.readouterr().out.strip() == told
