"""Rows in pages: nobody gives all of them at once."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")
PAGE: Final = 1_000
"""The longest page that the database gives."""


async def in_pages(page: Callable[[T | None, int], Awaitable[Sequence[T]]], limit: int) -> list[T]:
    """As many rows as wanted; `page` is asked with the last row of the page before."""
    found: list[T] = []
    while len(found) < limit:
        size = min(PAGE, limit - len(found))
        more = await page(found[-1] if found else None, size)
        found += more
        if len(more) < size:
            break
    return found
