"""What waits for a client that does not read is bounded."""

import asyncio
import json
from typing import cast

import pytest
from fastapi import WebSocket

from paceline.job import Claimed, Fence, JobId
from paceline_gateway.runners import outbox
from paceline_gateway.runners.outbox import SILENT, Outbox


class Wall:
    """A socket whose other end does not read."""

    async def send_text(self, _: str) -> None:
        await asyncio.get_running_loop().create_future()


class Wire:
    """One whose other end does."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def send_text(self, text: str) -> None:
        self.sent.append(text)


def run(number: int) -> Claimed:
    return Claimed(JobId(number), Fence(1), "mail", "{}", 5, 0, 0, None, None, 0.1)


async def test_all_frames_go_out_in_their_order_before_the_close() -> None:
    wire, rooms = Wire(), []
    box = Outbox(cast(WebSocket, wire), lambda: rooms.append(box.runs))
    box.give(run(1))
    box.put("beat", verdict="ok")
    box.give(run(2))
    box.close(1000)
    box.put("beat", verdict="late")
    assert await box.run() == 1000
    assert [json.loads(each).get("id") for each in wire.sent] == [1, None, 2]
    assert rooms == [1, 0]
    assert box.unsent() == []


async def test_one_who_takes_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "PATIENCE_SECONDS", 0.01)
    box = Outbox(cast(WebSocket, Wall()), lambda: None)
    for number in range(3):
        box.give(run(number))
    assert await box.run() == SILENT
    assert [job.id for job in box.unsent()] == [1, 2], "the first one may have arrived"


async def test_one_for_whom_too_much_waits_is_given_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "PATIENCE_SECONDS", 3600.0)
    box = Outbox(cast(WebSocket, Wall()), lambda: None)
    sending = asyncio.create_task(box.run())
    for _ in range(outbox.MOST_UNSENT + 2):
        box.put("beat", verdict="ok")
        await asyncio.sleep(0)
    async with asyncio.timeout(50):  # long before anybody would lose patience
        assert await sending == SILENT
