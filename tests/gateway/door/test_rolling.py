"""A rolling deployment of three nodes by a shell script, as an operator of virtual machines writes it."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from paceline.queue import Queue
from paceline.testing.scratch import free_ports
from runner.process import RunnerProcess, until
from support.listening import listening

SCRIPT = """
curl -X POST http://node-1:8080/cluster/nodes/node-1/drain
while curl -s http://node-1:8080/health/ready | grep -q "ok"; do sleep 2; done
systemctl restart paceline-node-1
"""
SYSTEMCTL = """#!{python}
import os, socket, sys
with socket.create_connection(("127.0.0.1", int(os.environ["UNITS_PORT"]))) as asked:
    asked.sendall((" ".join(sys.argv[1:]) + "\\n").encode())
    sys.exit(0 if asked.makefile().readline() == "done\\n" else 1)
"""


class Units:
    """What systemd is to the script: it restarts `paceline run`."""

    def __init__(self, url: str, scratch: Path, stack: AsyncExitStack) -> None:
        self._url, self._scratch, self._stack = url, scratch, stack
        self.ports = dict(zip(("node-1", "node-2", "node-3"), free_ports(3), strict=True))
        self.running: dict[str, RunnerProcess] = {}
        self.restarted: list[tuple[str, int, list[int]]] = []
        """Which one, its exit code, and whether the others were ready meanwhile."""

    async def start(self, name: str) -> None:
        port = self.ports[name]
        told = {"PACELINE_LISTEN": f"127.0.0.1:{port}", "PACELINE_STALE_THRESHOLD_SECS": "60"}
        made = await RunnerProcess.start(self._url, self._scratch, name, **told)
        made.port = port
        self._stack.push_async_callback(made.end)
        await made.said("registered as")
        await made.said("listening on")
        self.running[name] = made

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        verb, unit = (await reader.readline()).decode().split()
        assert verb == "restart"
        name = unit.removeprefix("paceline-")
        old = self.running.pop(name)
        if old.process.returncode is None:
            old.send(signal.SIGTERM)
        code = await old.ended()
        others = [(await each.get("/health/ready"))[0] for each in self.running.values()]
        self.restarted.append((name, code, others))
        await self.start(name)
        writer.write(b"done\n")
        writer.close()


@pytest.fixture
async def units(migrated: str, tmp_path: Path) -> AsyncIterator[Units]:
    async with AsyncExitStack() as stack:
        made = Units(migrated, tmp_path, stack)
        await asyncio.gather(*[made.start(name) for name in made.ports])
        yield made


@pytest.fixture
async def shell(units: Units, tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    """An environment in which the nodes have names, and systemctl is ours."""
    if shutil.which("curl") is None:
        pytest.skip("there is no curl here: install it")
    (tmp_path / ".curlrc").write_text(
        "".join(f'connect-to = "{name}:8080:127.0.0.1:{port}"\n' for name, port in units.ports.items())
    )
    systemctl = tmp_path / "bin" / "systemctl"
    systemctl.parent.mkdir()
    systemctl.write_text(SYSTEMCTL.format(python=sys.executable))
    systemctl.chmod(0o755)
    path = f"{systemctl.parent}:{os.environ['PATH']}"
    async with listening(units.answer) as port:
        yield {**os.environ, "PATH": path, "CURL_HOME": str(tmp_path), "UNITS_PORT": str(port), "no_proxy": "*"}


async def test_three_nodes_are_deployed_one_after_the_other_and_no_job_is_interrupted(
    units: Units, shell: dict[str, str], queue: Queue, tmp_path: Path
) -> None:
    jobs = [(await queue.enqueue("nap", 0.5)).id for _ in range(24)]
    whole = "".join(SCRIPT.replace("node-1", name) for name in units.ports)
    process = await asyncio.create_subprocess_exec("bash", "-e", "-c", whole, env=shell)
    assert await process.wait() == 0
    jobs += [(await queue.enqueue("nap", 0)).id for _ in range(3)]
    for job in jobs:
        seen = await until(queue, job, "done")
        assert (seen.tries, seen.losses) == (0, 0)
    assert units.restarted == [(name, 0, [200, 200]) for name in units.ports]
    runs = (tmp_path / "runs").read_text().split("\n")
    assert len([line for line in runs if line]) == len(jobs), "each ran once"
