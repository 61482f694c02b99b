"""A list is followed through everything that a watch can end with."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from paceline_dev.node import follow as module
from paceline_dev.node.api import AnswerError, Api
from paceline_dev.node.wire import Json

Script = list[list[tuple[str, Json]] | Exception]


def item(name: str, version: str = "1") -> Json:
    return {"metadata": {"name": name, "uid": name, "resourceVersion": version}}


class Scripted:
    """An API server that answers by a script: lists and watches in turn."""

    def __init__(self, lists: list[list[Json] | Exception], watches: Script) -> None:
        self.lists, self.watches = lists, watches
        self.versions: list[str] = []

    async def get(self, _: str, **__: str) -> Json:
        if not self.lists:
            await asyncio.Event().wait()
        found = self.lists.pop(0)
        if isinstance(found, Exception):
            raise found
        return {"metadata": {"resourceVersion": "10"}, "items": found}

    async def watch(self, _: str, version: str, **__: str) -> AsyncIterator[tuple[str, Json]]:
        self.versions.append(version)
        if not self.watches:
            return
        found = self.watches.pop(0)
        if isinstance(found, Exception):
            raise found
        for event in found:
            yield event


class Heard:
    """What a listener was told."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def replaced(self, found: list[Json]) -> None:
        self.said.append([each["metadata"]["name"] for each in found])

    def changed(self, found: Json) -> None:
        self.said.append(f"+{found['metadata']['name']}")

    def gone(self, found: Json) -> None:
        self.said.append(f"-{found['metadata']['name']}")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.0)


async def told(api: Scripted) -> tuple[list[Any], list[str]]:
    heard, trouble = Heard(), list[str]()
    task = asyncio.create_task(module.follow(cast(Api, api), "/pods", "x", heard, trouble.append))
    for _ in range(200):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return heard.said, trouble


async def test_events_follow_the_list() -> None:
    events = [("ADDED", item("b")), ("BOOKMARK", item("", "12")), ("DELETED", item("a", "13"))]
    api = Scripted([[item("a")]], [events])
    assert (await told(api))[0] == [["a"], "+b", "-a"]


async def test_a_watch_that_ends_in_peace_goes_on_where_it_was() -> None:
    api = Scripted([[item("a")]], [[("ADDED", item("b", "11"))], [("BOOKMARK", item("", "15"))], []])
    said, _ = await told(api)
    assert said == [["a"], "+b"]
    assert api.versions == ["10", "11", "15"]


async def test_a_watch_that_is_too_old_is_a_new_list_and_no_trouble() -> None:
    api = Scripted([[item("a")], [item("b")]], [AnswerError(410, "too old resource version")])
    said, trouble = await told(api)
    assert said == [["a"], ["b"]]
    assert trouble == []


@pytest.mark.parametrize("error", [AnswerError(500, "etcd is away"), ConnectionResetError("gone"), TimeoutError()])
async def test_an_api_server_that_is_away_is_asked_again(error: Exception) -> None:
    said, trouble = await told(Scripted([error, [item("a")]], []))
    assert said == [["a"]]
    assert len(trouble) == 1
