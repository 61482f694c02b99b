"""What lasts: waiting for a job, working through many, drawing anew."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from paceline_cli.output import Output, span
from paceline_cli.run import NOT_SUCCEEDED, Session

if TYPE_CHECKING:
    from paceline.database import Database
    from paceline.job import JobId
    from paceline.results import Outcome

EVER: Final = timedelta(days=36_500)
EVERY_SECOND: Final = 1.0
PLAIN_SECONDS: Final = 5.0
"""How often progress is a new line where there is no terminal to draw on."""


@contextlib.contextmanager
def progress(out: Output, doing: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show on stderr how far it is; call what this gives with the number that is done."""
    if not out.notes.is_terminal:
        last = time.monotonic()

        def say(done: int) -> None:
            nonlocal last
            if time.monotonic() - last >= PLAIN_SECONDS:
                last = time.monotonic()
                out.note(f"{doing}: {done:,}" + (f" of {total:,}" if total is not None else ""))

        yield say
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    with Progress(*columns, TimeElapsedColumn(), console=out.notes, transient=True) as drawn:
        task = drawn.add_task(doing, total=total)
        yield lambda done: drawn.update(task, completed=done)


async def wait_for(session: Session, database: "Database", job: "JobId", most: timedelta | None) -> "Outcome":
    """Wait until a job has ended, and show meanwhile how it stands."""
    from paceline.results import wait

    watching = asyncio.create_task(_show_state(session.out, database, job))
    try:
        return await wait(database, job, most or EVER)
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await watching


async def _show_state(out: Output, database: "Database", job: "JobId") -> None:
    from paceline.reading import Reader

    if not out.notes.is_terminal:
        out.note(f"waiting for job {job}")
        return
    started = time.monotonic()
    with out.notes.status(f"job {job}") as status:
        while True:
            seen = await Reader(database).job_detail(job)
            if seen is not None:
                far = f", progress {seen.progress}" if seen.progress is not None else ""
                who = f" on {seen.runner}" if seen.runner else ""
                status.update(f"job {job} is {seen.state}{who}{far} ({span(time.monotonic() - started)})")
            await asyncio.sleep(EVERY_SECOND)


def tell_outcome(session: Session, job: "JobId", outcome: "Outcome") -> int:
    """Say how a job ended; the exit code that goes with it."""
    import json

    value = {"id": job, "state": outcome.state, "result": outcome.result, "error": outcome.error}
    result = "" if outcome.result is None else f": {json.dumps(outcome.result, ensure_ascii=False)}"
    session.out.tell(value, f"job {job} is {outcome.state}" + (f": {outcome.error}" if outcome.error else result))
    return 0 if outcome.state == "done" else NOT_SUCCEEDED


async def watch(session: Session, show: Callable[[], Awaitable[None]], again: bool) -> None:
    """Show it once, or every second until Ctrl-C, which is then the normal end."""
    try:
        await show()
        while again:
            session.out.flush()
            await asyncio.sleep(EVERY_SECOND)
            if session.out.console.is_terminal and not session.out.json:
                session.out.console.clear()
            elif not session.out.json:
                session.out.write("")
            await show()
    except asyncio.CancelledError:
        if not again:
            raise
