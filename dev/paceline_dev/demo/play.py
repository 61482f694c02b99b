"""`python -m paceline_dev demo`: everything up, the story, its figures, and nothing left behind."""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from paceline.errors import PacelineError
from paceline.testing import PostgresServer
from paceline_dev.binaries import find_binaries
from paceline_dev.control_plane import ControlPlane
from paceline_dev.demo.figures import figures, table, wrong
from paceline_dev.demo.load import Load
from paceline_dev.demo.picture import look
from paceline_dev.demo.stage import Stage, stage
from paceline_dev.demo.story import ORDERS, SHOP, STEPS, Story
from paceline_dev.demo.view import LiveView, PlainView, View
from paceline_dev.errors import DevError
from paceline_dev.node.api import TROUBLE
from paceline_dev.progress import stderr_reporter

LOOK_SECONDS: Final = 0.5


def play(rate: float) -> None:
    """Play it all; a figure that is wrong, or a step that never came, is an error."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    report = stderr_reporter()
    binaries = find_binaries(report)
    try:
        with contextlib.ExitStack() as stack:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="paceline-demo-")))
            with report.task("starting PostgreSQL"):
                postgres = stack.enter_context(PostgresServer.start())
            with report.task("starting etcd, API server, controller manager and scheduler"):
                plane = stack.enter_context(ControlPlane.start(binaries))
            bad = asyncio.run(_tell(plane, postgres, scratch, rate))
    except (KeyboardInterrupt, asyncio.CancelledError) as end:
        report.line("interrupted: everything is removed")
        sys.exit(128 + (signal.SIGINT if isinstance(end, KeyboardInterrupt) else signal.SIGTERM))
    except PacelineError as error:
        raise DevError(str(error)) from error
    if bad:
        raise DevError(f"the demo is not as promised: {'; '.join(bad)}")


async def _tell(plane: ControlPlane, postgres: PostgresServer, scratch: Path, rate: float) -> Sequence[str]:
    """Returns what is wrong."""
    if task := asyncio.current_task():
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    lively = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    async with contextlib.AsyncExitStack() as stack:
        with stderr_reporter().task("starting a node and two operators"):
            place = await stack.enter_async_context(stage(plane, postgres, scratch))
        load = Load(place.database, rate, SHOP, ORDERS)
        if not lively:
            return await _story(place, PlainView(len(STEPS)), load)
        with LiveView(len(STEPS)) as view:
            async with _drawing(place, load, view):
                bad = await _story(place, view, load)
                view.say(f"look around: {place.kubectl.program} --kubeconfig {plane.kubeconfig} get rgrp,rnr,pods")
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
