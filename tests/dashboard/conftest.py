"""The gateways of tests/gateway, and somebody who has signed in at one."""

import httpx
import pytest

from gateway.conftest import Client, address, admin, database, migrated, postgres, queue, template, tokens
from gateway.door.conftest import Door, login_url, site, start
from paceline_gateway.door import MARK

__all__ = [
    "address", "admin", "database", "login_url", "migrated", "postgres", "queue", "site", "start", "template", "tokens",
]  # fmt: skip
API = "/dashboard/api"
MARKED = {MARK: "1"}


async def signed_in(site: Door, address: str, token: str) -> Client:
    """A browser, as far as cookies go: nothing but the cookie says who it is."""
    client = await site.nobody(address, headers=MARKED)
    answer = await client.post(f"{API}/session", headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 204, answer.text
    return client


@pytest.fixture
async def person(site: Door, address: str) -> httpx.AsyncClient:
    """Somebody who may do everything."""
    return await signed_in(site, address, await site.tokens.create("ak"))


@pytest.fixture
async def guest(site: Door, address: str) -> httpx.AsyncClient:
    """Somebody who may look."""
    return await signed_in(site, address, await site.tokens.create("ak", read_only=True))
