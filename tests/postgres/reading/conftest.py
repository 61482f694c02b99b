"""The owner's view of the queue."""

import pytest

from paceline.database import Database
from paceline.reading import Reader


@pytest.fixture
def reader(database: Database) -> Reader:
    """What everybody may see, and more."""
    return Reader(database)
