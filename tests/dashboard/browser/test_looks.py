"""Every page for everybody: in light and dark, on a narrow screen, by the keyboard, and for whoever cannot see it.

With PACELINE_SCREENSHOTS=1 the pictures of docs/images are made on the way.
"""

import os
import re

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, expect

from dashboard.browser.scene import Scene, build
from dashboard.browser.visit import Visit
from gateway.conftest import Site
from paceline.queue import Queue
from paceline_dev import REPOSITORY

IMAGES = REPOSITORY / "docs" / "images"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}


@pytest.fixture
async def scene(queue: Queue) -> Scene:
    return await build(queue.database)


def pages(scene: Scene) -> dict[str, tuple[str, str]]:
    """By the name of its picture: the address, and a text that is there when it is drawn."""
    return {
        "overview": ("#/", "builds"), "pool": ("#/pools/builds", "TooManyReplicas"),
        "runners": ("#/runners", "builds-0"), "jobs": ("#/jobs", "image.resize"),
        "finished": ("#/jobs?state=finished", "Done"),
        "job": (f"#/jobs/{scene.dead}", "SMTPServerDisconnected"), "dead": ("#/dead", "SMTPServerDisconnected"),
        "cron": ("#/cron", "nightly-report"),
    }  # fmt: skip


async def picture(page: Page, name: str) -> None:
    if os.environ.get("PACELINE_SCREENSHOTS", "") in ("", "0"):
        return
    IMAGES.mkdir(exist_ok=True)
    await page.mouse.move(0, 0)
    await page.screenshot(path=IMAGES / f"dashboard-{name}.png", full_page=name.startswith("pool"))


async def check(page: Page, where: str) -> None:
    found = await Axe().run(page, options=RULES)
    assert found.violations_count == 0, f"{where}:\n{found.generate_report()}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_page_is_for_everybody(visitor: Visit, site: Site, scene: Scene, scheme: str) -> None:
    page = visitor.page
    await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    await page.goto(visitor.address)
    await expect(page.get_by_label("Admin token")).to_be_visible()
    await check(page, f"sign-in in {scheme}")
    await picture(page, f"sign-in-{scheme}")
    await visitor.sign_in(await site.tokens.create("ak"))
    for name, (path, text) in pages(scene).items():
        await visitor.go(path)
        await expect(page.locator("main").get_by_text(text).first).to_be_visible()
        await check(page, f"{name} in {scheme}")
        await picture(page, f"{name}-{scheme}")


async def test_dialogs_and_empty_pages_are_for_everybody(visit: Visit) -> None:
    page = visit.page
    for path in ("#/", "#/runners", "#/jobs", "#/dead", "#/cron", "#/jobs/4711", "#/pools/none"):
        await visit.go(path)
        await expect(page.locator("main h1, main .empty:visible").first).to_be_visible()
        await check(page, f"empty {path}")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog")).to_contain_text("Find a job")
    await check(page, "the list of keys")


async def test_nothing_is_lost_on_a_narrow_screen(visitor: Visit, site: Site, scene: Scene) -> None:
    page = visitor.page
    await page.set_viewport_size({"width": 390, "height": 800})
    await visitor.sign_in(await site.tokens.create("ak"))
    for name, (path, text) in pages(scene).items():
        await visitor.go(path)
        await expect(page.locator("main").get_by_text(text).first).to_be_visible()
        wide = await page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390, f"{name} is {wide} pixels wide"
        if name in ("overview", "pool"):
            await picture(page, f"{name}-narrow")


async def test_pages_are_reached_by_keys_and_the_focus_is_seen(visit: Visit) -> None:
    page = visit.page
    for key, title in (("r", "Runners"), ("j", "Jobs"), ("d", "Dead letters"), ("c", "Cron"), ("o", "Pools")):
        await page.keyboard.type(f"g{key}")  # one after the other without a pause, which would part them
        await expect(page.get_by_role("heading", name=title, level=1)).to_be_visible()
        await expect(page).to_have_title(re.compile(f"^{title}"))
    await page.keyboard.press("Tab")
    outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


async def test_a_chosen_theme_is_kept(visit: Visit) -> None:
    page = visit.page
    back = "getComputedStyle(document.body).backgroundColor"
    light = await page.evaluate(back)
    await page.get_by_role("button", name="Dark mode").click()
    dark = await page.evaluate(back)
    assert light != dark
    await page.reload()
    await expect(page.get_by_role("button", name="Light mode")).to_be_visible()
    assert await page.evaluate(back) == dark
