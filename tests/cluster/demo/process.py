"""`make demo` as a process, here or on a kind cluster."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from paceline_dev.demo.story import STEPS


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


def require_figures(out: str) -> None:
    """Every figure of the closing table is there and right."""
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
