"""Chromium as Debian has it, driven by Playwright. Nothing is ever downloaded for it."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, async_playwright

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def installed() -> str:
    """Where it is; else the test is skipped, which is a failure in CI."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("chromium is not installed (Debian: apt-get install chromium)")
    return found


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser of one's own, without a past."""
    place = installed()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=place, args=list(FLAGS))
        try:
            yield browser
        finally:
            await browser.close()
