"""Somebody in front of the dashboard, with a real browser."""

import re
from dataclasses import dataclass, field

from playwright.async_api import ConsoleMessage, Locator, Page, Request, expect

PATIENCE = 30_000
"""Milliseconds; a busy machine is not a reason to fail."""
expect.set_options(timeout=PATIENCE)


@dataclass
class Visit:
    """A page of one gateway, and what it did that it must not."""

    page: Page
    address: str
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE)
        self.page.on("pageerror", lambda error: self.faults.append(f"a script failed: {error}"))
        self.page.on("console", self._said)
        self.page.on("request", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text or "Content-Security-Policy" in message.text:
            self.faults.append(f"the policy was broken: {message.text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((f"{self.address}/", "data:")):
            self.faults.append(f"something was asked for elsewhere: {request.url}")
        if re.search(r"[rpa]k_[0-9a-z]{12}_", request.url):
            self.faults.append("a token is in a URL")

    async def sign_in(self, token: str, path: str = "") -> None:
        """As a person does it."""
        await self.page.goto(f"{self.address}/{path}")
        await self.page.get_by_label("Admin token").fill(token)
        await self.page.get_by_role("button", name="Sign in").click()
        await expect(self.page.get_by_role("navigation", name="Pages")).to_be_visible()

    async def go(self, path: str) -> None:
        """Another page, by its address."""
        await self.page.evaluate("path => { location.hash = path; }", path)

    def row(self, table: str, key: object) -> Locator:
        """The row of a table that begins with this."""
        head = self.page.get_by_role("rowheader", name=re.compile(rf"^{re.escape(str(key))}(\s|$)"))
        return self.page.get_by_role("table", name=table).get_by_role("row").filter(has=head)

    async def answer(self, button: str) -> None:
        """To the question that is open."""
        await self.page.get_by_role("dialog").get_by_role("button", name=button, exact=True).click()

    async def nodes(self) -> int:
        """How many elements the page has."""
        return int(await self.page.evaluate("document.querySelectorAll('*').length"))
