"""A registration at a gateway when frames come at the worst moment; the wire is a stand-in, time is real."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from paceline.claims import Finished, Step
from paceline.errors import GatewayError
from paceline.job import Claimed, JobId
from paceline_runner.gateway import seat
from paceline_runner.gateway.api import Api
from paceline_runner.gateway.frames import Report
from paceline_runner.gateway.seat import GatewaySeat
from paceline_runner.settings import Gateway

TOKEN = "rk_0123456789ab_" + "x" * 43


def run(number: int) -> dict[str, Any]:
    return {"id": number, "fence": 7, "kind": "mail", "payload": None, "priority": 5, "tries": 0, "losses": 0,
            "timeout_seconds": None, "traceparent": None, "waited_seconds": 0.0}  # fmt: skip


class Wire:
    """Notes what is said, and answers when it is told to."""

    ordered = True

    def __init__(self) -> None:
        self.said: list[tuple[str, int]] = []
        self.answers: list[asyncio.Future[bool]] = []
        self.wanted: list[int] = []
        self.at_once = True
        self.seen: list[int] = []
        """What was wanted when something was last said."""

    def post(self, report: Report) -> "asyncio.Future[bool]":
        self.seen = list(self.wanted)
        self.said.append((report.about, report.run.id))
        self.answers.append(asyncio.get_running_loop().create_future())
        if self.at_once:
            self.answers[-1].set_result(True)
        return self.answers[-1]

    def ready(self, want: int) -> None:
        self.wanted.append(want)


class Interrupted(GatewaySeat):
    """A run comes while an answer is on its way to the main loop."""

    comes: dict[str, Any] | None = None

    async def _step(self, want: int, done: Sequence[Finished]) -> tuple[Step, int]:
        answer = await super()._step(want, done)
        if self.comes:
            self.came(self.comes)
            self.comes = None
        return answer


class Place:
    """A seat with its wire."""

    def __init__(self) -> None:
        self.wire, self.woken = Wire(), 0
        welcome = {"incarnation": 1, "pool": "builds", "state": "active"}
        api = Api(Gateway(url="http://127.0.0.1:1", token=TOKEN))
        self.api = api
        self.seat = Interrupted(welcome, {}, api, asyncio.get_running_loop())
        self.seat.attach(self.wire, self._wake)

    def _wake(self) -> None:
        self.woken += 1

    async def taken(self, number: int) -> Claimed:
        self.seat.came(run(number))
        (job,) = (await self.seat.step(1)).jobs
        return job


@pytest.fixture
async def place() -> Any:
    made = Place()
    yield made
    await made.api.close()


async def test_more_is_asked_for_only_when_all_that_was_asked_for_has_come(place: Place) -> None:
    """Otherwise what is under way would be asked for twice, and there would be more jobs than slots."""
    await place.seat.step(3)
    place.seat.came(run(1))
    assert [job.id for job in (await place.seat.step(3)).jobs] == [1]
    await place.seat.step(2)
    assert place.wire.wanted == [3]
    place.seat.came(run(2))
    place.seat.came(run(3))
    assert len((await place.seat.step(2)).jobs) == 2
    await place.seat.step(1)
    assert place.wire.wanted == [3, 1]


async def test_a_run_that_comes_while_an_answer_is_under_way_wakes_the_dispatcher_once_more(place: Place) -> None:
    """The first call came before the answer, and is forgotten with it."""
    place.seat.comes = run(1)
    assert (await place.seat.step(1)).jobs == ()
    assert place.woken == 2
    assert len((await place.seat.step(1)).jobs) == 1


async def test_one_that_leaves_asks_for_nothing_any_more_before_it_gives_back(place: Place) -> None:
    """What it gives back would otherwise be sent to it again."""
    job = await place.taken(1)
    await place.seat.step(2)
    await place.seat.step(0)
    assert place.wire.wanted == [2, 0]
    await place.seat.step(2)
    await place.seat.hand_back([job])
    assert place.wire.seen == [2, 0, 2, 0]


async def test_a_run_that_comes_after_the_order_to_leave_goes_back(place: Place) -> None:
    place.seat.came(run(1))
    place.seat.cancel(frozenset({JobId(1)}))
    step = await place.seat.step(0)
    assert (step.jobs, step.cancelled) == ((), frozenset())
    assert place.wire.said == [("hand_back", 1)]
    assert place.seat.runs == frozenset()


async def test_after_a_break_only_what_was_not_answered_is_said_again(place: Place) -> None:
    one, two = await place.taken(1), await place.taken(2)
    place.wire.at_once = False
    step = asyncio.create_task(place.seat.step(0, [Finished(one), Finished(two)]))
    while len(place.wire.answers) < 2:  # noqa: ASYNC110 -- the wire tells nobody
        await asyncio.sleep(0)
    place.wire.answers[0].set_result(True)
    place.wire.answers[1].set_exception(GatewayError("gone"))
    with pytest.raises(GatewayError):
        await step
    assert {each.id for each in place.seat.runs} == {1, 2}, "both are owed until the step is heard"
    place.wire.at_once = True
    assert (await place.seat.step(0, [Finished(one), Finished(two)])).refused == frozenset()
    assert place.wire.said == [("complete", 1), ("complete", 2), ("complete", 2)]
    assert place.seat.runs == frozenset()


async def test_a_cancel_of_a_run_that_has_not_begun_is_not_forgotten(place: Place) -> None:
    job = await place.taken(1)
    place.seat.cancel(frozenset({job.id}))
    for _ in range(2):
        assert (await place.seat.step(0)).cancelled == {1}
    assert (await place.seat.step(0, [Finished(job)])).cancelled == frozenset()


async def test_a_run_that_a_heartbeat_refuses_is_named_no_more(place: Place) -> None:
    await place.taken(1)
    beat = place.seat.beaten({"verdict": "ok", "cancelled": [], "refused": [1]}, place.seat.runs)
    assert [each.id for each in beat.refused] == [1]
    assert place.seat.runs == frozenset()


async def test_a_run_that_has_not_begun_is_not_resumed_and_does_not_begin(place: Place) -> None:
    """The gateway gives whatever is not named to others."""
    await place.taken(1)
    place.seat.came(run(2))
    assert {each.id for each in place.seat.resumed()} == {1}
    assert (await place.seat.step(1)).jobs == ()


async def test_a_run_that_nobody_begins_goes_back_and_no_more_is_wanted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The main loop is held; when it turns again it asks anew."""
    await place.seat.step(3)
    monkeypatch.setattr(seat, "FRESH", 0.05)
    for number in (1, 2):
        place.seat.came(run(number))
        while len(place.wire.said) < number:  # noqa: ASYNC110 -- the wire tells nobody
            await asyncio.sleep(0.01)
    assert place.wire.said == [("hand_back", 1), ("hand_back", 2)]
    assert (place.wire.wanted, place.seat.credit) == ([3, 0], 0)
    assert (await place.seat.step(3)).jobs == ()
    assert place.wire.wanted == [3, 0, 3]


async def test_a_clock_that_rings_too_early_rings_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is set once for all that have come, so a later one may have some time left."""
    place.seat.came(run(1))
    assert place.seat._letting_go is not None
    place.seat._letting_go.cancel()
    monkeypatch.setattr(seat, "FRESH", 2.0)
    place.seat._let_go()
    assert place.wire.said == []
    while not place.wire.said:  # noqa: ASYNC110 -- the wire tells nobody
        await asyncio.sleep(0.01)


async def test_a_run_whose_time_is_over_does_not_begin(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was stopped may take it before the clock does."""
    place.seat.came(run(1))
    monkeypatch.setattr(seat, "FRESH", 0)
    assert (await place.seat.step(1)).jobs == ()


async def test_one_that_let_a_run_lapse_asks_anew(place: Place) -> None:
    """The gateway has forgotten what it asked for before."""
    await place.seat.step(3)
    place.seat.came(run(1))
    assert len((await place.seat.step(3)).jobs) == 1
    woken = place.woken
    place.seat.lapsed()
    assert place.woken == woken + 1
    await place.seat.step(2)
    assert place.wire.wanted == [3, 2]
