"""The example for users' own images works: its handlers, its script, its server and its manifest."""

import asyncio
import hashlib
import importlib.util
import io
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType
from typing import Any

import aiohttp
import pytest
import yaml

from paceline.job import Claimed, Fence, JobId
from paceline.outside import Command, Http
from paceline.testing import MemoryQueue
from paceline_dev import REPOSITORY
from paceline_dev.images.context import members
from paceline_dev.manifests import validate
from paceline_runner.children.command import environment
from paceline_runner.children.http import headers

EXAMPLES = REPOSITORY / "runner-image" / "examples"
SIZE = {"width": 4000, "height": 3000}


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_jobs", EXAMPLES / "jobs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def claimed(kind: str, payload: object, *, job: int = 7, fence: int = 3) -> Claimed:
    body = json.dumps(payload)
    return Claimed(JobId(job), Fence(fence), kind, body, 5, 0, 0, None, None, 0.0)


@pytest.mark.parametrize(
    ("kind", "payload", "result"),
    [
        ("mail.send", {"to": "ann@example.org", "text": "hello"}, {"to": "ann@example.org", "message id": "job-1"}),
        ("report.build", ["may", "june"], {"may": 3, "june": 4}),
        ("number.factor", 1001, [7, 11, 13]),
        ("number.factor", 1, []),
    ],
)
async def test_the_python_handlers_do_their_work(
    example: ModuleType, kind: str, payload: Any, result: object
) -> None:  # fmt: skip
    queue = MemoryQueue()
    made = await queue.enqueue(example.jobs.job(kind, payload))
    await queue.work_off(example.jobs)
    job = queue.job(made.id)
    assert job is not None
    assert job.result == result


def test_each_way_to_do_a_job_has_an_example(example: ModuleType) -> None:
    handlers = [example.jobs.get(kind) for kind in example.jobs.kinds]
    assert {handler.is_async for handler in handlers if not handler.outside} == {True, False}
    assert {type(handler.outside) for handler in handlers} == {type(None), Command, Http}
    assert "process" in {handler.isolation for handler in handlers}


def _digest(example: ModuleType, payload: object) -> subprocess.CompletedProcess[str]:
    """As the runner calls it."""
    command, job = example.jobs.get("payload.digest").outside, claimed("payload.digest", payload)
    return subprocess.run(
        command.argv, input=job.body, capture_output=True, text=True, check=False, env=environment(command, job)
    )


def test_the_script_digests_its_payload_and_says_whose(example: ModuleType) -> None:
    done = _digest(example, {"a": "b c"})
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"sha256": hashlib.sha256(b'{"a": "b c"}').hexdigest()}
    assert done.stderr == "job 7, attempt 1, fence 3\n"


def test_the_script_tells_when_another_try_is_pointless(example: ModuleType) -> None:
    done = _digest(example, None)
    assert (done.returncode, done.stdout) == (65, "")


