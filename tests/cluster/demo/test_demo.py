"""`make demo` as a process: it keeps every promise that it shows, and leaves nothing behind however it ends."""

import os
import signal
import subprocess

import psutil
import pytest

from cluster.demo.process import demo, lines_until, require_figures
from paceline_dev.demo.story import STEPS

pytestmark = pytest.mark.timeout(400)
SECONDS = 60


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
    require_figures(out)


@pytest.mark.usefixtures("kubectl")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_one_that_is_interrupted_leaves_nothing_behind(number: signal.Signals) -> None:
    with demo() as process:
        lines_until(process, f"== 2/{len(STEPS)}")
        begun = descendants(process)
        assert len(begun) > 10
        os.kill(process.pid, number)
        out, _ = process.communicate(timeout=120)
        assert (process.returncode, "everything is removed" in out) == (128 + number, True), out
        assert left(begun) == []
