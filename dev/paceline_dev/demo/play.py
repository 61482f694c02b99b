"""`python -m paceline_dev demo`: everything up, the story, its figures, and an orderly end."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Final

from paceline.errors import PacelineError
from paceline_dev.demo.figures import figures, table, wrong
from paceline_dev.demo.load import Load
from paceline_dev.demo.picture import look
from paceline_dev.demo.stage import OpenStage, Setting, Stage
from paceline_dev.demo.story import ORDERS, SHOP, STEPS, Story
from paceline_dev.demo.view import LiveView, PlainView, View
from paceline_dev.errors import DevError
from paceline_dev.node.api import TROUBLE
from paceline_dev.progress import stderr_reporter

LOOK_SECONDS: Final = 0.5


def play(setting: Setting, rate: float) -> None:
    """Play it all; a figure that is wrong, or a step that never came, is an error."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    report = stderr_reporter()
    try:
        with setting.prepare(report) as open_stage:
            bad = asyncio.run(_tell(open_stage, rate))
    except (KeyboardInterrupt, asyncio.CancelledError) as end:
        report.line(f"interrupted: {setting.afterwards}")
        sys.exit(128 + (signal.SIGINT if isinstance(end, KeyboardInterrupt) else signal.SIGTERM))
    except PacelineError as error:
        raise DevError(str(error)) from error
    if bad:
        raise DevError(f"the demo is not as promised: {'; '.join(bad)}")
    report.line(f"the end: {setting.afterwards}")


async def _tell(open_stage: OpenStage, rate: float) -> Sequence[str]:
    """Returns what is wrong."""
    if task := asyncio.current_task():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    lively = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    async with contextlib.AsyncExitStack() as stack:
        with stderr_reporter().task("setting the stage"):
            place = await stack.enter_async_context(open_stage())
            await place.books.open()
        load = Load(place.database, rate, SHOP, ORDERS)
        if not lively:
            return await _story(place, PlainView(len(STEPS)), load)
        with LiveView(len(STEPS)) as view:
            async with _drawing(place, load, view):
                bad = await _story(place, view, load)
                view.hint(f"look around: {place.look_around}")
                await _until_interrupted()
        return bad


async def _story(place: Stage, view: View, load: Load) -> Sequence[str]:
    story = Story(place, load, view)
    producing = asyncio.create_task(load.run())
    try:
        await story.play()
    finally:
        load.stop()
        await producing
    await place.until(lambda: _all_done(place), "all jobs are done")
    account = await place.books.account(load.enqueued, story.killed, story.against_taint)
    found = figures(account, [*story.times, *story.steps])
    view.close(table(found))
    return wrong(found)


async def _all_done(place: Stage) -> bool:
    return await place.books.left() == 0


async def _until_interrupted() -> None:
    """Ctrl-C after the story is how one leaves, and no failure."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop.set)
    await stop.wait()


@contextlib.asynccontextmanager
async def _drawing(place: Stage, load: Load, view: View) -> AsyncIterator[None]:
    """Keep the picture up to date; one that could not be taken is simply taken again."""

    async def draw() -> None:
        while True:
            with contextlib.suppress(DevError, PacelineError, *TROUBLE):
                view.draw(await look(place, load))
            await asyncio.sleep(LOOK_SECONDS)

    task = asyncio.create_task(draw())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
