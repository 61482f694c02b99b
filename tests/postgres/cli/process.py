"""Runs the command as a user does, and plays the runner that its jobs wait for."""

import asyncio
import json
import os
import tarfile
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from tempfile import TemporaryFile
from typing import Protocol

from pydantic import JsonValue

from paceline.claims import Failed, Finished, Incarnation, Registration
from paceline.job import JobId
from paceline.queue import Queue
from support.forked import Forked
from support.pg import PATIENCE


@dataclass(frozen=True)
class Ran:
    """What came of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> JsonValue:
        """Its answer; stdout must be one JSON document and nothing else."""
        answer: JsonValue = json.loads(self.out)
        return answer

    @property
    def fields(self) -> dict[str, JsonValue]:
        """The same, where it is an object."""
        assert isinstance(self.json, dict)
        return self.json


class Cli(Protocol):
    """Runs `paceline` with some words."""

    async def __call__(self, *words: object, stdin: str = "", url: str | None = None, **variables: str) -> Ran:
        """`url` is another database; "" is none at all."""


def environment(url: str, **variables: str) -> dict[str, str]:
    """The environment of a user who has set only this."""
    # without a buffer Python drops the rest of a write that a leaving reader cut short, and never hears of it
    left_out = ("DATABASE_URL", "PYTHONUNBUFFERED")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PACELINE_") and key not in left_out}
    return {**kept, "COLUMNS": "120", **({"PACELINE_DATABASE_URL": url} if url else {}), **variables}


async def run_cli(url: str, *words: object, stdin: str = "", **variables: str) -> Ran:
    """Run the command in a process."""
    with ExitStack() as open_files:
        given, out, err = (open_files.enter_context(TemporaryFile()) for _ in range(3))
        given.write(stdin.encode())
        given.seek(0)
        process = Forked(
            [str(word) for word in words], environment(url, **variables),
            stdin=given.fileno(), stdout=out.fileno(), stderr=err.fileno(),
        )  # fmt: skip
        code = await asyncio.to_thread(process.wait)
        out.seek(0)
        err.seek(0)
        return Ran(code, out.read().decode(), err.read().decode())


class Letters(Protocol):
    """Makes dead letters in the pool `builds`."""

    async def __call__(self, count: int = 1, kind: str = "mail", cause: str = "Failed") -> list[JobId]:
        """Their ids."""


async def serve(queue: Queue, kind: str, result: str | None) -> JobId:
    """Wait for one job, and finish it with a result, or (None) fail it for good."""
    who = Registration(name="worker", pool=queue.pool, kinds=(kind,), lease=timedelta(hours=1))
    runner = await Incarnation.register(queue.database, who)
    async with asyncio.timeout(PATIENCE):
        while not (jobs := (await runner.step(1)).jobs):  # noqa: ASYNC110 -- the command begins when it can
            await asyncio.sleep(0.02)
    if result is None:
        await runner.fail([Failed(jobs[0], "it broke")])
    else:
        await runner.step(0, [Finished(jobs[0], result)])
    await runner.deregister()
    return jobs[0].id


def unpacked(archive: tarfile.TarFile) -> dict[str, str]:
    """The files of a report by their names in its folder."""
    found = {}
    for each in archive:
        held = archive.extractfile(each)
        assert held is not None
        found[each.name.partition("/")[2]] = held.read().decode()
    return found
