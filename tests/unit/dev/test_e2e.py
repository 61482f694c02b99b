"""`make e2e` runs the stories on both sides of the cluster's network, and chooses where there is a choice."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from paceline_dev import REPOSITORY, e2e
from paceline_dev.errors import DevError
from paceline_dev.images.build import Image
from paceline_dev.images.recipe import OPERATOR, STORIES, Recipe
from paceline_dev.kind.cluster import Cluster
from paceline_dev.kind.engine import Engine
from paceline_dev.progress import PlainReporter, Reporter
from paceline_dev.releases import NoHistoryError

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
        "released_images": [],
        "dev_images": [],
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


def test_the_images_of_a_release_come_from_its_own_tree_and_are_left_out_where_that_is_not_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def tree(version: str, _: Reporter) -> Path:
        if version == "0.0.9":
            raise NoHistoryError("git fetch --unshallow")
        return Path("tree") / version

    def build(_: Engine, __: Reporter, *, recipes: tuple[Recipe, ...], root: Path) -> list[Image]:
        return [Image(f"{each.name}:{root}", 1) for each in recipes]

    monkeypatch.setattr(e2e, "RELEASES", {"0.0.9": "a", "0.1.0": "b"})
    monkeypatch.setattr(e2e, "source_tree", tree)
    monkeypatch.setattr(e2e, "build_images", build)
    engine = Engine(Path("docker"), Path("kind"), None, None)
    assert e2e.released_images(engine, PlainReporter()) == [f"{each.name}:tree/0.1.0" for each in (OPERATOR, STORIES)]
    assert "without the stories of upgrades: git fetch --unshallow" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "folder"), [([], "bench/results"), (["-k", "drained"], "build/e2e")])
def test_only_a_whole_run_is_a_result(
    ends: Ends, monkeypatch: pytest.MonkeyPatch, arguments: list[str], folder: str
) -> None:
    ends(0, 0)
    seen: list[str] = []

    def run(command: list[str], *, env: dict[str, str], **_: object) -> "subprocess.CompletedProcess[str]":
        seen.append(env["PACELINE_E2E_RESULTS"] if "support.times" in command else "")
        return subprocess.CompletedProcess([], 0)

    monkeypatch.setattr("subprocess.run", run)
    e2e.play("c", smoke=False, keep=True, arguments=arguments)
    assert seen == ["", str(REPOSITORY / folder)], "of the stories inside alone"
