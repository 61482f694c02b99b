"""A gateway whose database is behind PgBouncer in transaction mode, with and without a way past it."""

import pytest

from gateway.conftest import until
from gateway.door.conftest import Door
from support.bounced import postgres  # noqa: F401 -- it is for the fixtures
from support.bouncer import BouncedServer

NODES = "/cluster/nodes"


@pytest.mark.parametrize("past", [True, False])
async def test_tokens_are_good_until_they_are_revoked(site: Door, bouncer: BouncedServer, past: bool) -> None:
    token = await site.tokens.create("ak")
    client = await site.client(await site.start(listen_url=bouncer.direct(site.url) if past else None), token)
    known = site.apps[0].state.services.gate._known

    async def is_kept() -> bool:
        assert (await client.get(NODES)).status_code == 200
        return known.get(token.split("_")[1]) is not None

    if past:
        await until(is_kept)
    for _ in range(5):
        assert await is_kept() is past
    await site.tokens.revoke(token.split("_")[1])

    async def is_refused() -> bool:
        return (await client.get(NODES)).status_code == 401

    if not past:
        assert await is_refused(), "there is nothing to wait for"
    await until(is_refused)
