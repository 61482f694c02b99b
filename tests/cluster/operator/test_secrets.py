"""A canary in every secret, and a look at everything that people get to see, while things go well and badly."""

import base64
import json
import re
import tarfile
import traceback
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import httpx
import pytest

from cluster.operator.gateways import OneGateway
from cluster.operator.laptop import started
from cluster.operator.rights import as_shipped
from cluster.operator.site import Site
from cluster.place import Json
from paceline.database import Database
from paceline.errors import PacelineError
from paceline.testing.scratch import free_ports
from paceline.tokens import Tokens
from paceline_dev.pki import Authority
from paceline_gateway.dashboard.routes import ROUTERS
from paceline_gateway.door import MARK
from postgres.cli.process import run_cli, unpacked
from support.pg import logins

pytestmark = pytest.mark.timeout(300)
DEBUG = {"PACELINE_LOG_LEVEL": "debug"}
SHOWN = "runnergroups,runners,pods,events,controllerrevisions,poddisruptionbudgets,leases,replicasets"
TABLES = "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = 'paceline'"


@dataclass
class Canaries:
    """Secrets by what they are; a look for them also finds them quoted and in base64."""

    planted: dict[str, str] = field(default_factory=dict)

    def plant(self, what: str, secret: str) -> str:
        """Remember one."""
        assert len(secret) >= 12, "a shorter one is found by chance"
        self.planted[what] = secret
        return secret

    def plant_url(self, what: str, url: str) -> str:
        """Remember its password, and the whole of it: what is in base64 shows no part."""
        self.plant(f"password of {what}", urlsplit(url).password or "")
        return self.plant(f"URL of {what}", url)

    def sing(self, text: str) -> set[str]:
        """Those that are in a text."""
        forms = {
            what: {secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode()}
            for what, secret in self.planted.items()
        }
        return {what for what, each in forms.items() if any(form in text for form in each)}


@dataclass
class Scene:
    """Everything that runs, each with a secret of its own and at its most talkative."""

    site: Site
    gateway: OneGateway
    canaries: Canaries
    admin: str
    producer: str
    seen: dict[str, str] = field(default_factory=dict)
    """What was looked at, by where."""


@pytest.fixture
async def scene(site: Site) -> AsyncIterator[Scene]:
    canaries, database = Canaries(), site.queue.database
    await as_shipped(site)
    canaries.plant("the operator's token", json.loads(site.kubeconfig.read_text())["users"][0]["user"]["token"])
    async with AsyncExitStack() as stack:
        login_url = await stack.enter_async_context(logins(database, site.url))
        await site.secret(url=canaries.plant_url("the operator", await login_url("operator")))
        await site.secret("runners", url=canaries.plant_url("runners", await login_url("runner", "builds")))
        await site.secret("smtp", password=canaries.plant("a handler's password", "canary-of-a-handler"))
        site.start_operator(0, **DEBUG, **_certificate(site, canaries))
        gateway = OneGateway(
            canaries.plant_url("the gateway", await login_url("gateway")), free_ports(1)[0], site.scratch, **DEBUG
        )
        await gateway.ready()
        tokens = Tokens(database)
        rk, pk, ak = (await tokens.create("rk", pool="desk", runner="laptop"), await tokens.create("pk", pool="desk"),
                      await tokens.create("ak"))  # fmt: skip
        for token in (rk, pk, ak):
            canaries.plant(f"secret of {token[:15]}", token.split("_", 2)[2])
        (file := site.scratch / "laptop.token").write_text(rk)
        started(site, "laptop", ["--gateway", gateway.url, "--token-file", str(file)], DEBUG)
        yield Scene(site, gateway, canaries, ak, pk)
        await gateway.stop()
        for process in (*site.processes, *site.laptops):
            process.kill()
            process.wait(60)
        await site.run("delete", "clusterrolebinding", site.namespace)


def _certificate(site: Site, canaries: Canaries) -> dict[str, str]:
    """External metrics with a key of our own."""
    (folder := site.scratch / "tls").mkdir()
    pair = Authority(folder, "ca").issue("tls")
    canaries.plant("the key of external metrics", pair.key.read_text().splitlines()[1])
    return {
        "PACELINE_EXTERNAL_METRICS": f"127.0.0.1:{free_ports(1)[0]}",
        "PACELINE_EXTERNAL_METRICS_TLS": str(folder),
    }


def _group(site: Site) -> Json:
    """Runners with a login of their own, talkative, that are handed a password."""
    group = site.group(1)
    group["spec"]["database"]["runnerSecretRef"] = {"name": "runners"}
    (container,) = group["spec"]["template"]["spec"]["containers"]
    password = {"secretKeyRef": {"name": "smtp", "key": "password"}}
    container["env"] = [
        {"name": "PACELINE_LOG_LEVEL", "value": "debug"},
        {"name": "SMTP_PASSWORD", "valueFrom": password},
    ]
    return group


async def test_no_secret_is_in_anything_that_people_see(scene: Scene, tmp_path: Path) -> None:
    site, canaries = scene.site, scene.canaries
    await site.apply(_group(site))
    await site.settled(1)
    await _go_wrong(scene)
    await _work(scene)
    await _ask_the_gateway(scene)
    await _look_around(scene)
    await _report(scene, tmp_path)
    secrets = await site.run("get", "secrets", "-o", "json")
    assert len(canaries.sing(secrets)) >= 4, "this is how they sing"
    assert len(scene.seen) > 40, sorted(scene.seen)
    assert {where: found for where, text in scene.seen.items() if (found := canaries.sing(text))} == {}


