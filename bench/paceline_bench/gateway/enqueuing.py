"""Jobs by HTTP: one in each request, many in each request, and beside both a route that does nothing."""

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final

from paceline.testing import PostgresServer
from paceline.testing.scratch import free_ports
from paceline.tokens import Tokens
from paceline_bench.bench import Run
from paceline_bench.gateway.door import door, until_it_answers
from paceline_bench.gateway.web import Wrk
from paceline_bench.measure import Measurement
from paceline_bench.process import Process, worker
from paceline_bench.systems.paceline import POOL
from paceline_bench.templates import Templates

CONNECTIONS: Final = 50
BATCH: Final = 1_000
BATCH_CONNECTIONS: Final = 4
NAMES: Final = ("http_empty", "http_one", "http_many")
JOB: Final[Mapping[str, object]] = {"kind": "noop", "payload": {"order": 4711, "to": "ada@example.org"}}
ONE: Final = json.dumps(JOB)
MANY: Final = json.dumps({"jobs": [JOB] * BATCH})
Turn = Callable[[], Awaitable[float]]


async def measure(
    run: Run, server: PostgresServer, templates: Templates, wrk: Wrk, rounds: int, seconds: float
) -> list[Measurement]:
    """In turns, each with a process and a database of its own."""
    turns = {"http_empty": _empty(wrk, seconds), **_enqueues(server, templates, wrk, seconds)}
    found = []
    with run.report.task("jobs by HTTP", rounds * len(turns)) as task:
        for _ in range(rounds):
            for name, turn in turns.items():
                value = await turn()
                found.append(Measurement(name, value, "requests/s" if name == "http_empty" else "jobs/s"))
                task.advance(f"{name} {value:,.0f}/s")
    return found


def _empty(wrk: Wrk, seconds: float) -> Turn:
    async def turn() -> float:
        async with _plain() as url:
            return await wrk.post(f"{url}/", ONE, _headers(""), connections=CONNECTIONS, seconds=seconds)

    return turn


def _enqueues(server: PostgresServer, templates: Templates, wrk: Wrk, seconds: float) -> dict[str, Turn]:
    async def turn(body: str, connections: int) -> float:
        async with door(server, templates) as opened:
            headers = _headers(await Tokens(opened.database).create("pk", pool=POOL))
            return await wrk.post(
                f"{opened.url}/v1/jobs", body, headers, connections=connections, seconds=seconds
            )  # fmt: skip

    async def many() -> float:
        return BATCH * await turn(MANY, BATCH_CONNECTIONS)

    return {"http_one": lambda: turn(ONE, CONNECTIONS), "http_many": many}


@contextlib.asynccontextmanager
async def _plain() -> AsyncIterator[str]:
    (port,) = free_ports(1)
    with Process(worker("empty_route", "", port)) as process:
        url = f"http://127.0.0.1:{port}"
        await until_it_answers(f"{url}/health/ready", process)
        yield url


def _headers(token: str) -> dict[str, str]:
    """The same for everybody."""
    return {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
