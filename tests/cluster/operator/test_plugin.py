"""`kubectl paceline` with a real API server, operator and runners, and a gateway that only a forwarded port reaches."""

import asyncio
import json
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from cluster.local import where
from cluster.operator.site import PROGRAMS, Site
from cluster.operator.watcher import Watcher
from paceline.tokens import Tokens
from paceline_dev.node.images import PATH, Image
from postgres.cli.process import Ran, run_cli, unpacked
from support.pg import logins

pytestmark = pytest.mark.timeout(300)
LABELS = {"app.kubernetes.io/name": "paceline", "app.kubernetes.io/component": "gateway"}
GATEWAY = "paceline-gateway"
Plugin: TypeAlias = Callable[..., Awaitable[Ran]]


@pytest.fixture
def plugin(operated: Watcher) -> Plugin:
    """`kubectl paceline` with a kubeconfig and nothing else."""

    async def run(*words: object, code: int = 0) -> Ran:
        ran = await run_cli("", *words, KUBECONFIG=str(operated.kubectl.kubeconfig))
        assert ran.code == code, ran.out + ran.err
        return ran

    return run


@pytest.fixture
async def crew(operated: Watcher) -> tuple[str, str]:
    """The Runners of a group of two."""
    await operated.apply(operated.group(2))
    await operated.settled(2)
    first, second = sorted(each["metadata"]["name"] for each in await operated.runners())
    return first, second


@pytest.fixture
async def token(operated: Watcher) -> str:
    """Of an admin, in the Secret where it is looked for."""
    made = await Tokens(operated.queue.database).create("ak")
    await operated.secret("paceline-token", token=made)
    return made


