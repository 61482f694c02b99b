"""A laptop with one command: a database, a runner that follows the code, a table of jobs, and nothing left behind."""

import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
import pty
import re
import shlex
import shutil
import signal
import struct
import sys
import termios
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

import psutil
import pytest
from typer.testing import CliRunner

from paceline.queue import Queue
from paceline_cli import dev
from paceline_cli.main import app
from paceline_cli.run import Session
from paceline_dev import REPOSITORY
from runner.process import there, until

PAGE = REPOSITORY / "docs" / "how-to" / "first-job.md"
EXAMPLES = REPOSITORY / "runner-image" / "examples"
PATIENCE = 40
HELLO = """\
from paceline import Jobs

jobs = Jobs()


@jobs.handler("hello")
async def hello(name: str) -> str:
    return f"hello {name}"
"""
WAITS = """\
import asyncio
from pathlib import Path

from paceline import Jobs

jobs = Jobs()
VERSION = 1


@jobs.handler("wait")
async def wait(name: str) -> int:
    Path("begun").write_text(name)
    while not Path(name).exists():
        await asyncio.sleep(0.01)
    return VERSION
"""
NEVER_YIELDS = """\
import time
from pathlib import Path

from paceline import Jobs

jobs = Jobs()


@jobs.handler("wait")
async def wait(name: str) -> None:
    with Path("ticks").open("w", buffering=1) as ticks:
        ticks.write("begun\\n")
        Path("begun").write_text(name)
        while True:
            time.sleep(0.1)
            ticks.write("\\n")
"""
CRASHES = """\
import os
from paceline import Jobs

jobs = Jobs()


@jobs.handler("crash")
async def crash(name: str) -> str:
    if not os.path.exists(name):
        open(name, "w").close()
        os._exit(9)
    return "the second time"
"""


class Dev:
    """`paceline dev` in a process of its own, on a terminal or not, and what it has written."""

    def __init__(self, process: asyncio.subprocess.Process, stream: asyncio.StreamReader) -> None:
        self.process = process
        self.text = ""
        self._news = asyncio.Condition()
        self._reader = asyncio.create_task(self._read(stream))

    @classmethod
    async def start(cls, folder: Path, *words: str, url: str = "", terminal: bool = False, **variables: str) -> Self:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PACELINE_")}
        for name in ("DATABASE_URL", "COLUMNS", "LINES"):  # the terminal's own size counts
            kept.pop(name, None)
        env = {**kept, "TERM": "xterm", "NO_COLOR": "1", **({"PACELINE_DATABASE_URL": url} if url else {}), **variables}
        command = [sys.executable, "-m", "paceline_cli", "dev", *words]
        if not terminal:
            process = await asyncio.create_subprocess_exec(
                *command, cwd=folder, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
            )
            assert process.stdout is not None
            return cls(process, process.stdout)
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 110, 0, 0))
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        stream = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(ours, "rb", buffering=0))
        return cls(process, stream)

    async def _read(self, stream: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):  # how a terminal says that its last writer has left
            while data := await stream.read(2**16):
                async with self._news:
                    self.text += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data.decode(errors="replace"))
                    self._news.notify_all()
        async with self._news:
            self._news.notify_all()

    async def said(self, pattern: str, times: int = 1) -> re.Match[str]:
        """Wait for what it writes."""
        try:
            async with asyncio.timeout(PATIENCE), self._news:
                while len(found := list(re.finditer(pattern, self.text))) < times:
                    assert not self._reader.done(), f"it ended without saying {pattern!r}:\n{self.text}"
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"it never said {pattern!r}:\n{self.text}") from None
        return found[-1]

    @property
    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    async def ended(self, seconds: float = PATIENCE) -> int:
        try:
            async with asyncio.timeout(seconds):
                code = await self.process.wait()
                await asyncio.wait([self._reader])
        except TimeoutError:
            raise AssertionError(f"it does not end:\n{self.text}") from None
        return code

    async def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)


StartDev = Callable[..., Awaitable[Dev]]


@pytest.fixture
async def start_dev(tmp_path: Path) -> AsyncIterator[StartDev]:
    """Start it in a folder of the test's own; it does not outlive the test."""
    async with AsyncExitStack() as stack:

        async def make(*words: str, url: str = "", terminal: bool = False, **variables: str) -> Dev:
            made = await Dev.start(tmp_path, *words, url=url, terminal=terminal, **variables)
            stack.push_async_callback(made.end)
            return made

        yield make


