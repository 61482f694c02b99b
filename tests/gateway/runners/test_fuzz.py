"""Whatever a runner sends, the gateway stays up, says what it did not understand, and serves the others."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed

from gateway.conftest import Site
from gateway.runners.client import dialled

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
TYPES = ("hello", "ready", "heartbeat", "complete", "fail", "hand_back", "progress", "extend", "log", "drain", "sing")
FIELDS = ("want", "runs", "id", "fence", "result", "error", "value", "seconds", "text", "output", "final", "cause")
ALMOST = st.builds(
    lambda kind, fields: json.dumps({"type": kind, **fields}),
    st.sampled_from(TYPES),
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=5),
)
DEEP = st.integers(min_value=1, max_value=100_000).map(lambda depth: '{"type": "ready", "want": ' + "[" * depth)
LARGE = st.sampled_from((2**20, 2**21, 3 * 2**20)).map(lambda size: json.dumps({"type": "log", "text": "x" * size}))
FRAMES = st.lists(
    st.text(max_size=50) | JSON.map(json.dumps) | ALMOST | DEEP | LARGE | st.binary(max_size=50), min_size=1, max_size=6
)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(frames=FRAMES)
@pytest.mark.timeout(300)
async def test_whatever_comes_others_are_served(site: Site, address: str, frames: list[str | bytes]) -> None:
    tokens = [await site.tokens.create("rk", pool="builds", runner=name) for name in ("bystander", "mad")]
    async with dialled(address, tokens[0]) as bystander, dialled(address, tokens[1]) as socket:
        try:
            for frame in frames:
                await socket.connection.send(frame)
            while (await socket.beat())["verdict"] not in ("ok", "draining"):
                pass
        except ConnectionClosed:
            assert socket.connection.close_code in (4400, 1009)
        assert (await bystander.beat())["verdict"] == "ok"


async def test_what_is_no_utf_8_ends_the_socket_alone(site: Site, address: str) -> None:
    tokens = [await site.tokens.create("rk", pool="builds", runner=name) for name in ("bystander", "mad")]
    async with dialled(address, tokens[0]) as bystander, dialled(address, tokens[1]) as socket:
        await socket.connection.send(b"\xff\xfe", text=True)
        assert await socket.closed() == 1007
        assert (await bystander.beat())["verdict"] == "ok"


async def test_a_frame_over_the_limit_is_refused_and_the_next_is_heard(site: Site, address: str) -> None:
    token = await site.tokens.create("rk", pool="builds", runner="loud")
    async with dialled(address, token) as socket:
        await socket.send("log", id=1, fence=1, text="x" * 2**21)
        problem = await socket.any()
        assert (problem["type"], "at most" in problem.get("detail", "")) == ("problem", True)
        assert (await socket.beat())["verdict"] == "ok"