@pytest.fixture
async def gateway(operated: Site) -> AsyncIterator[None]:
    """A gateway in a pod, and its Service."""
    site = operated
    env = {"PATH": f"{PROGRAMS}:{PATH}", "PACELINE_LEAVE_SECONDS": "0"}
    site.node.add_image("gateway", Image(entrypoint=(str(PROGRAMS / "paceline"), "gateway"), env=env))
    meta = {"name": GATEWAY, "namespace": site.namespace, "labels": LABELS}
    async with logins(site.queue.database, site.url) as login_url:
        await site.secret("gateway-db", url=await login_url("gateway"))
        await site.apply({
            "apiVersion": "v1", "kind": "Service", "metadata": meta,
            "spec": {"selector": LABELS, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
        })  # fmt: skip
        container = {
            "name": "gateway", "image": "gateway", "imagePullPolicy": "IfNotPresent",
            "ports": [{"name": "http", "containerPort": 8000}],
            "env": [
                {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                {"name": "PACELINE_GATEWAY_LISTEN", "value": "$(POD_IP):8000"},
                {"name": "PACELINE_DATABASE_URL", "valueFrom": {"secretKeyRef": {"name": "gateway-db", "key": "url"}}},
                {"name": "SMTP_PASSWORD", "value": "hunter2hunter2"},
            ],
            "readinessProbe": {"httpGet": {"path": "/health/ready", "port": 8000}, "periodSeconds": 1},
        }  # fmt: skip
        await site.apply({
            "apiVersion": "v1", "kind": "Pod", "metadata": meta,
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 5, **where(site.node.name)},
        })  # fmt: skip
        await asyncio.to_thread(
            site.kubectl.run, "-n", site.namespace, "wait", f"pod/{GATEWAY}", "--for=condition=Ready", "--timeout=60s"
        )
        yield
        await site.run("delete", "pod", GATEWAY, "--wait=true")


async def test_levers_are_pulled_and_the_operator_follows(
    operated: Watcher, plugin: Plugin, crew: tuple[str, str]
) -> None:
    site, at = operated, ("-n", operated.namespace)
    first, _ = crew
    status = await plugin("status", *at)
    assert status.out.splitlines()[1].split()[:3] == ["builds", "AsWanted", "2/2"]
    assert (await plugin("status", "builds", *at, "--json")).fields["next"] == []
    everywhere = (await plugin("status", "-A", "--json", "-n", "no-such")).json
    assert isinstance(everywhere, list)
    assert site.namespace in [each["namespace"] for each in everywhere if isinstance(each, dict)]

    await plugin("taint", first, "gpu=bad:NoClaim", *at)
    await plugin("taint", first, "old:NoLead", *at)

    async def tainted(wanted: str | None) -> bool:
        return bool((await site.runner(first)).get("status", {}).get("taints") == wanted)

    await site.until(lambda: tainted("gpu=bad:NoClaim,old:NoLead"), "both are in force")
    await plugin("untaint", first, "gpu", *at)
    await site.until(lambda: tainted("old:NoLead"), "one is gone")
    await plugin("untaint", first, "--all", *at)
    await site.until(lambda: tainted(None), "all are gone")

    await plugin("pause", "builds", *at)
    await site.says("Paused", "Paused")
    assert "kubectl paceline resume builds" in (await plugin("status", *at)).out
    await plugin("resume", "builds", *at)
    await site.says("Paused", "NotPaused")

    drained = await plugin("drain", first, *at)
    assert f"kubectl paceline undrain {first} -n {site.namespace}" in drained.out

    async def rests() -> bool:
        return bool((await site.runner(first))["status"]["conditions"][0]["reason"] == "Tainted")

    async def has_no_pod() -> bool:
        return not any(name.startswith(first) for name in await site.pod_names())

    await site.until(rests, "it has given up its pod")
    await site.until(has_no_pod, "which is gone, also where a kubelet takes its time")
    without = await plugin("logs", first, *at, code=1)
    assert f"Runner {first} has no pod: Tainted" in without.err
    await plugin("undrain", first, *at)
    await site.until(lambda: _works(site, first), "it is back")


async def test_kubectl_finds_it_and_completes_its_names(operated: Site, crew: tuple[str, str]) -> None:
    env = {"PATH": f"{PROGRAMS}:{PATH}", "KUBECONFIG": str(operated.kubeconfig), "HOME": str(operated.scratch)}
    at = ("-n", operated.namespace)

    async def kubectl(*words: str) -> str:
        process = await asyncio.create_subprocess_exec(
            operated.kubectl.program, *words, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        return (await process.communicate())[0].decode()

    assert "AsWanted" in await kubectl("paceline", "status", *at)

    async def completed() -> bool:  # it answers in time or not at all, and this machine may be busy
        return crew[0] in (await kubectl("__complete", "paceline", "drain", *at, "builds-")).split()

    await operated.until(completed, "the Runner's name is completed")
    assert "untaint" in (await kubectl("__complete", "paceline", "unta")).split()


async def _works(site: Watcher, name: str) -> bool:
    return bool((await site.runner(name))["status"]["conditions"][0]["status"] == "True")


async def test_a_runners_log_is_read_and_what_is_not_there_is_told(
    operated: Watcher, plugin: Plugin, crew: tuple[str, str]
) -> None:
    at = ("-n", operated.namespace)
    told = await plugin("logs", crew[0], *at)
    assert "registered as" in told.out
    assert len((await plugin("logs", f"runner/{crew[0]}", *at, "--tail", "1")).out.splitlines()) == 1
    both = await plugin("logs", "group/builds", *at, "--tail", "1")
    pods = {line.partition("]")[0].lstrip("[") for line in both.out.splitlines()}
    assert {each.rpartition("-")[0] for each in pods} == set(crew), "each line says whose it is"
    for words in (("logs", "nobody"), ("drain", "nobody"), ("pause", "nobody"), ("status", "nobody")):
        ran = await plugin(*words, *at, code=1)
        assert (ran.out, ran.err.count("\n"), operated.namespace in ran.err) == ("", 1, True)


@pytest.mark.usefixtures("gateway", "token")
async def test_the_queue_is_reached_through_the_api_server_alone(
    operated: Watcher, plugin: Plugin, crew: tuple[str, str]
) -> None:
    site, at = operated, ("-n", operated.namespace)
    job = (await site.queue.enqueue("wait", "go")).id
    await site.running(job)
    told = await plugin("top", *at)
    assert f"{site.namespace}/builds" in told.out
    assert "2 runners, 1 of " in told.out
    assert f"job {job} (wait) of pool builds is running" in (await plugin("explain", f"job/{job}", *at)).out
    assert (await plugin("jobs", "show", job, "--gateway", f"{site.namespace}/{GATEWAY}", "--json")).fields["id"] == job
    follow = asyncio.ensure_future(plugin("logs", job, "-f", *at))
    await site.allow("go")
    assert (await follow).err.endswith(f"job {job} is done\n")
    shared = await plugin("promote", crew[0], "--group", "builds", *at, code=1)
    assert "has no leader, all its runners work" in shared.err


@pytest.mark.usefixtures("gateway")
async def test_a_report_has_everything_but_secrets(
    operated: Site, plugin: Plugin, crew: tuple[str, str], token: str, tmp_path: Path
) -> None:
    site, file = operated, tmp_path / "report.tar.gz"
    await plugin("report", "-n", site.namespace, "--file", file)
    with tarfile.open(file) as archive:
        texts = unpacked(archive)
    folder = f"objects/{site.namespace}"
    assert {
        f"{folder}/runnergroup/builds.json", f"{folder}/runner/{crew[0]}.json", f"{folder}/pod/{GATEWAY}.json",
        f"{folder}/secret/db.json", f"logs/{site.namespace}/{GATEWAY}.gateway.log", "events.json", "cluster.json",
        "queue/groups.json", "queue/runners.json", "manifest.json",
    } <= set(texts)  # fmt: skip
    everything = "\n".join(texts.values())
    for hush in (site.url, token.split("_")[2], "hunter2hunter2"):
        assert hush not in everything
    assert json.loads(texts[f"{folder}/secret/db.json"])["data"] == {"url": "(removed)"}
    manifest = json.loads(texts["manifest.json"])
    others = ("logs/", f"logs/{site.namespace}/")  # of another test's gateway, which may be gone by now
    assert [
        each for each in manifest["failed"]
        if not each["what"].startswith(others[0]) or each["what"].startswith(others[1])
    ] == []  # fmt: skip
    assert f"{folder}/secret/db.json" in {each["file"] for each in manifest["removed"]}
    again = await plugin("report", "-n", site.namespace, "--file", file, code=1)
    assert "is there already" in again.err