async def _go_wrong(scene: Scene) -> None:
    """Databases that refuse, are not there, and are no URL: each is told in a condition, an event and the log."""
    site, canaries = scene.site, scene.canaries
    parts = urlsplit(site.url)
    (nobody,) = free_ports(1)
    wrong = {
        "refuses": f"{parts.username}:canary-that-is-refused@{parts.hostname}:{parts.port}",
        "away": f"me:canary-of-nobody-home@127.0.0.1:{nobody}",
        "garbled": "me:canary/of/no/url@127.0.0.1",
    }
    for name, place in wrong.items():
        canaries.plant(name, place.rpartition("@")[0].partition(":")[2])
        await site.secret(name, url=urlunsplit(parts._replace(netloc=place)))
        group = site.group(1, name=name, pool=name)
        group["spec"]["database"] = {"secretRef": {"name": name}}
        await site.apply(group)

    async def told() -> bool:
        return all([(await site.condition("QueueReachable", name)).get("status") == "False" for name in wrong])

    await site.until(told, "all three are told")
    for name, place in wrong.items():
        with pytest.raises(PacelineError) as error:
            await Database.open(urlunsplit(parts._replace(netloc=place)))
        scene.seen[f"exception: {name}"] = "".join(traceback.format_exception(error.value)) + repr(error.value)


async def _work(scene: Scene) -> None:
    """Jobs that end well and badly, in a pod and at the desk, and connections that break."""
    site = scene.site
    await site.queue.enqueue("never")
    done = await site.queue.enqueue("count")
    await site.finished(done.id)
    await site.queue.database.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND usename <> current_user"
    )
    again = await site.queue.enqueue("count")
    await site.finished(again.id)


async def _ask_the_gateway(scene: Scene) -> None:
    """Every address that answers a GET, as an admin, by token and by cookie; and those who should not be let in."""
    site, canaries = scene.site, scene.canaries
    async with httpx.AsyncClient(base_url=scene.gateway.url, timeout=60) as client:
        caller = {"authorization": f"Bearer {scene.producer}"}
        answer = await client.post("/v1/call", json={"kind": "count"}, headers=caller)
        assert answer.status_code == 200, answer.text
        forged = f"{scene.admin[:15]}_{canaries.plant('a forged token', 'x' * 20 + 'canary' + 'x' * 17)}"
        for headers, query in (
            ({"authorization": f"Bearer {forged}"}, {}),
            ({"authorization": f"Basic {canaries.plant('a basic password', 'Y2FuYXJ5OmNhbmFyeQ==')}"}, {}),
            ({}, {"token": scene.admin}),
        ):
            answer = await client.get("/v1/jobs", headers=headers, params=query)
            assert answer.status_code in (400, 401), answer.text
            scene.seen[f"gateway: refused {len(scene.seen)}"] = answer.text
        signed = await client.post(
            "/dashboard/api/session", headers={MARK: "1", "authorization": f"Bearer {scene.admin}"}
        )
        assert signed.status_code == 204, signed.text
        (cookie,) = client.cookies.jar
        canaries.plant("the cookie", str(cookie.value))
        described = (await client.get("/openapi.json")).json()["paths"]
        ours = [path for path, ways in described.items() if "get" in ways]
        ours += [route.path for router in ROUTERS for route in router.routes]  # type: ignore[attr-defined]  # a Route
        job = (await site.queue.enqueue("never")).id
        for path in sorted({re.sub(r"\{[^}]*\}", str(job), each) for each in ours} - {"/runner/runs"}):
            headers = {MARK: "1"} if path.startswith("/dashboard") else {"authorization": f"Bearer {scene.admin}"}
            async with client.stream("GET", path, headers=headers) as told:
                body = ""
                async for text in told.aiter_text():
                    body += text
                    if "event-stream" in told.headers.get("content-type", "") and "event: pools" in body:
                        break
            scene.seen[f"gateway: {path}"] = f"{told.url} {body}"


async def _look_around(scene: Scene) -> None:
    """Logs, metrics, objects, and what is in the tables."""
    site, seen = scene.site, scene.seen
    seen["objects"] = await site.run("get", SHOWN, "-o", "json", "--show-managed-fields")
    seen["events"] = await site.run("events")
    for name in ("builds", "refuses", "away", "garbled"):
        seen[f"described: {name}"] = await site.run("describe", "rgrp", name)
    assert "Unreachable" in seen["described: away"]
    for pod in await site.pods():
        name = pod["metadata"]["name"]
        seen[f"log: {name}"] = await site.run("logs", name)
        async with httpx.AsyncClient(timeout=60) as client:
            seen[f"metrics: {name}"] = (await client.get(f"http://{pod['status']['podIP']}:8080/metrics")).text
    seen["metrics: operator"] = (await site.get("/metrics"))[1]
    for path in site.scratch.glob("*.log"):
        seen[f"log: {path.name}"] = path.read_text()
    assert '"level": "debug"' in seen["log: operator-0.log"], "at its most talkative"
    assert {"log: gateway.log", "log: laptop.log"} < seen.keys()
    for (table,) in await site.queue.database.rows(TABLES):
        rows = await site.queue.database.rows(f"SELECT t::text FROM {table} t")  # noqa: S608 -- ours
        seen[f"table: {table}"] = "\n".join(row[0] for row in rows)


async def _report(scene: Scene, folder: Path) -> None:
    """With all that can be asked for."""
    site, file = scene.site, folder / "report.tar.gz"
    words = ("report", "-n", site.namespace, "--file", file, "--payloads", "--runner-logs")
    ran = await run_cli(site.url, *words, KUBECONFIG=str(site.kubectl.kubeconfig))
    assert ran.code == 0, ran.err
    with tarfile.open(file) as archive:
        texts = unpacked(archive)
    assert f"objects/{site.namespace}/secret/db.json" in texts
    scene.seen |= {f"report: {name}": text for name, text in texts.items()}
    scene.seen["report: what is said"] = ran.out + ran.err
