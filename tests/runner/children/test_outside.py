"""Each handler finds who does its work, and all of it ends together."""

import time

from paceline.handlers import Jobs
from paceline_runner.attempt import Done
from paceline_runner.children.outside import OutsideExecutors
from runner.children.app import jobs as app
from runner.children.parts import BOTH_LOOPS, Work, command, open_descriptors

APP = "runner.children.app:jobs"


@BOTH_LOOPS
async def test_commands_and_processes_are_done_and_nothing_is_left() -> None:
    before = open_descriptors()
    outside = OutsideExecutors(APP, 2, time.monotonic() + 600)
    for work, result in ((command("echo", "1"), "1"), (Work(app.get("echo.async"), "é"), '"é"')):
        assert await outside.of(work.handler).run(work) == Done(result)
    await outside.close()
    assert open_descriptors() <= before


async def test_each_kind_of_handler_has_one_executor() -> None:
    jobs = Jobs()
    for kind in ("a", "b"):
        jobs.command(kind, ["true"])
        jobs.http(f"{kind}.http", "http://127.0.0.1:9/")
    outside = OutsideExecutors(APP, 2, time.monotonic() + 30)
    assert outside.of(jobs.get("a")) is outside.of(jobs.get("b"))
    assert outside.of(jobs.get("a.http")) is outside.of(jobs.get("b.http"))
    assert len({outside.of(jobs.get("a")), outside.of(jobs.get("a.http")), outside.of(app.get("echo"))}) == 3
    await outside.close()
