"""`make e2e` runs the stories on both sides of the cluster's network, and chooses where there is a choice."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from paceline_dev import e2e
from paceline_dev.errors import DevError
from paceline_dev.kind.cluster import Cluster
from paceline_dev.kind.engine import Engine

Ends = Callable[[int, int], None]


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Ends:
    """Let pytest end with these codes, outside and inside; there is a cluster already."""
    engine = Engine(Path("docker"), Path("kind"), None, None)
    monkeypatch.setattr(Cluster, "machine", "10.0.0.1")
    for name, value in {
        "find_engine": engine,
        "find_base": "base:1",
        "load": None,
        "bring_up": Cluster("c", Path("kubeconfig"), engine, Path("kubectl"), Path("bin")),
    }.items():
        monkeypatch.setattr(e2e, name, lambda *_, value=value: value)

    def give(outside: int, inside: int) -> None:
        codes = iter((outside, inside))
        monkeypatch.setattr("subprocess.run", lambda *_, **__: subprocess.CompletedProcess([], next(codes)))

    return give


def play() -> None:
    e2e.play("c", smoke=False, keep=True, arguments=["-k", "drained"])


@pytest.mark.parametrize("codes", [(0, 0), (5, 0), (0, 5)], ids=["both", "inside only", "outside only"])
def test_it_is_enough_that_tests_are_chosen_on_one_side(ends: Ends, codes: tuple[int, int]) -> None:
    ends(*codes)
    play()


def test_a_choice_of_nothing_is_an_error(ends: Ends) -> None:
    ends(5, 5)
    with pytest.raises(DevError, match="no test is chosen by -k drained"):
        play()


@pytest.mark.parametrize(("codes", "where"), [((1, 0), "outside"), ((0, 1), "inside"), ((5, 2), "inside")])
def test_a_failure_on_either_side_is_one(ends: Ends, codes: tuple[int, int], where: str) -> None:
    ends(*codes)
    with pytest.raises(DevError, match=f"the tests {where} the cluster's network failed"):
        play()
