"""What the providers of a registry have opened in one process: each once, when it is first needed, until the end."""

import asyncio
import inspect
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import copy_context
from types import TracebackType
from typing import Final, Self

from paceline.context import Context
from paceline.errors import PacelineError
from paceline.handlers import Jobs
from paceline.providers import Parameter, Provider

_CLOSED: Final = object()
_log = logging.getLogger(__name__)


class Scope:
    """`async with Scope(jobs) as scope:` around all that a process runs of a registry."""

    def __init__(self, jobs: Jobs) -> None:
        """Open nothing yet."""
        self.jobs = jobs
        self.middlewares = jobs.middlewares
        self.values: dict[object, object] = {}
        """What is open, by type, in the order of opening."""
        self.kept: dict[object, _Kept] = {}
        """What is open or on its way."""
        self.context = copy_context()
        """Providers see nothing of the job that happened to ask first."""
        self._ended = False

    async def __aenter__(self) -> Self:
        """Refuse a registry that cannot be run."""
        self.jobs.check()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close everything, the last opened first. One that fails keeps no other open."""
        self._ended = True
        opened = [self.kept[wanted] for wanted in reversed(self.values)]
        for each in [each for each in self.kept.values() if each not in opened]:
            each.task.cancel()  # nobody waits for it any more
            await each.end()
        faults = [await each.end() for each in opened]
        found = [fault for fault in faults if fault is not None]
        if len(found) == 1:
            raise found[0]
        if found:
            raise ExceptionGroup("providers failed when they were closed", found)

    async def get(self, wanted: object) -> object:
        """The object of a type. All who ask while it is being opened get the same one, or the same error."""
        value = self.values.get(wanted, _CLOSED)
        if value is not _CLOSED:
            return value
        if self._ended:
            raise PacelineError(f"{inspect.formatannotation(wanted)} is asked for after the end (keep the Scope open)")
        if wanted not in self.kept:
            self.kept[wanted] = _Kept(self, self.jobs.providers[wanted])
        return await asyncio.shield(self.kept[wanted].opened)  # one who gives up takes it from nobody

    async def arguments(
        self, wants: Sequence[Parameter], context: Context | None
    ) -> tuple[list[object], dict[str, object]]:
        """What fills the parameters: by position as far as that goes, since decorators may change names."""
        positional: list[object] = []
        named: dict[str, object] = {}
        gap = False
        for each in wants:
            if each.type is Context and context is not None:
                value: object = context
            elif each.type in self.jobs.providers:
                value = await self.get(each.type)
            else:
                gap = True  # it has a default; see Jobs.check
                continue
            if each.by_position and not gap:
                positional.append(value)
            elif each.by_name:
                named[each.name] = value
        return positional, named


class _Kept:
    """One object and the task that opens and closes it: task groups and timeouts must end in the task they began in."""

    def __init__(self, scope: Scope, provider: Provider) -> None:
        """Begin to open it."""
        self._scope = scope
        self._provider = provider
        self._close = asyncio.Event()
        loop = asyncio.get_running_loop()
        self.opened: asyncio.Future[object] = loop.create_future()
        self.task = loop.create_task(self._live(), context=scope.context.copy())
        self.task.add_done_callback(self._gone)

    async def end(self) -> Exception | None:
        """Close it; what went wrong is returned."""
        self._close.set()
        await asyncio.wait([self.task])
        fault = None if self.task.cancelled() else self.task.exception()
        if not isinstance(fault, Exception):
            return None
        fault.add_note(f"while closing the provider {self._provider.place}")
        return fault

    async def _live(self) -> None:
        async with AsyncExitStack() as stack:
            try:
                value = await self._open(stack)
            except SystemExit as error:  # out of a task it would end the runner, not the attempt
                raise PacelineError(f"the provider {self._provider.place} called sys.exit({error.code})") from None
            except Exception as error:
                error.add_note(f"while opening the provider {self._provider.place}")
                raise
            self._scope.values[self._provider.type] = value
            self.opened.set_result(value)
            await self._close.wait()

    async def _open(self, stack: AsyncExitStack) -> object:
        make = self._provider.call
        positional, named = await self._scope.arguments(self._provider.wants, None)
        if self._provider.yields and self._provider.is_async:
            return await stack.enter_async_context(asynccontextmanager(make)(*positional, **named))
        if self._provider.yields:
            return stack.enter_context(contextmanager(make)(*positional, **named))
        made = make(*positional, **named)
        return await made if self._provider.is_async else made

    def _gone(self, task: asyncio.Task[None]) -> None:
        """Forget it, so that the next one who asks opens it again."""
        self._scope.kept.pop(self._provider.type, None)
        self._scope.values.pop(self._provider.type, None)
        fault = None if task.cancelled() else task.exception()
        if not self.opened.done():
            broken_off = PacelineError(f"the provider {self._provider.place} was broken off while it opened")
            self.opened.set_exception(fault if isinstance(fault, Exception) else broken_off)
            self.opened.exception()  # known, also if nobody waits for it any more
        elif not self._close.is_set():
            _log.error("the provider %s ended by itself", self._provider.place, exc_info=fault)
