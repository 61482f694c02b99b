"""The examples of the page run as they stand."""

import asyncio
import re
import shutil
from pathlib import Path

import pytest

from paceline.handlers import Jobs
from paceline.testing.scratch import free_ports
from paceline_dev import REPOSITORY
from paceline_runner.attempt import Broken, Done
from paceline_runner.children.command import CommandExecutor
from paceline_runner.children.http import HttpExecutor
from paceline_runner.children.supervisor import Children
from runner.children.parts import ONE_LOOP, PATIENCE, Said, Work, command, start

pytestmark = ONE_LOOP
PAGE = REPOSITORY / "docs" / "reference" / "outside-python.md"
SHELL, NODE, SERVER = re.findall(r"^```(?:sh|js) runnable\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed, which the example needs")


@pytest.mark.parametrize(
    ("script", "good", "result"),
    [
        (SHELL, {"text": "hello"}, '{"bytes": 17}'),
        pytest.param(NODE, {"width": 4, "height": 3}, '{"area":12}', marks=needs_node),
    ],
    ids=["sh", "node"],
)
async def test_the_examples_of_commands(
    children: Children, tmp_path: Path, script: str, good: dict[str, str | int], result: str
) -> None:
    program = tmp_path / "program"
    program.write_text(script)
    program.chmod(0o755)
    executor = CommandExecutor(children)
    work = command(str(program), payload=dict(good))
    assert await executor.run(work) == Done(result)
    assert "attempt 1" in work.text
    ended = await executor.run(command(str(program), payload={}))
    assert isinstance(ended, Broken)
    assert ended.retry_in is None
    assert "payload" in ended.error


@needs_node
async def test_the_example_of_a_server(children: Children) -> None:
    (port,) = free_ports(1)
    said = Said()
    server = await start(children, "node", "-e", SERVER.replace("9000", str(port)), said=said)
    async with asyncio.timeout(PATIENCE):
        assert await said.line() == "listening"
    jobs = Jobs()
    jobs.http("area", f"http://127.0.0.1:{port}/")
    executor = HttpExecutor()
    work = Work(jobs.get("area"), {"width": 4, "height": 3})
    assert await executor.run(work) == Done('{"area":12}')
    work.job = work.job._replace(fence=type(work.job.fence)(work.job.fence - 1))
    ended = await executor.run(work)
    assert isinstance(ended, Broken)
    assert "409" in ended.error
    assert ended.retry_in is None
    await executor.close()
    await server.end()
