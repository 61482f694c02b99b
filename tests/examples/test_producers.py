"""Two shops whose orders and jobs are one transaction: with Django and with FastAPI, each a server of its own."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from examples.conftest import OpenLaptop
from examples.laptop import Laptop, told
from paceline.testing.scratch import free_ports
from runner.process import eventually

pytestmark = pytest.mark.timeout(300)
SHOPS = {
    "django-shop": ("shop_order", ("python", "manage.py", "runserver")),
    "fastapi-shop": ("orders", ("uvicorn",)),
}
"""The table of its orders, and the command that serves it."""
JOBS = """
SELECT (SELECT count(*) FROM paceline.job) + (SELECT count(*) FROM paceline.history)
     + (SELECT count(*) FROM paceline.dead)"""


class Shop:
    """One that serves, and whoever orders there."""

    def __init__(self, laptop: Laptop, table: str, client: httpx.AsyncClient) -> None:
        self.laptop, self.table, self._client = laptop, table, client

    async def order(self, count: int, article: str = "pen") -> httpx.Response:
        return await self._client.post("/orders", json={"article": article, "count": count})

    async def shown(self, order: int) -> Any:
        return (await self._client.get(f"/orders/{order}")).json()

    async def kept(self) -> tuple[int, int]:
        """Orders and jobs, whatever has become of them."""
        orders = await self.laptop.database.value(f"SELECT count(*) FROM {self.table}")  # noqa: S608
        return orders, await self.laptop.database.value(JOBS)

    async def answers(self) -> bool:
        try:
            return (await self._client.get("/")).status_code == httpx.codes.NOT_FOUND
        except httpx.TransportError:
            return False


@pytest.fixture(params=SHOPS)
async def shop(request: pytest.FixtureRequest, laptop: OpenLaptop) -> AsyncIterator[Shop]:
    here, (table, begin), port = laptop(request.param), SHOPS[request.param], str(free_ports(1)[0])
    if request.param == "django-shop":
        await here.types("python", "manage.py", "migrate")
    await here.serves(*(port if word == "8001" else word for word in told(here.folder, *begin)))
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        made = Shop(here, table, client)
        await eventually(made.answers, "the shop serves", 90)
        yield made


async def test_an_order_that_commits_has_exactly_one_job_which_ships_it(shop: Shop) -> None:
    await shop.laptop.develops()
    placed = await shop.order(3)
    assert placed.status_code == httpx.codes.CREATED, placed.text
    order, job = placed.json()["order"], placed.json()["job"]

    async def is_shipped() -> bool:
        return bool((await shop.shown(order))["shipped_by"])

    await eventually(is_shipped, "it is shipped")
    assert (await shop.shown(order))["shipped_by"] == job
    assert await shop.kept() == (1, 1)
    await shop.laptop.queue("shop").enqueue("order.ship", {"order": order})
    await eventually(lambda: shop.laptop.database.value("SELECT count(*) = 2 FROM paceline.history"), "it ran again")
    assert (await shop.shown(order))["shipped_by"] == job, "a second run of a job changes nothing"


async def test_an_order_that_is_rolled_back_has_no_job(shop: Shop) -> None:
    for count, article in ((30, "pen"), (1, "no such thing")):
        assert (await shop.order(count, article)).status_code in (
            httpx.codes.CONFLICT,
            httpx.codes.UNPROCESSABLE_ENTITY,
        )
        assert await shop.kept() == (0, 0)
    assert (await shop.order(10)).status_code == httpx.codes.CREATED, "the pens are still there"
    assert (await shop.order(1)).status_code == httpx.codes.CONFLICT
    assert await shop.kept() == (1, 1)
