"""Chromium as Debian has it, one for the whole run, driven by Playwright. Nothing is ever downloaded for it."""

import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

from paceline.testing.guard import Guarded
from support.shared import shared

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding", "--disable-dev-shm-usage", "--remote-debugging-port=0",
)  # fmt: skip
PATIENCE = 60.0


def installed() -> str:
    """Where it is; else the test is skipped, which is a failure in CI."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("chromium is not installed (Debian: apt-get install chromium)")
    return found


def one_chromium(factory: pytest.TempPathFactory) -> str:
    """Where the browser of this run is spoken to: its start takes longer than most that is done with it."""
    program = installed()

    def start(owner: int) -> tuple[object, dict[str, str]]:
        folder = factory.mktemp("chromium")
        process = Guarded(
            [program, *FLAGS, f"--user-data-dir={folder}/profile"], log=folder / "log", owner=owner, scratch=folder
        )
        return process, {"url": _spoken_to(process, folder / "profile" / "DevToolsActivePort")}

    return shared(factory, "chromium", start)["url"]


def _spoken_to(process: Guarded, told: Path) -> str:
    """It writes down where, when it can be."""
    end = time.monotonic() + PATIENCE
    while not (told.exists() and "\n" in (said := told.read_text())):
        assert process.alive(), process.log.read_text()
        assert time.monotonic() < end, process.log.read_text()
        time.sleep(0.05)
    port, path = said.split("\n")[:2]
    return f"ws://127.0.0.1:{port}{path}"


@asynccontextmanager
async def chromium(url: str) -> AsyncIterator[Browser]:
    """The browser for somebody without a past, who takes along whatever he opens."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.connect_over_cdp(url)
        try:
            yield browser
        finally:
            await browser.close()
