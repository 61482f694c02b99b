"""Events as people see them: with kubectl, once, and never at the cost of the caller."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apiserver.operator.between import Between
from apiserver.operator.people import group, pod, uid
from paceline_dev.kubectl import Kubectl
from paceline_operator.adapters.cluster import KubernetesCluster
from paceline_operator.adapters.events import Events
from paceline_operator.ports.cluster import Manifest
from paceline_operator.ports.resources import EVENT, NAMESPACE


class Clock:
    """Moves when told."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._start = datetime.now(UTC) - timedelta(hours=1)

    def __call__(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def events(cluster: KubernetesCluster, clock: Clock) -> Events:
    return Events(cluster, "operator-1", clock=clock, now=clock.now)


async def of(cluster: KubernetesCluster, about: Manifest) -> list[Any]:
    """The events about an object, as (note, count)."""
    home = about["metadata"].get("namespace") or "default"
    found = [each for each in await cluster.list(EVENT, home) if each["regarding"].get("uid") == uid(about)]
    return sorted((each["note"], (each.get("series") or {}).get("count", 1)) for each in found)


async def test_kubectl_shows_it_where_people_look(
    cluster: KubernetesCluster, events: Events, kubectl: Kubectl, clock: Clock, namespace: str
) -> None:
    made = await cluster.apply(group(namespace))
    await events.post(made, "Normal", "ScaledUp", "5 runners, because 17 jobs wait", "Scale")
    clock.seconds = 60
    await events.post(made, "Normal", "ScaledUp", "5 runners, because 17 jobs wait", "Scale")
    await events.post(made, "Warning", "InvalidTaint", "gpu=bad:NoClam", "Parse")
    said = kubectl.run("describe", "rgrp/builds", "-n", namespace).stdout
    assert "paceline.dev/operator  5 runners, because 17 jobs wait" in said
    assert "(x2 over 60m)" in said
    listed = kubectl.run("events", "--for", "rgrp/builds", "-n", namespace).stdout
    assert "ScaledUp" in listed
    assert "Warning   InvalidTaint   RunnerGroup/builds   gpu=bad:NoClam" in listed


async def test_the_same_words_are_one_event_that_is_counted_once_a_minute(
    cluster: KubernetesCluster, events: Events, clock: Clock, namespace: str
) -> None:
    made = await cluster.apply(group(namespace))
    for clock.seconds in (0, 1, 59):
        await events.post(made, "Normal", "Rolled", "again", "Roll")
    assert await of(cluster, made) == [("again", 1)]
    clock.seconds = 60
    await events.post(made, "Normal", "Rolled", "again", "Roll")
    assert await of(cluster, made) == [("again", 4)]
    clock.seconds = 119
    await events.post(made, "Normal", "Rolled", "again", "Roll")
    assert await of(cluster, made) == [("again", 4)]
    clock.seconds = 120
    await events.post(made, "Normal", "Rolled", "other", "Roll")
    clock.seconds = 119 + 600
    await events.post(made, "Normal", "Rolled", "again", "Roll")
    assert await of(cluster, made) == [("again", 1), ("again", 4), ("other", 1)]


async def test_an_event_that_somebody_deleted_is_posted_anew(
    cluster: KubernetesCluster, events: Events, clock: Clock, kubectl: Kubectl, namespace: str
) -> None:
    made = await cluster.apply(group(namespace))
    await events.post(made, "Normal", "Rolled", "again", "Roll")
    kubectl.run("delete", "events", "--all", "-n", namespace)
    clock.seconds = 61
    await events.post(made, "Normal", "Rolled", "again", "Roll")
    assert await of(cluster, made) == [("again", 1)]


async def test_an_object_may_have_25_at_once_and_then_one_every_five_seconds(
    cluster: KubernetesCluster, events: Events, clock: Clock, namespace: str
) -> None:
    made, other = await cluster.apply(group(namespace)), await cluster.apply(pod(namespace))
    for number in range(30):
        await events.post(made, "Normal", "Busy", f"{number:02}", "Look")
    assert len(await of(cluster, made)) == 25
    await events.post(other, "Normal", "Busy", "another object", "Look")
    assert ("another object", 1) in await of(cluster, other)
    clock.seconds = 5
    for number in range(30, 33):
        await events.post(made, "Normal", "Busy", f"{number:02}", "Look")
    assert [note for note, _ in await of(cluster, made)][-1] == "30"


async def test_a_long_message_is_cut_where_the_api_server_would_refuse_it(
    cluster: KubernetesCluster, events: Events, namespace: str
) -> None:
    made = await cluster.apply(group(namespace))
    await events.post(made, "Normal", "Long", "ü" * 2000, "Look")
    ((note, _),) = await of(cluster, made)
    assert note == "ü" * 510 + "…"


async def test_an_object_without_a_namespace_and_one_with_a_long_name_get_theirs(
    cluster: KubernetesCluster, events: Events, namespace: str
) -> None:
    home = await cluster.get(NAMESPACE, None, namespace)
    assert home is not None
    await events.post(home, "Normal", "Seen", "a namespace", "Look")
    assert await of(cluster, home) == [("a namespace", 1)]
    made = await cluster.apply(pod(namespace, "a" * 60 + "." + "b" * 60 + "." + "c" * 60 + "." + "d" * 63))
    await events.post(made, "Normal", "Seen", "a long name", "Look")
    assert ("a long name", 1) in await of(cluster, made)


async def test_a_failure_is_a_line_in_the_log_and_the_next_one_tries_again(
    watched: KubernetesCluster, middle: Between, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    made = await watched.apply(group(namespace))
    events = Events(watched, "operator-1")
    middle.turns.append(middle.say(403, "not you", reason="Forbidden"))
    await events.post(made, "Normal", "Rolled", "again", "Roll")
    assert "event Rolled was not posted: create events.events.k8s.io" in caplog.text
    assert "not you" in caplog.text
    await events.post(made, "Normal", "Rolled", "again", "Roll")
    assert await of(watched, made) == [("again", 1)]
    await events.post({}, "Normal", "Rolled", "about nothing", "Roll")
    assert "event Rolled was not posted; it says: about nothing" in caplog.text
