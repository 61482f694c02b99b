"""Credentials that change while jobs run, as docs/how-to/operate.md says: nobody is interrupted."""

import signal

import httpx
import pytest

from cluster.operator.gateways import OneGateway, start_dialler
from cluster.operator.rolling import QUICK, rolled
from cluster.operator.site import Site
from paceline.testing.scratch import free_ports
from paceline.tokens import Tokens
from support.pg import LoginUrl, logins

pytestmark = pytest.mark.timeout(300)
SERVING = "SELECT array_agg(DISTINCT i.login) FROM paceline.incarnation i WHERE i.state <> 'z'"


def name_of(url: str) -> str:
    return url.split("//")[1].partition(":")[0]


async def _two(login_url: LoginUrl, role: str, pool: str | None = None) -> tuple[str, str]:
    return await login_url(role, pool), await login_url(role, pool)


async def test_logins_of_operator_and_runners_are_changed_under_a_running_job(site: Site) -> None:
    async with logins(site.queue.database, site.url) as login_url:
        operator, new_operator = await _two(login_url, "operator")
        runner, new_runner = await _two(login_url, "runner", "builds")
        await site.secret(url=operator)
        await site.secret("runners", url=runner)
        group = site.group(2, updateStrategy=QUICK)
        group["spec"]["database"]["runnerSecretRef"] = {"name": "runners"}
        site.start_operator()
        await site.apply(group)
        first = (await site.settled(2))["currentRevision"]
        job = (await site.queue.enqueue("wait", "go")).id
        await site.until(lambda: site.marked("begun"), "it has begun")
        await site.secret(url=new_operator)
        await site.secret("runners", url=new_runner)
        await site.run("annotate", "rgrp", "builds", "paceline.dev/restartedAt=now")

        async def others_have_it() -> bool:
            return set(await site.queue.database.value(SERVING)) == {name_of(runner), name_of(new_runner)}

        await site.until(others_have_it, "who is idle has the new login, who works the old one", 120)
        site.touch("go")
        await site.finished(job)
        await rolled(site, 2, first)
        assert await site.queue.database.value(SERVING) == [name_of(new_runner)]
        assert await site.attempts(job) == [], "it was done at the first try"

        async def old_is_idle() -> bool:
            asked = "SELECT count(*) FROM pg_stat_activity WHERE usename = ANY($1)"
            return not await site.queue.database.value(asked, [name_of(operator), name_of(runner)])

        await site.until(old_is_idle, "nobody is connected with the old ones", 60)
        for old, role, pool in ((operator, "operator", None), (runner, "runner", "builds")):
            await site.queue.database.value("SELECT paceline.revoke_login($1, $2, $3)", name_of(old), role, pool)
        await site.finished((await site.queue.enqueue("count")).id)
        await site.run("scale", "rgrp", "builds", "--replicas=1")
        await site.settled(1)
        site.processes[-1].send_signal(signal.SIGKILL)


async def test_a_laptops_token_is_changed_under_a_running_job(site: Site) -> None:
    tokens = Tokens(site.queue.database)
    async with logins(site.queue.database, site.url) as login_url:
        gateway = OneGateway(await login_url("gateway"), free_ports(1)[0], site.scratch)
        await gateway.ready()
        old, new = [await tokens.create("rk", pool="builds", runner="laptop") for _ in range(2)]
        first = start_dialler(site, gateway.url, old)
        job = (await site.queue.enqueue("wait", "go")).id
        await site.until(lambda: site.marked("begun"), "it has begun: what has not goes back")
        first.send_signal(signal.SIGTERM)
        (site.scratch / "laptop.token").unlink()
        start_dialler(site, gateway.url, new)
        other = (await site.queue.enqueue("count")).id
        await site.finished(other)
        assert (await site.job(job)).state == "running"
        site.touch("go")
        await site.finished(job)
        assert await site.attempts(job) == []
        assert first.wait(60) == 0
        assert await tokens.revoke(old.split("_")[1])
        async with httpx.AsyncClient(base_url=gateway.url, timeout=60) as client:
            for token, code in ((old, 401), (new, 200)):
                answer = await client.get("/runner/me", headers={"authorization": f"Bearer {token}"})
                assert answer.status_code == code
        await site.finished((await site.queue.enqueue("count")).id)
        await gateway.stop()