@pytest.fixture
def default(queue: Queue) -> Queue:
    """The pool that is meant if nobody names one."""
    return Queue(queue.database, "default")


def _nobody_left(family: list[psutil.Process]) -> None:
    _, left = psutil.wait_procs(family, timeout=PATIENCE)
    for process in left:
        process.kill()
    assert left == []


def _page() -> tuple[str, list[str]]:
    """The file that the page tells to write, and the commands and answers on it."""
    (source,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    consoles = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return source, "".join(consoles).splitlines()


async def test_the_page_for_beginners_works_as_it_stands(start_dev: StartDev, tmp_path: Path) -> None:
    source, (install, begin, enqueue, answer) = _page()
    assert install == f"$ {dev.INSTALL.replace('paceline[', '.[')}", "from the clone: nothing is published yet"
    (tmp_path / "jobs.py").write_text(source)

    running = await start_dev(*shlex.split(begin)[3:])
    await running.said(r"its data is gone when this ends")
    url = (await running.said(r"export PACELINE_DATABASE_URL=(\S+)")).group(1)
    await running.said(r'job 1 hello is done: "hello ann"')

    other = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "paceline_cli", *shlex.split(enqueue)[2:], stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PACELINE_DATABASE_URL": url},
    )  # fmt: skip
    out, _ = await other.communicate()
    assert (other.returncode, out.decode()) == (0, f"{answer}\n")

    family = running.family
    assert any("postgres" in process.name() for process in family)
    running.process.send_signal(signal.SIGINT)
    assert await running.ended() == 0
    _nobody_left(family)


