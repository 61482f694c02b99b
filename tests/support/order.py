"""A pytest plugin that mixes the order of the test files, the same way in every process of a run.

Workers get equal stretches of the list. In the order of folders one of them gets all the stories that wait for
processes, and the others, long done, watch it; mixed, somebody computes while another waits. What takes longest comes
first: begun last, everybody else would have to wait for it.
"""

import hashlib

import pytest

LONGEST = ("tests/history/test_history.py",)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a file together, since they share fixtures; the sort is stable."""
    items.sort(key=lambda item: _place(item.nodeid.partition("::")[0]))


def _place(file: str) -> tuple[bool, bytes]:
    return file not in LONGEST, hashlib.sha256(file.encode()).digest()
