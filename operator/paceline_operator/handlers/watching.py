"""kopf in a thread of its own, where it begins anew whenever our kinds have gone and are back.

Left to itself kopf looks for kinds once for each event of a CRD. The API server serves a kind a moment after the last
of these, so one that is made anew is often never found; and one that goes while it is watched ends kopf as a whole, or
leaves it waiting for ever. So kopf begins when the kinds are served, looks for them once, and is begun again when it
missed one or has lost one. At its end it cancels all tasks of its loop, whoever made them: hence the thread.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from http import HTTPStatus
from typing import Any, Final

import kopf
from kopf._cogs.structs.references import Insights  # an argument of kopf.operator, but kopf does not export it

from paceline_operator.handlers.watch import settings_for
from paceline_operator.ports.errors import UnreachableError
from paceline_operator.ports.resources import RUNNER, RUNNER_GROUP, ResourceKind

log = logging.getLogger("paceline.operator")

KINDS: Final = (RUNNER_GROUP, RUNNER)
AGAIN: Final = 1.0
"""Seconds until the next look for a kind that is not there."""

BEGINS: Final = 30.0
"""Seconds for kopf to begin to watch what it has found."""
GRACE: Final = 10.0
"""Seconds for kopf to end in; it waits for five itself."""

Serves = Callable[[ResourceKind], Awaitable[bool]]


class Watching:
    """Goes on until it is told to stop."""

    def __init__(self, registry: kopf.OperatorRegistry, namespaces: Sequence[str], host: str, serves: Serves) -> None:
        """For all namespaces if none is named. `serves`: whether the API server has a kind now."""
        self._registry, self._namespaces, self._serves = registry, tuple(namespaces), serves
        self._host: Any = host  # kopf has a type of its own for it
        self.on = asyncio.Event()
        """Set while all of our kinds are watched."""
        self.trouble = "the watch has not begun"
        """Why they are not; empty while they are."""

    async def run(self, stop: asyncio.Event) -> None:
        """Watch whenever there is something to watch. Whatever else ends kopf is raised."""
        while not stop.is_set():
            if await self._served():
                await self._watch(stop)
            try:
                async with asyncio.timeout(AGAIN):
                    await stop.wait()
            except TimeoutError:
                continue

    async def _served(self) -> bool:
        try:
            missing = [str(each) for each in KINDS if not await self._serves(each)]
        except UnreachableError as error:
            self._tell(str(error))
            return False
        if missing:
            self._tell(f"the API server does not serve {' and '.join(missing)}: apply the CRDs")
        return not missing

    def _tell(self, trouble: str) -> None:
        """Once for each trouble."""
        if trouble != self.trouble:
            log.warning("nothing is watched: %s", trouble)
        self.trouble = trouble

    async def _watch(self, stop: asyncio.Event) -> None:
        """Until told to stop, or a kind is missed."""
        end = threading.Event()
        passing_on = asyncio.create_task(_pass_on(stop, end))
        try:
            await asyncio.to_thread(_in_a_loop, self._kopf(end, asyncio.get_running_loop()))
        except Exception as error:
            if not _is_gone(error):
                raise
        finally:
            end.set()
            passing_on.cancel()
            self._ended()

    async def _kopf(self, end: threading.Event, main: asyncio.AbstractEventLoop) -> None:
        """In the thread."""
        insights = Insights()
        attending = asyncio.create_task(self._attend(insights, main))
        operating = asyncio.create_task(
            kopf.operator(
                registry=self._registry,
                settings=settings_for(),
                standalone=True,
                identity=self._host,  # else kopf asks for the name of the user: in a container there is only a number
                clusterwide=not self._namespaces,
                namespaces=self._namespaces,
                insights=insights,
                stop_flag=end,
            )
        )
        try:
            done, _ = await asyncio.wait({attending, operating}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                await task
        finally:
            main.call_soon_threadsafe(self._ended)
            end.set()
            await asyncio.wait({operating}, timeout=GRACE)

    async def _attend(self, insights: Insights, main: asyncio.AbstractEventLoop) -> None:
        """In the thread: until a kind is missed or a watch ends; kopf may go on without it, or never come to an end."""
        await insights.ready_resources.wait()
        found = {(each.group, each.plural) for each in insights.watched_resources}
        if not found >= {(each.group, each.plural) for each in KINDS}:
            return
        with contextlib.suppress(TimeoutError):
            watchers = await self._watchers(insights)
            main.call_soon_threadsafe(self._begun)
            done, _ = await asyncio.wait(watchers, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if not task.cancelled():  # as they are when we are told to stop
                    await task

    async def _watchers(self, insights: Insights) -> set["asyncio.Task[Any]"]:
        """In the thread: kopf's tasks, one for each watch, which it begins a moment after it has found the kinds."""
        spaces = max(1, len(self._namespaces))
        wanted = sum(spaces if each.namespaced else 1 for each in insights.watched_resources)
        async with asyncio.timeout(BEGINS):
            while len(found := {task for task in asyncio.all_tasks() if _is_watcher(task)}) < wanted:  # noqa: ASYNC110
                await asyncio.sleep(0.001)  # before one of them has had an answer
        return found

    def _begun(self) -> None:
        log.info("watching %s", ", ".join(self._namespaces) or "all namespaces")
        self.trouble = ""
        self.on.set()

    def _ended(self) -> None:
        self.trouble = "a kind is gone"
        self.on.clear()


async def _pass_on(stop: asyncio.Event, end: threading.Event) -> None:
    await stop.wait()
    end.set()


def _is_watcher(task: "asyncio.Task[Any]") -> bool:
    return task.get_name().startswith("watcher for ")


def _in_a_loop(work: Coroutine[Any, Any, None]) -> None:
    """As asyncio.run does it, but whoever does not end when it is cancelled is left behind."""
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(work)
    finally:
        loop.set_exception_handler(lambda _loop, _about: None)  # what is left behind would complain about it
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=1.0))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _is_gone(error: BaseException | None) -> bool:
    """Whether kopf asked for a kind that is not served any more."""
    return getattr(error, "status", None) == HTTPStatus.NOT_FOUND


class _Known(logging.Filter):
    """Leaves out what kopf says of a kind that is gone, at length and twice, and of signals, which are not for it."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not _is_gone(error) and not str(record.msg).startswith("OS signals are ignored")


for _name in ("asyncio", "kopf._core.reactor.orchestration", "kopf._core.reactor.running"):
    logging.getLogger(_name).addFilter(_Known())