async def test_a_killed_dev_takes_database_and_runner_with_it(start_dev: StartDev, tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(HELLO)
    running = await start_dev("--app", "jobs:jobs")
    await running.said("registered as dev")
    family = running.family
    names = " ".join(" ".join(process.cmdline()) for process in family)
    assert "paceline_cli run" in names
    assert "postgres" in names
    assert "postgresql://" not in names, "everybody on the machine can read a command line"
    running.process.kill()
    await running.process.wait()
    _nobody_left(family)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed, which the example needs")
async def test_the_example_works_on_a_laptop_as_its_page_says(
    start_dev: StartDev, default: Queue, migrated: str, tmp_path: Path
) -> None:
    page = (EXAMPLES / "README.md").read_text()
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    server = await asyncio.create_subprocess_exec(
        "node", tmp_path / "thumbs.js", env={**os.environ, "THUMBS_PORT": "0"}, stdout=asyncio.subprocess.PIPE
    )
    assert server.stdout is not None
    port = (await server.stdout.readline()).decode().split()[-1]
    try:
        await start_dev("--app", "jobs:jobs", url=migrated, THUMBS_PORT=port)
        results = {}
        for kind, payload in re.findall(r"^\$ paceline enqueue (\S+) (.*) --wait$", page, re.MULTILINE):
            made = await default.enqueue(kind, json.loads(shlex.split(payload)[0]))
            results[kind] = (await until(default, made.id, "done", "dead")).result
    finally:
        server.kill()
        await server.communicate()
    assert isinstance(results.pop("mail.send"), dict)
    assert results == {
        "report.build": {"may": 3, "june": 4},
        "number.factor": [7, 11, 13],
        "payload.digest": {"sha256": hashlib.sha256(b'"hello"').hexdigest()},
        "thumb.size": {"width": 128, "height": 96},
    }


async def test_a_save_lets_jobs_finish_and_starts_the_new_code(
    start_dev: StartDev, default: Queue, migrated: str, tmp_path: Path
) -> None:
    (tmp_path / "jobs.py").write_text(WAITS)
    running = await start_dev("--app", "jobs:jobs", url=migrated)
    old = await default.enqueue("wait", "go")
    await there(tmp_path / "begun")
    (tmp_path / "jobs.py").write_text(WAITS.replace("VERSION = 1", "VERSION = 22"))
    await running.said(r"jobs\.py changed: the runner starts anew")
    await running.said("draining: 1 jobs are running")
    (tmp_path / "go").touch()
    await running.said("registered as dev", 2)
    new = await default.enqueue("wait", "go")
    finished = await until(default, old.id, "done")
    assert (finished.result, finished.tries, finished.losses) == (1, 0, 0)
    assert (await until(default, new.id, "done")).result == 22


async def test_no_reload_leaves_the_runner_alone(
    start_dev: StartDev, default: Queue, migrated: str, tmp_path: Path
) -> None:
    (tmp_path / "jobs.py").write_text(HELLO)
    (tmp_path / "other.py").touch()
    running = await start_dev("--app", "jobs:jobs", "--no-reload", url=migrated)
    await running.said("registered as dev")
    (tmp_path / "other.py").write_text("changed = True")
    await asyncio.sleep(1.5)  # three looks, if there were any
    made = await default.enqueue("hello", "ann")
    await until(default, made.id, "done")
    assert "changed" not in running.text


async def test_a_job_that_nobody_can_do_is_told_once_with_the_reason(
    start_dev: StartDev, default: Queue, migrated: str, tmp_path: Path
) -> None:
    (tmp_path / "jobs.py").write_text(HELLO)
    running = await start_dev("--app", "jobs:jobs", "--enqueue", "nobodys.kind", url=migrated)
    await running.said('dev: 1 cannot run: .*handler for kind "nobodys.kind"')
    made = await default.enqueue("hello", "ann")
    await running.said(f"job {made.id} hello is done")
    assert running.text.count("cannot run") == 1


async def test_code_that_cannot_be_imported_is_named_and_mended_by_the_next_save(
    start_dev: StartDev, default: Queue, migrated: str, tmp_path: Path
) -> None:
    (tmp_path / "jobs.py").write_text(HELLO)
    running = await start_dev("--app", "jobs:jobs", url=migrated)
    await running.said("registered as dev")
    (tmp_path / "jobs.py").write_text(f"{HELLO}\nundefined()\n")
    told = await running.said(r"dev: the runner cannot start: (.*)\n")
    assert "NameError" in told.group(1)
    assert "jobs.py, line 10" in told.group(1)
    (tmp_path / "jobs.py").write_text(HELLO.replace("hello {name}", "good morning {name}"))
    await running.said("registered as dev", 2)
    made = await default.enqueue("hello", "ann")
    assert (await until(default, made.id, "done")).result == "good morning ann"


async def test_without_reload_code_that_cannot_be_imported_is_the_end(
    start_dev: StartDev, migrated: str, tmp_path: Path
) -> None:
    (tmp_path / "jobs.py").write_text("this is no python")
    running = await start_dev("--app", "jobs:jobs", "--no-reload", url=migrated)
    assert await running.ended() == 1
    assert "jobs.py, line 1" in running.text


async def test_a_handler_that_kills_the_runner_does_not_kill_dev(
    start_dev: StartDev, default: Queue, migrated: str, tmp_path: Path
) -> None:
    (tmp_path / "jobs.py").write_text(CRASHES)
    running = await start_dev("--app", "jobs:jobs", url=migrated)
    made = await default.enqueue("crash", "mark")
    await running.said("the runner ended with exit code 9: another one starts in 1 s")
    finished = await until(default, made.id, "done")
    assert (finished.result, finished.tries, finished.losses) == ("the second time", 0, 1)


async def test_a_second_ctrl_c_waits_for_nobody(
    start_dev: StartDev, default: Queue, migrated: str, tmp_path: Path
) -> None:
    (tmp_path / "jobs.py").write_text(NEVER_YIELDS)
    running = await start_dev("--app", "jobs:jobs", url=migrated)
    await default.enqueue("wait", "never")
    await there(tmp_path / "begun")
    family, before = running.family, (tmp_path / "ticks").stat().st_size
    running.process.send_signal(signal.SIGINT)
    running.process.send_signal(signal.SIGTERM)  # two of the same kind could arrive as one
    assert await running.ended() == 0
    assert (tmp_path / "ticks").stat().st_size - before < 50, "it would have had eight seconds"
    _nobody_left(family)


async def test_a_terminal_shows_jobs_counts_and_what_cannot_run(
    start_dev: StartDev, default: Queue, migrated: str, tmp_path: Path
) -> None:
    (tmp_path / "jobs.py").write_text(HELLO)
    words = ("--enqueue", 'hello "ann"', "--enqueue", "hello 5", "--enqueue", "nobodys.kind")
    running = await start_dev("--app", "jobs:jobs", *words, url=migrated, terminal=True)
    await running.said(r"ID +KIND +STATE +TRIES +AGE +RUNNER +PROGRESS, RESULT OR ERROR")
    await running.said(r'\d+ +hello +done +0 +\S+ +dev-\S+ +"hello ann"')
    await running.said(r"\d+ +hello +dead +1/5 .*BadPayload: payload of \"hello\" does not fit")
    await running.said(r"runner dev-\S+ active 0/4 · ready 1 · running 0 · dead 1 · 1 done since the start")
    await running.said('1 cannot run: .*handler for kind "nobodys.kind"')
    await running.said(r"info +registered as dev")
    (tmp_path / "jobs.py").write_text(f"{HELLO}\nundefined()\n")
    await running.said(r"The runner cannot start:\s+.*NameError")
    running.process.send_signal(signal.SIGINT)
    assert await running.ended() == 0


async def test_a_database_without_our_schema_is_refused_with_the_command_that_makes_it(
    start_dev: StartDev, empty_database: str, tmp_path: Path
) -> None:
    (tmp_path / "jobs.py").write_text(HELLO)
    running = await start_dev("--app", "jobs:jobs", url=empty_database)
    assert await running.ended() == 1
    assert "run: paceline migrate" in running.text


@pytest.mark.parametrize("missing", [dev.SERVER, *dev.NEEDED])
def test_what_is_not_installed_is_named_with_the_command(
    missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("PACELINE_DATABASE_URL", "DATABASE_URL", "PACELINE_APP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(dev, "find_spec", lambda name: None if name == missing else object())
    monkeypatch.setattr(dev, "_server", None)  # whoever gets there fails in another way
    done = CliRunner().invoke(app, ["dev", "--app", "jobs:jobs"])
    assert done.exit_code == 1
    assert f"pip install 'paceline[testing,runner]' (there is no {missing})" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--app", "jobs:jobs", "--enqueue", "hello {to: ann}"], "the payload of hello is not JSON"),
        (["--app", "jobs:jobs", "--enqueue", "bad@kind"], 'kind "bad@kind" is no name'),
        ([], "say where the handlers are"),
    ],
)
def test_a_mistake_is_told_before_anything_starts(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PACELINE_APP", raising=False)
    monkeypatch.setattr(dev, "_server", None)  # whoever gets there fails in another way
    done = CliRunner().invoke(app, ["dev", *words])
    assert done.exit_code in (1, 2)
    assert message in " ".join(done.output.replace("│", " ").split())


def _called(monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[str | None, dict[str, object]]:
    """The URL and the settings that a command line comes to."""
    found: list[tuple[str | None, dict[str, object]]] = []

    async def nothing() -> None: ...

    def develop(session: Session, known: dict[str, object], *_: object, **__: object) -> object:
        found.append((session.given_url, known))
        return nothing()

    monkeypatch.setattr(dev, "run_to_its_end", lambda _, work: work().close())
    monkeypatch.setattr(dev, "_develop", develop)
    assert CliRunner().invoke(app, ["dev", *words]).exit_code == 0
    return found[0]


def test_the_project_says_what_the_command_line_does_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("PACELINE_APP", "PACELINE_POOL", "PACELINE_SLOTS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "pyproject.toml").write_text('[tool.paceline]\napp = "shop:jobs"\npool = "builds"\nslots = 7\n')
    _, known = _called(monkeypatch, "--slots", "2")
    assert (known["app"], known["pool"], known["slots"]) == ("shop:jobs", "builds", 2)
    words = dev._command(known, "builds", own=True)
    assert words[words.index("--slots") + 1] == "2"


def test_an_empty_url_asks_for_a_server_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PACELINE_DATABASE_URL", raising=False)
    monkeypatch.setenv("DATABASE_URL", "postgresql://shop@db/shop")
    assert _called(monkeypatch, "--app", "shop:jobs")[0] == "postgresql://shop@db/shop"
    assert _called(monkeypatch, "--app", "shop:jobs", "--database-url", "")[0] is None
