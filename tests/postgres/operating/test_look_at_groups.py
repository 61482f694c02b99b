"""All groups of a database in one look: the same rows as one by one."""

import dataclasses

import pytest

from paceline.errors import NotFoundError
from paceline.operating import Operating, RegistrationSeen
from postgres.operating.crew import Join


def _same(rows: list[RegistrationSeen]) -> list[tuple[object, ...]]:
    """Without the ages, which have grown meanwhile."""
    names = [each.name for each in dataclasses.fields(RegistrationSeen) if not each.name.endswith("_seconds")]
    return [tuple(getattr(row, name) for name in names) for row in rows]


async def test_each_group_has_what_a_look_at_it_alone_shows(
    operating: Operating, group: int, leaders: int, join: Join
) -> None:
    empty = await operating.put_group(install="main", namespace="ci", name="empty", pool="empty")
    await join("r1")
    await join("r2")
    await join("l1", group="leaders")
    found = await operating.look_at_groups([group, leaders, empty])
    assert {number: [row.runner for row in rows] for number, rows in found.items()} == {
        group: ["r1", "r2"], leaders: ["l1"], empty: [],
    }  # fmt: skip
    for number, rows in found.items():
        assert _same(rows) == _same(await operating.look_at_group(number))


async def test_a_group_that_is_gone_is_an_error_and_not_an_empty_one(operating: Operating, group: int) -> None:
    with pytest.raises(NotFoundError):
        await operating.look_at_groups([group, 999])


async def test_no_group_is_no_row(operating: Operating) -> None:
    assert await operating.look_at_groups([]) == {}
