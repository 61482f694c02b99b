"""`make demo` as a process: it keeps every promise that it shows, and leaves nothing behind however it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from paceline_dev.demo.story import STEPS

pytestmark = pytest.mark.timeout(240)
SECONDS = 30


@contextmanager
def demo(*words: str) -> "Iterator[subprocess.Popen[str]]":
    """Started without a terminal; ended if the test has not."""
    command = [sys.executable, "-m", "paceline_dev", "demo", *words]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def lines_until(process: "subprocess.Popen[str]", words: str) -> list[str]:
    """What it says up to a line with these words."""
    assert process.stdout is not None
    said: list[str] = []
    for line in process.stdout:
        said.append(line.rstrip())
        if words in line:
            return said
    raise AssertionError(f'it never said "{words}":\n' + "\n".join(said[-30:]))


def descendants(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    found: list[psutil.Process] = psutil.Process(process.pid).children(recursive=True)
    return found


def left(processes: list[psutil.Process]) -> list[str]:
    """Those that live on."""
    _, alive = psutil.wait_procs(processes, timeout=SECONDS)
    return [each.name() for each in alive]


@pytest.mark.usefixtures("kubectl")
def test_the_story_is_told_and_every_figure_is_right() -> None:
    with demo("--rate", "12") as process:
        lines_until(process, f"{len(STEPS)}/{len(STEPS)} ")
        begun = descendants(process)
        assert {"postgres", "etcd", "kube-apiserver", "paceline"} <= {each.name() for each in begun}
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0, out
        assert left(begun) == []
    figures = dict(line.rsplit("  ", 1) for line in out.splitlines() if "  " in line and " s  " not in line)
    found = {name.strip(): value.strip() for name, value in figures.items()}
    assert found["jobs enqueued"] == found["jobs done"] != "0"
    for name in ("jobs lost", "jobs done twice", "jobs interrupted by us", "jobs claimed against a taint"):
        assert found[name] == "0"
    assert int(found["jobs cut off by kill -9, and done elsewhere"]) > 0
    for name in (
        "leader hand-over, to the new one's first job", "kill -9 of a runner to its jobs claimable",
        "kill -9 of the operator to the other one acting", *(f"step: {title}" for title in STEPS),
    ):  # fmt: skip
        assert found[name].endswith(" s")


@pytest.mark.usefixtures("kubectl")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_one_that_is_interrupted_leaves_nothing_behind(number: signal.Signals) -> None:
    with demo() as process:
        lines_until(process, "== 2/8")
        begun = descendants(process)
        assert len(begun) > 10
        os.kill(process.pid, number)
        out, _ = process.communicate(timeout=60)
        assert (process.returncode, "everything is removed" in out) == (128 + number, True), out
        assert left(begun) == []
