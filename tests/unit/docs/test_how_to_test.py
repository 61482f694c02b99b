"""The page for users runs as it stands: its blocks are the tests that it tells them to write."""

import ast
import re

import pytest

from paceline_dev import REPOSITORY

PAGE = REPOSITORY / "docs" / "how-to" / "test-your-jobs.md"
BLOCK = re.compile(r"^```python(?P<runnable> runnable)?\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_page_pass_as_a_users_own_tests(pytester: pytest.Pytester) -> None:
    blocks = [found["code"] for found in BLOCK.finditer(PAGE.read_text()) if found["runnable"]]
    assert len(blocks) >= 5
    pytester.makepyfile("\n\n".join(blocks))
    tests = [name for block in blocks for name in _functions(block) if name.startswith("test_")]
    assert len(tests) == len(set(tests)) >= 5

    done = pytester.runpytest_subprocess(
        "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function"
    )

    done.assert_outcomes(passed=len(tests))


def test_every_public_name_is_on_the_page() -> None:
    """Somebody who looks for the double of something finds it here."""
    text = PAGE.read_text()
    for name in (
        "MemoryQueue",
        "MemoryRunner",
        "ManualClock",
        "NotInMemoryError",
        "transactional_queue",
        "PostgresServer",
    ):
        assert name in text, name


def _functions(code: str) -> list[str]:
    return [node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
