"""What a runner and a gateway tell each other, as values of ours."""

import json
from dataclasses import dataclass
from typing import Any, Final, cast

from paceline.claims import Beat, Failed, Finished, Run, Verdict
from paceline.job import Claimed, Fence, JobId, storable

SETTLES: Final = frozenset(("complete", "fail", "hand_back"))
"""Reports after which a run is over."""


@dataclass(frozen=True, slots=True)
class Report:
    """What is said of a run."""

    about: str
    run: Run
    fields: str = ""
    """The rest of it, as JSON without its braces."""

    @property
    def key(self) -> tuple[str, int, int]:
        """By which its answer is known."""
        return (self.about, *self.run)

    def frame(self) -> str:
        """For a socket."""
        return f'{{"type":"{self.about}","id":{self.run.id},"fence":{self.run.fence}{self.fields}}}'

    def body(self, incarnation: int) -> str:
        """For a request."""
        return f'{{"incarnation":{incarnation},"fence":{self.run.fence}{self.fields}}}'

    @property
    def path(self) -> str:
        """Where the request goes."""
        return f"/runner/runs/{self.run.id}/{self.about.replace('_', '-')}"


def completed(done: Finished) -> Report:
    """It is done. The result is JSON already, and is not read."""
    output = storable(done.output)
    rest = f',"result":{done.result or "null"}' + (f',"output":{as_json(output)}' if output else "")
    return Report("complete", run_of(done.job), rest)


def failed(each: Failed, cause: str) -> Report:
    """It failed; without `retry_in` never again."""
    again = {"final": True} if each.retry_in is None else {"retry_in_seconds": each.retry_in.total_seconds()}
    return about(
        "fail", run_of(each.job), error=storable(each.error), cause=cause, output=storable(each.output), **again
    )


def about(what: str, run: Run, **fields: object) -> Report:
    """Any other."""
    return Report(what, run, "".join(f",{as_json(name)}:{as_json(value)}" for name, value in fields.items()))


def run_of(job: Claimed) -> Run:
    """By what it is known."""
    return Run(job.id, job.fence)


def claimed(told: dict[str, Any]) -> Claimed:
    """A run that was given to us."""
    seconds = told["timeout_seconds"]
    return Claimed(
        id=JobId(told["id"]), fence=Fence(told["fence"]), kind=told["kind"], body=as_json(told["payload"]),
        priority=told["priority"], tries=told["tries"], losses=told["losses"],
        timeout_ms=None if seconds is None else round(seconds * 1000), trace=told["traceparent"],
        waited=told["waited_seconds"],
    )  # fmt: skip


def beat(told: dict[str, Any], named: frozenset[Run]) -> Beat:
    """The answer to a heartbeat that named these runs."""
    gone = set(told.get("refused", ()))
    return Beat(
        cast(Verdict, told["verdict"]), ids(told.get("cancelled", ())), told.get("cause"), bool(told.get("leave")),
        refused=frozenset(run for run in named if run.id in gone),
    )  # fmt: skip


def ids(found: Any) -> frozenset[JobId]:
    """Numbers of jobs."""
    return frozenset(JobId(each) for each in found)


def as_json(value: object) -> str:
    """As it is sent."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
