"""Signing in and out, and what the page shows to whom."""

from playwright.async_api import expect

from dashboard.browser.visit import Visit
from gateway.conftest import Site
from paceline.claims import Incarnation, Registration
from paceline.queue import Queue
from paceline_gateway.door import COOKIE


async def test_a_token_opens_the_page_and_is_nowhere_to_be_read(visitor: Visit, site: Site) -> None:
    token = await site.tokens.create("ak")
    await visitor.sign_in(token)
    page = visitor.page
    (cookie,) = await page.context.cookies(f"{visitor.address}/dashboard/api/pools")
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == (COOKIE, True, "Strict")
    seen = await page.evaluate(
        "() => [document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage), location.href,"
        " document.documentElement.outerHTML, [...document.querySelectorAll('input')].map(i => i.value).join()].join()"
    )
    assert token.split("_", 2)[2] not in seen
    await page.reload()
    await expect(page.get_by_role("heading", name="Pools")).to_be_visible()


async def test_a_bad_token_is_told_and_another_may_be_tried(visitor: Visit, site: Site) -> None:
    page = visitor.page
    await page.goto(visitor.address)
    await page.get_by_label("Admin token").fill(f"ak_{'0' * 12}_{'x' * 43}")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert").filter(has_text="This token is not good")).to_be_visible()
    await expect(page.get_by_text("paceline token create --admin")).to_be_visible()
    await visitor.sign_in(await site.tokens.create("ak"))


async def test_who_signs_out_sees_nothing_any_more(visit: Visit) -> None:
    page = visit.page
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_label("Admin token")).to_be_visible()
    await page.reload()
    await expect(page.get_by_label("Admin token")).to_be_visible()


async def test_when_the_token_ends_the_page_asks_for_another(visitor: Visit, site: Site, queue: Queue) -> None:
    token = await site.tokens.create("ak")
    await queue.enqueue("mail")
    await visitor.sign_in(token)
    await expect(visitor.row("Pools", "builds")).to_be_visible()
    await site.tokens.revoke(token.split("_")[1])
    await expect(visitor.page.get_by_label("Admin token")).to_be_visible()
    await expect(visitor.row("Pools", "builds")).to_have_count(0)


async def test_who_may_only_look_is_offered_nothing_else(visitor: Visit, site: Site, queue: Queue) -> None:
    await queue.enqueue("mail")
    await Incarnation.register(queue.database, Registration(name="r1", pool="builds", kinds=("*",)))
    await visitor.sign_in(await site.tokens.create("ak", read_only=True), "#/runners")
    await expect(visitor.row("Runners", "r1")).to_be_visible()
    page = visitor.page
    await expect(page.get_by_role("button", name="Drain r1")).to_have_count(0)
    await expect(page.get_by_role("button", name="Taints of r1")).to_have_count(0)
    await visitor.go("#/dead")
    await expect(page.get_by_role("heading", name="Dead letters")).to_be_visible()
    await expect(page.get_by_role("button", name="Redrive")).to_have_count(0)
