"""Two runners as plain processes, as the example tells it, and what its rolling restart does for jobs under way."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from paceline.database import Database
from paceline.job import JobId
from paceline.queue import Queue
from paceline.testing import PostgresServer
from paceline.testing.scratch import free_ports
from paceline_dev import REPOSITORY
from runner.process import eventually
from support.ended import look
from support.listening import listening
from support.page import commands
from support.pg import one_server

FOLDER = REPOSITORY / "runner-image" / "examples" / "two-nodes"
EXPORT, MIGRATE, START, ENQUEUE, ROLL = commands(FOLDER / "README.md", "As processes")
NAMES = ("node-1", "node-2")
PATIENCE = 90
pytestmark = pytest.mark.timeout(400)


@dataclass(frozen=True)
class Nodes:
    """The example with ports and a folder of the test's own."""

    url: str
    file: Path

    @property
    def addresses(self) -> list[str]:
        return [word for word in self.file.read_text().split() if word.startswith("127.")]

    @property
    def environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PACELINE_")}
        path = f"{Path(sys.executable).parent}:{kept['PATH']}"
        return kept | {"PATH": path, "PACELINE_DATABASE_URL": self.url, "NODES": str(self.file)}

    async def begin(self, command: str, **variables: str) -> asyncio.subprocess.Process:
        """What it says is in its stdout; what a runner says goes to the runner's own log."""
        return await asyncio.create_subprocess_shell(
            command, cwd=FOLDER, env=self.environment | variables, executable="/bin/bash",
            stdout=asyncio.subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    async def shell(self, command: str, **variables: str) -> tuple[int, str]:
        """Its exit code, and what it says."""
        process = await self.begin(command, **variables)
        said, _ = await process.communicate()
        return process.returncode or 0, said.decode()

    async def give(self, command: str, **variables: str) -> str:
        code, said = await self.shell(command, **variables)
        assert code == 0, f"{command}\n{said}"
        return said

    def log(self, name: str) -> list[dict[str, Any]]:
        """What all processes of that name have logged, in their order."""
        file = self.file.with_name(f"{name}.log")
        whole = file.read_text().rpartition("\n")[0] if file.exists() else ""
        return [json.loads(line) for line in whole.splitlines()]

    def moments(self, name: str, message: str) -> list[datetime]:
        return [datetime.fromisoformat(line["at"]) for line in self.log(name) if line["message"].startswith(message)]

    async def until_ready(self, *names: str) -> None:
        async def are_ready() -> bool:
            return all([self.moments(name, "registered as") and await self.answers(name) for name in names])

        await eventually(are_ready, f"{', '.join(names)} are ready", PATIENCE)

    async def answers(self, name: str) -> bool:
        """Whether it says that it is ready, as `roll.sh` asks it."""
        where = dict(line.split() for line in self.file.read_text().splitlines() if " 127." in line)[name]
        try:
            async with aiohttp.ClientSession() as session, session.get(f"http://{where}/health/ready") as answer:
                return (await answer.text()).strip() == "ok"
        except aiohttp.ClientError:
            return False

    def processes(self) -> list[psutil.Process]:
        """All that were started from this file, whoever their parent is by now."""
        found = []
        for each in psutil.process_iter(["environ"]):
            if (each.info["environ"] or {}).get("NODES") == str(self.file):
                found.append(each)
        return found


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> PostgresServer:
    """One version is enough here."""
    return one_server(tmp_path_factory)


@pytest.fixture
async def nodes(tmp_path: Path, postgres: PostgresServer) -> AsyncIterator[Nodes]:
    assert EXPORT.startswith("export PACELINE_DATABASE_URL=")
    file = tmp_path / "nodes"
    rows = zip(NAMES, free_ports(len(NAMES)), strict=True)
    file.write_text("# a test's\n\n" + "".join(f"{name} 127.0.0.1:{port}\n" for name, port in rows))
    async with postgres.database() as url:
        made = Nodes(url, file)
        await made.give(MIGRATE)
        yield made
        left = made.processes()
        for each in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        psutil.wait_procs(left, timeout=PATIENCE)


def spans(nodes: Nodes, name: str) -> list[tuple[datetime, datetime]]:
    """From when to when a process of that name was ready."""
    begun, ended = nodes.moments(name, "registered as"), nodes.moments(name, "draining")
    return list(zip(begun, [*ended, datetime.max.replace(tzinfo=begun[0].tzinfo)], strict=False))


def covers(ready: list[tuple[datetime, datetime]], since: datetime) -> bool:
    """Whether somebody was ready at every moment since then."""
    for begun, ended in sorted(ready):
        if begun > since:
            return False
        since = max(since, ended)
    return since.year == datetime.max.year


def test_a_gap_between_two_is_seen() -> None:
    at = [datetime(2026, 1, 1, hour) for hour in range(6)]
    assert covers([(at[0], at[3]), (at[1], at[2]), (at[2], datetime.max)], at[1])
    assert not covers([(at[0], at[2]), (at[3], datetime.max)], at[1])
    assert not covers([(at[0], at[2]), (at[1], at[3])], at[1])


async def load(queue: Queue, until: asyncio.Event) -> list[JobId]:
    """Jobs that take no time at all, one after the other; which ones."""
    made: list[JobId] = []
    while not until.is_set():
        made.append((await queue.enqueue("mail.send", {"to": "ann@example.org", "text": "hello"})).id)
        await asyncio.sleep(0.05)
    return made


async def test_both_are_restarted_under_load_and_no_job_notices(nodes: Nodes) -> None:
    await nodes.give(START)
    await nodes.until_ready(*NAMES)
    both = max(nodes.moments(name, "registered as")[0] for name in NAMES)
    await nodes.give(ENQUEUE)
    rolled = asyncio.Event()
    async with await Database.open(nodes.url) as database, asyncio.TaskGroup() as tasks:
        producer = tasks.create_task(load(Queue(database, "default"), rolled))
        said = await nodes.give(ROLL)
        rolled.set()
    mails = producer.result()
    assert [line for line in said.splitlines() if line.endswith("is ready")] == [f"{name} is ready" for name in NAMES]

    async def is_done() -> bool:
        return (await look(nodes.url))["live"] == 0

    await eventually(is_done, "all jobs have ended", PATIENCE)
    seen = await look(nodes.url)
    assert (seen["dead"], seen["twice"]) == (0, [])
    assert sum(seen["by"].values()) == len(mails) + 100
    assert set(seen["by"]) == set(NAMES)
    sent = Counter(line["job"] for name in NAMES for line in nodes.log(name) if line["message"].startswith("sending"))
    assert sent == Counter(mails), "each mail was sent once"
    for name in NAMES:
        assert (len(nodes.moments(name, "registered as")), len(nodes.moments(name, "left"))) == (2, 1)
    assert covers([each for name in NAMES for each in spans(nodes, name)], both)


async def test_no_successor_is_started_while_its_predecessor_has_a_job(nodes: Nodes) -> None:
    asked, answered = asyncio.Event(), asyncio.Event()

    async def thumbs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await answered.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        await writer.drain()

    async with listening(thumbs) as port:
        await nodes.give("./start.sh node-1", THUMBS_PORT=str(port))
        await nodes.give("paceline enqueue thumb.size")
        await asyncio.wait_for(asked.wait(), PATIENCE)
        await nodes.give("./start.sh node-2")
        await nodes.until_ready(*NAMES)
        process = await nodes.begin("./roll.sh echo {} starts", READY_SECONDS="1")
        assert process.stdout is not None
        assert await process.stdout.readline() == b"node-1 drains, jobs left: 1\n"
        answered.set()
        said, _ = await process.communicate()
    assert b"node-1 starts\n" in said
    assert nodes.moments("node-1", "left")
    assert await look(nodes.url) == {"live": 0, "dead": 0, "by": {"node-1": 1}, "twice": []}


async def test_a_successor_that_does_not_come_ends_the_roll_before_the_next(nodes: Nodes) -> None:
    await nodes.give(START)
    await nodes.until_ready(*NAMES)
    code, said = await nodes.shell("./roll.sh true {}", READY_SECONDS="1")
    assert (code, "node-1 is not ready after 1 s" in said) == (1, True), said
    assert nodes.moments("node-1", "left")
    assert not nodes.moments("node-2", "draining")
    await nodes.give(ROLL)  # whoever has mended it, rolls again
    assert [len(nodes.moments(name, "registered as")) for name in NAMES] == [2, 2]


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("node-1 {}\nnode-2 {}\n", "node-2 is not ready, so node-1 stays"),
        ("node-3 {0}\nnode-1 {0}\n", 'cannot be drained: this is runner "node-1"'),
        ("node-1 {}\n", "names 1 runner"),
    ],
    ids=["the other is away", "an address is another's", "there is no other"],
)
async def test_nobody_leaves_while_there_is_no_other(nodes: Nodes, file: str, why: str) -> None:
    await nodes.give("./start.sh node-1")
    await nodes.until_ready("node-1")
    nodes.file.write_text(file.format(*nodes.addresses))
    code, said = await nodes.shell(ROLL)
    assert code == 1
    assert why in said
    assert not nodes.moments("node-1", "draining")
