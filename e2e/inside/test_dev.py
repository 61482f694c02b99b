"""The install to try things out, as it comes: the sample group works, nothing can be changed, and the plugin works."""

import asyncio
import hashlib
import json
from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from e2e.inside.dev import GATEWAY, Dev, applied
from paceline_dev.kind.install import SYSTEM
from paceline_dev.kubectl import Kubectl
from postgres.cli.process import Ran, run_cli

pytestmark = pytest.mark.timeout(600)
LOOK = """
import json, os, pathlib, sys
def writes(folder):
    file = pathlib.Path(folder, "left-here")
    try:
        file.write_text("x")
    except OSError as error:
        return error.strerror
    file.unlink()
    return ""
print(json.dumps({"user": [os.getuid(), os.getgid()], **{each: writes(each) for each in sys.argv[1:]}}))
"""
RUNS = "--field-selector=status.phase=Running"
CLOSED = "Read-only file system"


@pytest.fixture(scope="module")
def dev(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with applied(kubectl, tmp_path_factory.mktemp("dev")) as made:
        yield made


def test_jobs_of_all_sorts_are_done_by_the_sample_group(dev: Dev) -> None:
    """By a thread, a process and a command: none of them needs more than what a container has that cannot change."""
    assert dev.does("report.build", ["may", "june"]) == {"may": 3, "june": 4}
    assert dev.does("number.factor", 91) == [7, 13]
    digest = hashlib.sha256(b'"mail"').hexdigest()
    assert dev.does("payload.digest", "mail") == {"sha256": digest}


def test_no_container_is_root_or_can_write_where_its_image_is(dev: Dev) -> None:
    dev.does("report.build", ["may"])  # from now on there is a runner, for five minutes at least
    (runner, *_) = dev.run("get", "pods", "-l", "paceline.dev/group", RUNS, "-o", "name").split()
    places = ("/", "/app", "/etc", "/opt/paceline", "/usr", "/var", "/tmp")  # noqa: S108 -- in containers
    for where in ("deployment/paceline-operator", GATEWAY, runner):
        found = json.loads(dev.run("exec", where, "--", "python", "-c", LOOK, *places))
        assert found.pop("user")[0] == 65532, where
        if where == runner:
            assert found.pop("/tmp") == "", "the one place of a runner"  # noqa: S108
        assert found.pop("/app") in (CLOSED, "No such file or directory")
        assert set(found.values()) == {CLOSED}, (where, found)


async def test_the_queue_is_managed_with_a_kubeconfig_alone(dev: Dev) -> None:
    """Through the API server to a port of the gateway, on a real kubelet."""

    async def plugin(*words: object) -> Ran:
        ran = await run_cli("", *words, "--json", KUBECONFIG=str(dev.kubectl.kubeconfig))
        assert ran.code == 0, ran.out + ran.err
        return ran

    made = (await asyncio.to_thread(dev.paceline, "token", "create", "--admin", "--note=kubectl")).split()[-1]
    await asyncio.to_thread(dev.run, "create", "secret", "generic", "paceline-token", f"--from-literal=token={made}")
    at = ("--gateway", f"{SYSTEM}/paceline-gateway")
    await plugin("pool", "set", "builds", "--max-depth", 1000, *at)
    assert "1000" in (await plugin("pool", "show", "builds", *at)).out
    await plugin("cron", "put", "nightly", "30 2 * * *", "report.build", '["may"]', "-p", "builds", *at)
    assert "nightly" in (await plugin("cron", "list", "-p", "builds", *at)).out
    await plugin("cron", "delete", "nightly", "-p", "builds", *at)
    assert "nightly" not in (await plugin("cron", "list", "-p", "builds", *at)).out
    await asyncio.to_thread(_bury, dev)
    (letter,) = _list(await plugin("dead", "list", "-p", "builds", *at))
    await plugin("dead", "redrive", letter["id"], *at)
    second = await plugin("token", "create", "--producer", "--pool", "builds", "--note", "second", *at)
    assert "pk_" in second.out
    assert "second" in (await plugin("token", "list", *at)).out


def _bury(dev: Dev) -> None:
    """A job that no second try can help."""
    dev.paceline("enqueue", "payload.digest", "null", "--pool=builds", "--wait", check=False)


def _list(ran: Ran) -> list[dict[str, JsonValue]]:
    found = ran.json
    assert isinstance(found, list)
    return [each for each in found if isinstance(each, dict)]
