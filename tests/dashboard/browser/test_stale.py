"""When nothing comes any more everybody sees since when; and when it comes again, that it does."""

import re
import signal

from playwright.async_api import expect

from dashboard.browser.visit import Visit
from gateway.door.conftest import GatewayProcess, StartGateway
from paceline.queue import Queue

STALE = re.compile(r"Stale since \d\d:\d\d:\d\d: ")


async def test_a_gateway_that_says_nothing_is_told_and_its_return_too(
    visit: Visit, gateway: GatewayProcess, queue: Queue
) -> None:
    await queue.enqueue("mail")
    page = visit.page
    await expect(visit.row("Pools", "builds")).to_be_visible()
    banner = page.locator("#stale")
    await expect(banner).to_be_hidden()
    await expect(page.locator("#pulse")).to_have_text("Live")
    gateway.process.send_signal(signal.SIGSTOP)
    await expect(banner).to_have_text(STALE)
    await expect(page.locator("#pulse")).to_have_text("Stale")
    await expect(visit.row("Pools", "builds")).to_be_visible()
    gateway.process.send_signal(signal.SIGCONT)
    await expect(banner).to_be_hidden()
    await expect(page.locator("#pulse")).to_have_text("Live")


async def test_a_gateway_that_is_gone_is_told_and_its_successor_is_found(
    visit: Visit, gateway: GatewayProcess, start: StartGateway, queue: Queue
) -> None:
    await queue.enqueue("mail")
    await expect(visit.row("Pools", "builds")).to_be_visible()
    gateway.process.send_signal(signal.SIGTERM)
    await gateway.ended()
    banner = visit.page.locator("#stale")
    await expect(banner).to_have_text(STALE)
    await start("--listen", gateway.address.removeprefix("http://"))
    await expect(banner).to_be_hidden()


async def test_a_database_that_does_not_answer_is_told(visit: Visit, queue: Queue) -> None:
    await queue.enqueue("mail")
    await expect(visit.row("Pools", "builds")).to_be_visible()
    await queue.database.value("ALTER FUNCTION paceline.standing RENAME TO standing_elsewhere")
    banner = visit.page.locator("#stale")
    await expect(banner).to_contain_text("the database does not answer")
    await queue.database.value("ALTER FUNCTION paceline.standing_elsewhere RENAME TO standing")
    await expect(banner).to_be_hidden()
