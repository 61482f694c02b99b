"""Who does the work of an attempt: a function in the loop or in a thread, or something outside of Python."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Final

from paceline.errors import InvalidInputError
from paceline.invoke import BadPayloadError, invoke, settle
from paceline_runner.attempt import Attempt, Broken, Cause, Done, Ended, Executor
from paceline_runner.signals import leave_to_main
from paceline_runner.tracing import with_spans

if TYPE_CHECKING:
    from paceline.handler import Handler
    from paceline.scope import Scope


_forks = 0
"""How many forks lie between this process and the first one; to ask for its number each time took 5 % of a job."""


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)

DONE: Final = Done()
"""What most attempts end with; one for each would take longer than the rest of its way."""


class PythonExecutor:
    """Async functions in the loop, sync ones in a thread each."""

    def __init__(self, scope: "Scope", slots: int) -> None:
        """As many threads as slots: an attempt never waits for one."""
        self._scope = scope
        self._forks = _forks
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="paceline-job", initializer=leave_to_main)

    async def run(self, attempt: Attempt) -> Ended:
        """Call the handler."""
        handler, job = attempt.handler, attempt.job
        try:
            try:
                result = await invoke(self._scope, handler, job, attempt, in_thread=self._in_thread)
            finally:
                self._end_copies()
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if attempt.should_stop or (task is not None and task.cancelling()):
                raise
            return Broken(*settle(handler, job, error))  # raised by the handler's own doing
        except BadPayloadError as error:
            return Broken(str(error), None, Cause.BAD_PAYLOAD)
        except BaseException as error:  # sys.exit() in a handler ends the attempt, not the runner
            return Broken(*settle(handler, job, error))
        try:
            return DONE if result is None else Done(handler.dump(result))
        except InvalidInputError as error:
            return Broken(str(error), None, Cause.BAD_RESULT)

    async def _in_thread(self, call: Callable[[], object]) -> object:
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._threads, copy_context().run, self._in_here, call)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            # nobody can end a thread: it is told by should_stop, and its end is awaited; what it returns still counts
            await asyncio.wait({future})
            return future.result()

    def _in_here(self, call: Callable[[], object]) -> object:
        try:
            return call()
        finally:
            self._end_copies()

    def _end_copies(self) -> None:
        """A handler that forks comes back twice; the copy must not go on as a second runner on the same sockets."""
        if _forks != self._forks:
            os._exit(0)

    def close(self) -> None:
        """Let go of threads that are idle."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Executors:
    """The right one for each handler."""

    def __init__(self, python: Executor, outside: "Callable[[Handler], Executor]", pool: str) -> None:
        """`outside` gives the one for work that does not happen in this process."""
        self._python, self._outside, self._pool = python, outside, pool
        self._chosen: dict[str, Executor] = {}

    def of(self, handler: "Handler") -> Executor:
        """Who does it; chosen once for each kind."""
        chosen = self._chosen.get(handler.kind)
        if chosen is None:
            here = handler.outside is None and handler.isolation != "process"
            chosen = with_spans(self._python if here else self._outside(handler), self._pool)
            self._chosen[handler.kind] = chosen
        return chosen
