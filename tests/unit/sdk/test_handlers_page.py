"""The page about handlers: its examples run as they stand, and its messages are those that are raised."""

import asyncio
import inspect
import re

import pytest

from paceline import context, handler, handlers, outside, providers
from paceline_dev import REPOSITORY

PAGE = (REPOSITORY / "docs" / "reference" / "handlers.md").read_text()
BLOCKS = re.findall(r"^```python runnable\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
MESSAGES = re.findall(r"^\| `(.+?)` \|", PAGE.partition("## What is refused")[2], re.MULTILINE)
SOURCE = "".join(inspect.getsource(module) for module in (handler, handlers, outside, providers))


@pytest.mark.parametrize("code", BLOCKS, ids=range(len(BLOCKS)))
def test_an_example_runs_as_it_stands(code: str) -> None:
    names = dict[str, object]({"__name__": "example"})
    exec(code, names)  # noqa: S102
    assert isinstance(names["jobs"], handlers.Jobs)
    names["jobs"].check()
    for name, value in names.items():
        if name.startswith("test_") and inspect.iscoroutinefunction(value):
            asyncio.run(value())


def test_there_is_an_example_for_each_part() -> None:
    parts = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert len(BLOCKS) == len(parts) - 1, "one at the top, none for the function itself and for what is refused"
    assert sum("async def test_" in code for code in BLOCKS) == 4


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_on_the_page_is_one_that_is_raised(message: str) -> None:
    for piece in message.split("…"):
        assert piece.strip(' "') in SOURCE


def test_everything_that_can_be_called_is_on_the_page() -> None:
    public = [name for name in vars(handlers.Jobs) if not name.startswith("_")]
    seen = [*vars(context.Context), *vars(context.JobInfo)]
    for name in [*public, *(name for name in seen if not name.startswith("_"))]:
        if name not in ("get", "kinds"):  # for those who run handlers
            assert re.search(rf"\b{name}\b", PAGE), name
