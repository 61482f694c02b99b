"""A local node whose insides a test may touch."""

import pytest

from cluster.local import LocalPlace
from cluster.place import Place


@pytest.fixture
def local(place: Place) -> LocalPlace:
    assert isinstance(place, LocalPlace)
    return place
