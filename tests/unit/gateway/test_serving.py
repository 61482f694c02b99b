"""What a gateway does to its own process when it begins to serve."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI

from paceline_gateway.serve import Server

LEAST = 1_000_000
"""Objects that come and stay before all are looked at: those of ten thousand polls."""


@pytest.fixture
def collector() -> Iterator[None]:
    """As it was, afterwards."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("collector")
async def test_what_is_there_before_the_first_request_is_never_looked_at_again_and_the_rest_rarely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def nothing(*_: Any) -> None:
        pass

    monkeypatch.setattr(uvicorn.Server, "startup", nothing)
    app = FastAPI()
    await Server(uvicorn.Config(app)).startup([])
    assert app not in gc.get_objects()
    young, middle, old = gc.get_threshold()
    assert young * middle * old >= LEAST