class Server:
    """`node thumbs.js`, and what it answers."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process = process
        self._url = f"http://127.0.0.1:{port}"

    async def post(self, body: object, path: str = "/thumbs", **about: int) -> tuple[int, Any]:
        """As the runner does it, with the headers that the runner sends."""
        target = Http(url=f"{self._url}{path}")
        sent = headers(target, claimed("thumb.size", None, **about))
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self._ask("POST", target.url, data=io.BytesIO(data), headers=sent)

    async def get(self, path: str) -> tuple[int, Any]:
        return await self._ask("GET", f"{self._url}{path}")

    async def _ask(self, method: str, url: str, **more: Any) -> tuple[int, Any]:
        async with aiohttp.ClientSession() as session, session.request(method, url, **more) as answer:
            return answer.status, await answer.json()


@pytest.fixture
async def thumbs() -> AsyncIterator[Server]:
    if shutil.which("node") is None:
        pytest.skip("node is not installed, which the example needs")
    process = await asyncio.create_subprocess_exec(
        "node", EXAMPLES / "thumbs.js", env={**os.environ, "THUMBS_PORT": "0"}, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    said = await asyncio.wait_for(process.stdout.readline(), 30)
    yield Server(process, int(said.split()[-1]))
    if process.returncode is None:
        process.kill()
    await process.communicate()


async def test_the_server_answers_a_runner(thumbs: Server) -> None:
    assert await thumbs.get("/health") == (200, "ok")
    assert await thumbs.post(SIZE) == (200, {"width": 128, "height": 96})
    assert await thumbs.post({"width": 10, "height": 5}, job=8) == (200, {"width": 10, "height": 5})


async def test_the_server_refuses_whoever_comes_too_late(thumbs: Server) -> None:
    assert (await thumbs.post(SIZE, fence=5))[0] == 200
    assert await thumbs.post(SIZE, fence=4) == (409, {"error": "fence 4 of job 7 is late"})
    assert (await thumbs.post(SIZE, fence=5))[0] == 200
    assert (await thumbs.post(SIZE, fence=4, job=8))[0] == 200, "another job's fences are its own"


@pytest.mark.parametrize(
    ("body", "path", "status"),
    [
        (b"{", "/thumbs", 400),
        ({"width": 0, "height": 5}, "/thumbs", 422),
        (None, "/thumbs", 422),
        (b" " * (2**20 + 1), "/thumbs", 413),
        (SIZE, "/elsewhere", 404),
    ],
)
async def test_the_server_says_what_is_wrong(thumbs: Server, body: Any, path: str, status: int) -> None:
    found, said = await thumbs.post(body, path)
    assert found == status
    assert said["error"]
    assert (await thumbs.post(SIZE, job=9))[0] == 200


async def test_the_server_leaves_when_it_is_told(thumbs: Server) -> None:
    thumbs.process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(thumbs.process.wait(), 40) == 0


GROUPS = [path.parent for path in sorted(EXAMPLES.rglob("runnergroup.yaml"))]
"""The shop, and each example with a group."""
each_group = pytest.mark.parametrize("folder", GROUPS, ids=lambda folder: folder.name)


def _groups(folder: Path = EXAMPLES) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((folder / "runnergroup.yaml").read_text()))


@each_group
def test_the_group_and_its_pods_are_valid(tmp_path: Path, folder: Path) -> None:
    groups = _groups(folder)
    pods = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": group["spec"]["template"]["spec"]}
        for group in groups
    ]
    shutil.copytree(REPOSITORY / "crds", tmp_path / "crds")
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "all.yaml").write_text(yaml.safe_dump_all([*groups, *pods]))
    validate(tmp_path)


def _built(file: Path) -> list[str]:
    return re.findall(r"^(?:\$|#  ) docker build -t (\S+)", file.read_text(), re.MULTILINE)


def test_the_group_runs_what_the_containerfile_builds() -> None:
    spec = _groups()[0]["spec"]["template"]["spec"]
    built = _built(EXAMPLES / "Containerfile")
    (runner,), (sidecar,) = spec["containers"], spec["initContainers"]
    assert [runner["image"], sidecar["image"]] == built
    assert runner["name"] == "runner"
    assert sidecar["restartPolicy"] == "Always", "any other container would keep the pod from ending"


@each_group
def test_the_page_builds_what_the_group_runs(folder: Path) -> None:
    pods = [group["spec"]["template"]["spec"] for group in _groups(folder)]
    images = {each["image"] for pod in pods for each in (*pod["containers"], *pod.get("initContainers", ()))}
    assert set(_built(folder / "README.md")) == images


@each_group
def test_the_pods_meet_the_restricted_standard_and_need_no_writable_root(folder: Path) -> None:
    for group in _groups(folder):
        spec = group["spec"]["template"]["spec"]
        assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
            }  # fmt: skip
            assert container["resources"]["limits"]["memory"]
        assert "/tmp" in [mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]]


def test_every_example_has_a_page_that_the_list_leads_to() -> None:
    listed = (REPOSITORY / "docs" / "examples.md").read_text()
    for folder in (path for path in EXAMPLES.iterdir() if path.is_dir() and path.name[0] not in "._"):
        assert f"](../runner-image/examples/{folder.name}/README.md)" in listed, folder.name


def test_the_image_of_the_shop_is_made_of_nothing_else() -> None:
    seen = {member.name for member in members(EXAMPLES, "Containerfile")}
    assert seen == {"Containerfile", "digest.sh", "jobs.py", "thumbs.js"}


def test_the_page_names_every_header_and_variable_that_a_handler_gets() -> None:
    page = (EXAMPLES / "README.md").read_text()
    job = claimed("thumb.size", SIZE)._replace(trace="00-1-2-3")
    sent = set(headers(Http(url="http://127.0.0.1"), job)) - {"Content-Type", "Accept-Encoding"}
    told = set(environment(Command(argv=("x",)), job)) - set(os.environ)
    for name in sent | told:
        assert f"`{name}`" in page, name
