"""A pytest plugin that mixes the order of the test files, the same way in every process of a run.

Workers get equal stretches of the list. In the order of folders one of them gets all the stories that wait for
processes, and the others, long done, watch it; mixed, somebody computes while another waits.
"""

import hashlib

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a file together, since they share fixtures; the sort is stable."""
    items.sort(key=lambda item: hashlib.sha256(item.nodeid.partition("::")[0].encode()).digest())
