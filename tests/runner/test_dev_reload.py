"""What a developer saves is noticed, and the runner is replaced: politely, then firmly, and again after a crash."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from paceline_runner import reload
from paceline_runner.reload import Child, Reloader, Sources
from runner.process import eventually

DEAF = """
import signal, sys, time
said = iter(["first", "second"])
signal.signal(signal.SIGTERM, lambda *_: print(next(said), flush=True))
print("up", flush=True)
while True:
    time.sleep(0.01)
"""
HEEDS_THE_SECOND = """
import signal, sys, time
got = []
signal.signal(signal.SIGTERM, lambda *_: got.append(1) or print("signal", len(got), flush=True))
print("up", flush=True)
while len(got) < 2:
    time.sleep(0.01)
"""


def _write(path: Path, text: str = "x = 1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_file_that_was_saved_added_or_removed_is_told_once(tmp_path: Path) -> None:
    old, gone = _write(tmp_path / "old.py"), _write(tmp_path / "deep" / "down" / "gone.py")
    sources = Sources(tmp_path)
    assert sources.changed() == []
    _write(old, "x = 22\n")
    _write(tmp_path / "deep" / "new.py")
    gone.unlink()
    assert sources.changed() == ["deep/down/gone.py", "deep/new.py", "old.py"]
    assert sources.changed() == []


def test_a_save_of_the_same_size_is_noticed(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.py", "x = 1\n")
    os.utime(path, ns=(0, 1_000))
    sources = Sources(tmp_path)
    path.write_text("x = 2\n")
    os.utime(path, ns=(0, 2_000))
    assert sources.changed() == ["a.py"]


@pytest.mark.parametrize(
    "name",
    [
        ".venv/lib/a.py",
        ".git/a.py",
        "node_modules/x/a.py",
        "deep/__pycache__/a.py",
        "env/lib/a.py",
        "notes.txt",
        "a.pyc",
    ],
)
def test_what_is_nobodys_code_is_not_watched(tmp_path: Path, name: str) -> None:
    _write(tmp_path / "env" / "pyvenv.cfg", "home = /usr")
    sources = Sources(tmp_path)
    _write(tmp_path / name)
    assert sources.changed() == []


def test_of_too_many_files_the_nearest_are_watched(tmp_path: Path) -> None:
    near = _write(tmp_path / "near.py")
    far = [_write(tmp_path / "a" / "b" / f"far{number}.py") for number in range(10)]
    sources = Sources(tmp_path, most=5)
    assert sources.capped
    assert not Sources(tmp_path, most=11).capped
    _write(near, "x = 22\n")
    _write(far[-1], "x = 22\n")
    assert sources.changed() == ["near.py"]


def test_new_code_is_not_compiled_within_the_second_of_its_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now = _write(tmp_path / "a.py"), 1_800_000_000.25
    monkeypatch.setattr(reload, "time", SimpleNamespace(time=lambda: now))
    for saved, seconds in ((now, 0.75), (now - 5, 0.0), (now + 3600, 1.0), (now // 1 + 1, 1.0)):
        os.utime(path, (now, saved))
        assert Sources(tmp_path).unripe() == seconds


class Ears:
    """Remembers everything that a reloader tells."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.notes: list[str] = []
        self.whys: list[str | None] = []

    def heard(self, line: str) -> None:
        self.lines.append(line)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def broken(self, why: str | None) -> None:
        self.whys.append(why)

    async def has(self, line: str) -> None:
        async def is_there() -> bool:
            return line in self.lines

        await eventually(is_there, f"it says {line}")


def _python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


async def test_who_does_not_finish_in_time_is_told_a_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ears, real = Ears(), asyncio.sleep

    async def until_it_has_heard(seconds: float) -> None:
        if seconds == 60:
            await ears.has("signal 1")
        else:
            await real(seconds)

    monkeypatch.setattr("paceline_runner.reload.asyncio.sleep", until_it_has_heard)
    monkeypatch.setattr(reload, "FORCE", 30.0)
    child = Child(_python(HEEDS_THE_SECOND), os.environ, ears.heard)
    await ears.has("up")
    await child.leave(60, asyncio.Event())
    assert ears.lines == ["up", "signal 1", "signal 2"]
    assert child.end.result() == 0


async def test_who_heeds_nothing_is_killed_when_somebody_is_in_a_hurry() -> None:
    ears, hurry = Ears(), asyncio.Event()
    child = Child(_python(DEAF), os.environ, ears.heard)
    await ears.has("up")
    leaving = asyncio.create_task(child.leave(60, hurry))
    await ears.has("first")
    hurry.set()
    done, _ = await asyncio.wait([leaving], timeout=40)
    child._send(signal.SIGKILL)
    await leaving
    assert done
    assert child.end.result() == -signal.SIGKILL
    assert not psutil.pid_exists(child.pid)


async def test_a_line_without_end_is_cut_and_the_last_one_needs_none() -> None:
    ears = Ears()
    child = Child(_python("import sys; sys.stdout.write('x' * 5_000_000 + '\\nlast')"), os.environ, ears.heard)
    assert await child.end == 0
    assert max(map(len, ears.lines)) <= 4_000
    assert ears.lines[-1] == "last"


async def test_one_who_holds_the_pipe_does_not_hold_up_the_end() -> None:
    ears = Ears()
    code = "import subprocess as s; print(s.Popen(['sleep', '60'], start_new_session=True).pid, 'up', sep=chr(10))"
    child = Child(_python(code), os.environ, ears.heard)
    await ears.has("up")
    stray = psutil.Process(int(ears.lines[0]))
    try:
        async with asyncio.timeout(40):
            assert await child.end == 0
        assert stray.is_running()
    finally:
        stray.kill()


async def test_what_fails_soon_is_started_again_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    ears, stop = Ears(), asyncio.Event()
    pauses: list[float] = []
    real = asyncio.sleep

    async def quick(seconds: float) -> None:
        if seconds >= 1:
            pauses.append(seconds)
            if len(pauses) == 6:
                stop.set()
            seconds = 0
        await real(seconds)

    monkeypatch.setattr("paceline_runner.reload.asyncio.sleep", quick)
    assert await Reloader(_python("raise SystemExit(70)"), os.environ, ears, None).run(stop, asyncio.Event()) == 0
    assert pauses == [1, 2, 4, 8, 10, 10]
    assert ears.notes[0] == "the runner ended with exit code 70: another one starts in 1 s"
