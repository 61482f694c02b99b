"""Progress in a terminal and in a log."""

import io
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
from rich.console import Console

from paceline_dev.progress import PlainReporter, TerminalReporter, elapsed_text, stderr_reporter


class Stream(io.StringIO):
    """A text stream that calls back with each text written, and may say that it is a terminal."""

    def __init__(self, written: Callable[[str], None] = lambda _: None, terminal: bool = False) -> None:
        super().__init__()
        self._written = written
        self._terminal = terminal

    def write(self, text: str) -> int:
        size = super().write(text)
        self._written(text)
        return size

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.9, "0s"), (59, "59s"), (60, "1m00s"), (133, "2m13s"), (3723, "1h02m03s")]
)
def test_elapsed_time_is_short(seconds: float, text: str) -> None:
    assert elapsed_text(seconds) == text


def test_a_log_shows_life_while_the_work_is_silent() -> None:
    beats = threading.Semaphore(0)
    stream = Stream(lambda text: beats.release() if "812/1431" in text else None)
    report = PlainReporter(stream, interval=0.001)

    with report.task("building kube-apiserver", total=1431) as task:
        for _ in range(812):
            task.advance("k8s.io/api/core/v1")
        assert beats.acquire(timeout=10)
        assert beats.acquire(timeout=10)

    lines = stream.getvalue().splitlines()
    assert "building kube-apiserver 812/1431 k8s.io/api/core/v1 0s" in lines
    assert lines[-1] == "building kube-apiserver: done in 0s"


def test_a_log_has_one_line_for_a_task_shorter_than_the_interval() -> None:
    stream = Stream()

    with PlainReporter(stream).task("downloading Go modules") as task:
        for module in range(1000):
            task.advance(f"module {module}")

    assert stream.getvalue() == "downloading Go modules: done in 0s\n"


def test_a_count_without_a_total_is_shown_alone() -> None:
    seen = threading.Event()
    stream = Stream(lambda text: seen.set() if text == "downloading 2 k8s.io/api v0.36.4 0s\n" else None)

    with PlainReporter(stream, interval=0.001).task("downloading") as task:
        task.advance("k8s.io/apimachinery v0.36.4")
        task.advance("k8s.io/api v0.36.4")
        assert seen.wait(10)


def test_a_task_that_fails_is_not_reported_as_done_and_its_beat_stops() -> None:
    stream = Stream()
    before = threading.active_count()

    with pytest.raises(ValueError, match="broken"), PlainReporter(stream).task("building"):
        raise ValueError("broken")

    assert stream.getvalue() == ""
    assert threading.active_count() == before


def test_a_plain_line_is_written_at_once() -> None:
    stream = Stream()
    PlainReporter(stream).line("waiting for pid 7")
    assert stream.getvalue() == "waiting for pid 7\n"


def drawn(width: int, title: str, description: str) -> str:
    """All that a terminal of this width is sent."""
    seen = threading.Event()
    stream = Stream(lambda text: seen.set() if "1/9" in text else None, terminal=True)
    report = TerminalReporter(Console(file=stream, width=width, force_terminal=True, color_system=None))
    with report.task(title, total=9) as task:
        task.advance(description)
        report.line("a [path] above")
        assert seen.wait(10)
    return stream.getvalue()


def test_a_terminal_shows_one_live_line_that_vanishes() -> None:
    text = drawn(100, "building kubectl", "k8s.io/kubectl")

    assert "building kubectl 1/9 k8s.io/kubectl 0s" in text
    assert "a [path] above\n" in text
    assert text.rstrip().endswith("building kubectl: done in 0s")
    assert "\x1b[2K" in text  # the live line is erased


def test_a_long_package_name_is_cut_so_that_the_time_stays_in_view() -> None:
    text = drawn(40, "building kubectl", "k8s.io/kubernetes/pkg/controller/volume/attachdetach")
    assert "building kubectl 1/9 k8s.io/kubernet… 0s" in text


@pytest.mark.parametrize(
    ("terminal", "term", "kind"),
    [(True, "xterm", TerminalReporter), (True, "dumb", PlainReporter), (False, "xterm", PlainReporter)],
)
def test_the_reporter_suits_stderr(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, term: str, kind: type[object]
) -> None:
    monkeypatch.setattr(sys, "stderr", Stream(terminal=terminal))
    monkeypatch.setenv("TERM", term)
    assert type(stderr_reporter()) is kind


def test_rich_is_not_imported_without_a_terminal() -> None:
    check = "import sys; from paceline_dev.progress import *; PlainReporter(); print('rich' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert answer.stdout == "False\n"
