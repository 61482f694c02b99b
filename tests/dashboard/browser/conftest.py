"""A real browser before a real gateway, with real runners behind it."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from playwright.async_api import Page

from dashboard.browser.visit import Visit
from gateway.door.conftest import Door, GatewayProcess, StartGateway
from runner.process import StartRunner, starting
from support.chromium import chromium, one_chromium


@pytest.fixture(scope="session")
def browser_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return one_chromium(tmp_path_factory)


@pytest.fixture
async def browser_page(browser_url: str) -> AsyncIterator[Page]:
    async with chromium(browser_url) as browser:
        context = await browser.new_context(viewport={"width": 1360, "height": 900}, locale="en-GB", timezone_id="UTC")
        yield await context.new_page()
        await context.close()


@pytest.fixture
async def gateway(start: StartGateway) -> GatewayProcess:
    return await start("--leave", "0")


@pytest.fixture
async def visitor(browser_page: Page, gateway: GatewayProcess) -> AsyncIterator[Visit]:
    """Somebody who has not signed in; at the end nothing must have gone wrong on the page."""
    visit = Visit(browser_page, gateway.address)
    yield visit
    assert visit.faults == []


@pytest.fixture
async def visit(visitor: Visit, site: Door) -> Visit:
    """Somebody who may do everything."""
    await visitor.sign_in(await site.tokens.create("ak"))
    return visitor


@pytest.fixture
async def runners(migrated: str, tmp_path: Path) -> AsyncIterator[StartRunner]:
    """Start real runners; none of them is lost because the machine stands still."""
    async with starting(migrated, tmp_path) as make:
        yield partial(make, PACELINE_STALE_THRESHOLD_SECS="60")
