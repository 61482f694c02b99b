"""A small history in which everything is as promised, in pieces that a test can spoil."""

from dataclasses import replace
from typing import Any

from history.events import (
    Charged,
    Event,
    Expected,
    History,
    JobChanged,
    JobEnded,
    JobRow,
    Lane,
    Led,
    Mark,
    RunnerChanged,
    Tainted,
)

PLAIN, TOLERANT, LED, METERED = 1, 2, 3, 4
"""Lanes."""
KEY, TIDE = 1, 2
FIRST, SECOND, LEADER, STANDBY = 1, 2, 3, 4
"""Incarnations; each is of the Runner with ten times its number."""


class Story:
    """Writes a history line by line: every call is a commit, unless it goes `on` with the one before."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.marks: list[Mark] = []
        self.clock = 1000.0
        self._rows: dict[int, JobRow] = {}
        self._commit = self._n = 0

    def history(self, **fields: Any) -> History:
        """Of three pools' lanes: key 1 has a limit of one, kind 40 a rate of 1 a second with a burst of 2."""
        made = {event.job: event for event in self.events if isinstance(event, JobChanged) and event.old is None}
        story: dict[str, Any] = {
            "events": self.events,
            "marks": self.marks,
            "lanes": {
                PLAIN: Lane("shared", 10),
                TOLERANT: Lane("shared", 10, ("maint",)),
                LED: Lane("led", 30),
                METERED: Lane("shared", 40),
            },
            "pools": {"shared": 1, "led": 2},
            "leads": {"led": 7},
            "key_limits": {KEY: 1},
            "rates": {("kind", 40): (1.0, 2.0), ("key", TIDE): (1.0, 2.0)},
            "expected": {job: Expected("d", 0) for job in made},
            "told": {job: job for job in made},
        }
        return History(**{**story, **fields})

    def order(self, on: bool = False) -> tuple[int, int]:
        self._n += 1
        self._commit += not on
        return self._commit, self._n

    def register(self, incarnation: int, state: str = "a", old: str | None = None, **fields: Any) -> None:
        on = fields.pop("on", False)
        self.events.append(
            RunnerChanged(
                order=self.order(on), committed=self.clock, incarnation=incarnation, runner=incarnation * 10,
                old=old, new=state, **fields,
            )
        )  # fmt: skip

    def taint(self, incarnation: int, on: bool = True, source: str = "annotation") -> None:
        self.events.append(
            Tainted(order=self.order(), runner=incarnation * 10, source=source, key="maint", effect="NoClaim", on=on)
        )

    def lead(self, incarnation: int | None, epoch: int) -> None:
        self.events.append(Led(order=self.order(), group=7, incarnation=incarnation, epoch=epoch))

    def change(self, job: int, on: bool = False, **fields: Any) -> None:
        """A new job, or another state of one that is there."""
        old = self._rows.get(job)
        new = replace(old, **fields) if old else JobRow(**{"state": "r", "lane": PLAIN, "n": job, "seq": job, **fields})
        self._rows[job] = new
        self.events.append(
            JobChanged(order=self.order(on), at=self.clock, committed=self.clock, job=job, old=old, new=new)
        )

    def claim(self, job: int, incarnation: int, fence: int, on: bool = False, start: bool = True) -> None:
        self.change(job, on, state="x", incarnation=incarnation, fence=fence)
        if start:
            self.mark("start", job, fence)

    def charge(self, table: str, number: int) -> None:
        """With the commit before."""
        self.events.append(Charged(order=self.order(on=True), bucket=(table, number), at=self.clock))

    def leave(
        self, job: int, place: str = "history", outcome: str = "d", mark: str | None = "ok", **fields: Any
    ) -> None:
        """The live table, for that place."""
        old = self._rows.pop(job)
        if mark:
            self.mark(mark, job, old.fence)
        self.events.append(
            JobChanged(order=self.order(), at=self.clock, committed=self.clock, job=job, old=old, new=None)
        )
        told: dict[str, Any] = {
            "fence": old.fence,
            "tries": old.tries,
            "losses": old.losses,
            "incarnation": old.incarnation,
        }
        self.end(job, place, outcome, on=True, **{**told, **fields})

    def end(self, job: int, place: str = "history", outcome: str = "d", on: bool = False, **fields: Any) -> None:
        told: dict[str, Any] = {"fence": 1, "tries": 0, "losses": 0, "incarnation": FIRST, **fields}
        self.events.append(JobEnded(order=self.order(on), job=job, place=place, outcome=outcome, **told))

    def mark(self, what: str, job: int, fence: int, pid: int = 100) -> None:
        self.marks.append(Mark(what=what, job=job, fence=fence, at=self.clock, pid=pid))

    def wait(self, seconds: float) -> None:
        self.clock += seconds


def good() -> Story:
    """Two runners and a leader; jobs that are done, lost, handed back, failed, keyed, metered and led."""
    story = Story()
    for incarnation in (FIRST, SECOND, LEADER, STANDBY):
        story.register(incarnation, hostname=f"pod-{incarnation}")
    story.lead(LEADER, 1)
    for job in (1, 2, 3):
        story.change(job)
    story.claim(1, FIRST, 1)
    story.wait(0.1)
    story.leave(1)
    story.claim(2, FIRST, 2)
    story.wait(0.1)
    story.change(2, state="r", incarnation=None)  # handed back
    story.claim(2, SECOND, 3)
    story.wait(0.1)
    story.leave(2)
    story.claim(3, SECOND, 4)
    story.wait(7)
    story.register(SECOND, "z", "a", cause="LeaseExpired", lease_until=story.clock - 0.1)
    story.change(3, on=True, state="r", incarnation=None, losses=1)
    story.claim(3, FIRST, 5)
    story.wait(0.1)
    story.leave(3)
    story.change(4, lane=LED)
    story.claim(4, LEADER, 6)
    story.leave(4)
    story.change(5, key=KEY, state="b")
    story.change(6, key=KEY)
    story.claim(6, FIRST, 7)
    story.wait(0.1)
    story.leave(6)
    story.change(5, state="r")
    story.claim(5, FIRST, 8)
    story.wait(0.1)
    story.leave(5)
    for job in (7, 8, 9):
        story.change(job, lane=METERED)
    story.claim(7, FIRST, 9)
    story.claim(8, FIRST, 9, on=True)
    story.charge("kind", 40)
    story.wait(1.0)
    story.claim(9, FIRST, 10)
    story.charge("kind", 40)
    for job in (7, 8, 9):
        story.leave(job)
    return story
