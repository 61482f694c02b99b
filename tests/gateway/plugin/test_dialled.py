"""What can go wrong between a command and a gateway: each with what to do, and without the token."""

from pathlib import Path

import pytest
from aiohttp import web

from gateway.conftest import Site
from paceline.errors import GatewayError, InvalidInputError, NotAllowedError
from paceline.job import JobId
from paceline.queue import Queue
from paceline.tokens import NewToken
from paceline_cli.source.dialled import Dialled


async def test_a_bad_token_is_told_and_not_shown(site: Site, address: str) -> None:
    bad = "ak_000000000000_" + "x" * 43
    async with Dialled(address, bad) as source:
        with pytest.raises(NotAllowedError, match="make another: paceline token create --admin") as found:
            await source.snapshot()
    assert "xxx" not in str(found.value)


async def test_a_token_that_may_only_look_changes_nothing(site: Site, address: str, queue: Queue) -> None:
    job = (await queue.enqueue("mail")).id
    async with Dialled(address, await site.tokens.create("ak", read_only=True)) as source:
        assert (await source.job_detail(job)) is not None
        with pytest.raises(NotAllowedError, match="only for looking"):
            await source.cancel(job)


async def test_a_ca_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=f"gateway-ca {tmp_path}/none has no certificates"):
        Dialled("https://gateway.example.com", "ak_", ca=tmp_path / "none")


async def test_nobody_there_is_named() -> None:
    async with Dialled("http://127.0.0.1:1", "ak_", place="the gateway ci/paceline-gateway") as source:
        with pytest.raises(GatewayError, match="cannot reach the gateway ci/paceline-gateway"):
            await source.snapshot()


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, {"error": "not_found", "detail": "Not Found"}, "it is older than this command"),
        (200, {"groups": [{"id": "one"}]}, "use a paceline of the gateway's version"),
        (502, None, "answers 502"),
    ],
)
async def test_an_answer_that_is_none_says_what_to_do(status: int, body: object, said: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response(body, status=status) if body else web.Response(status=status, text="<html>")

    app = web.Application()
    app.router.add_get("/cluster/groups", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        async with Dialled(f"http://127.0.0.1:{runner.addresses[0][1]}", "ak_") as source:
            with pytest.raises(GatewayError, match=said):
                await source.snapshot()
    finally:
        await runner.cleanup()


async def test_what_the_gateway_has_of_another_pool_is_not_there(site: Site, address: str, queue: Queue) -> None:
    job = (await queue.enqueue("mail")).id
    async with Dialled(address, await site.tokens.create("ak", pool="shop")) as source:
        assert await source.job_detail(job) is None
        assert await source.cancel(JobId(job)) == "unknown"


@pytest.mark.parametrize("name", ["..", "reports/../nightly", "./nightly"])
async def test_a_name_that_would_be_another_one_in_a_url_is_not_sent(site: Site, address: str, name: str) -> None:
    async with Dialled(address, await site.tokens.create("ak")) as source:
        with pytest.raises(InvalidInputError, match="use --database-url"):
            await source.delete_cron("default", name)


async def test_a_token_that_may_not_make_others_is_told_and_not_shown(site: Site, address: str) -> None:
    mine = await site.tokens.create("ak", pool="builds")
    async with Dialled(address, mine) as source:
        with pytest.raises(NotAllowedError, match='this token is for pool "builds"') as found:
            await source.create_token(NewToken(kind="ak", pool="shop"))
    assert mine.split("_", 2)[2] not in str(found.value)
