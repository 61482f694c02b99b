"""The one way to run a Python handler: for the runner, for its child processes, and for tests in memory."""

import contextlib
import os
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from inspect import isawaitable
from pathlib import Path
from traceback import StackSummary, TracebackException
from types import CodeType
from typing import Any, Final

from paceline.context import Context, Next
from paceline.errors import InvalidInputError
from paceline.handler import Handler
from paceline.job import Claimed
from paceline.retry import Exponential, GiveUp, Retry, RetryPolicy
from paceline.scope import Scope as Scope

ERROR_LIMIT: Final = 2**14
"""So many characters of an error are kept, from both ends."""
_GAP: Final = "\n... the middle is left out ...\n"

InThread = Callable[[Callable[[], object]], Awaitable[object]]
"""Runs a function in a thread, with a copy of the caller's context variables."""


class BadPayloadError(InvalidInputError):
    """The payload does not fit the handler, and will not the next time; raised by `invoke`, never by a handler."""


def invoke(
    scope: Scope, handler: Handler, job: Claimed, context: Context, *, in_thread: InThread | None = None
) -> Awaitable[object]:
    """Run a handler: awaited, it is what the handler returns, or raises. A payload that does not fit is told apart.

    A sync function goes through `in_thread`; without one it runs right here and holds up the loop.
    """
    try:
        payload = handler.parse(job.body)
    except InvalidInputError as error:
        raise BadPayloadError(str(error)) from None
    if handler.is_async and not handler.wants and not scope.middlewares:  # most are like this: no detour
        own: Awaitable[object] = handler.call(payload)
        return own
    return _with_arguments(scope, handler, job, payload, context, in_thread)


async def _with_arguments(
    scope: Scope, handler: Handler, job: Claimed, payload: object, context: Context, in_thread: InThread | None
) -> object:
    positional, named = await scope.arguments(handler.wants, context)
    call = partial(handler.call, payload, *positional, **named)
    step: Next = call if handler.is_async else partial(_run_sync, call, in_thread)
    for middleware in reversed(scope.middlewares):
        step = partial(middleware, step, job)
    return await step()


async def _run_sync(call: Callable[[], Any], in_thread: InThread | None) -> object:
    result: Any = _result(call) if in_thread is None else await in_thread(partial(_result, call))
    return await result if isawaitable(result) else result  # a decorator may hide that it was async


def _result(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except StopIteration as error:  # no future can carry it: the attempt would wait for ever
        raise RuntimeError("the handler raised StopIteration") from error


def settle(handler: Handler, job: Claimed, error: BaseException) -> tuple[str, timedelta | None]:
    """What is kept of a failed attempt, and how long to wait for the next; None if there is none.

    The text begins with `Type: message`; then comes the traceback, from the user's first line on.
    """
    if isinstance(error, BadPayloadError):
        return str(error), None
    wait, note = _decide(handler.retry, job.tries + 1, error)
    return _bounded(_told(error, handler.call) + note), wait


def _decide(policy: RetryPolicy, tries: int, error: BaseException) -> tuple[timedelta | None, str]:
    """The wait, and what is to be said about it. A policy that fails must not cost the attempt its outcome."""
    try:
        decision: object = policy.decide(tries, error)
    except Exception as fault:
        problem = _summary(fault)
    else:
        if isinstance(decision, Retry):
            return decision.after, ""
        if isinstance(decision, GiveUp):
            return None, f"\nNot tried again: {decision.reason}"
        problem = f"it returned neither Retry nor GiveUp, but {type(decision).__name__}"
    usual = Exponential().decide(tries, error)
    assert isinstance(usual, Retry)
    return usual.after, f"\nThe retry policy failed, so the wait is that of Exponential(): {problem}"


def _told(error: BaseException, call: Callable[..., object]) -> str:
    summary = _summary(error)
    try:
        trace = TracebackException.from_exception(error, lookup_lines=False, compact=True)
        _leave_users_frames(trace, getattr(call, "__code__", None))
        if not (trace.stack or trace.__cause__ or trace.__context__ or trace.exceptions):
            return summary
        return f"{summary.partition(chr(10))[0]}\n{''.join(trace.format()).rstrip()}"
    except Exception:  # an error class with a bug of its own
        return summary


def _summary(error: BaseException) -> str:
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be read)"
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _leave_users_frames(trace: TracebackException, code: CodeType | None) -> None:
    """Cut what comes before the handler's own code, also from the errors behind this one."""
    frames = list(trace.stack)
    last = max((index for index, frame in enumerate(frames) if frame.filename in _DOORS), default=-1)
    frames = frames[last + 1 :]
    while frames and _is_ours(frames[0].filename):
        del frames[0]
    own = (code.co_filename, code.co_name) if code else None
    first = next((index for index, frame in enumerate(frames) if (frame.filename, frame.name) == own), 0)
    trace.stack = StackSummary.from_list(frames[first:])
    for other in (trace.__cause__, trace.__context__, *(trace.exceptions or ())):
        if other is not None:
            _leave_users_frames(other, code)


_DOORS: Final = frozenset(each.__code__.co_filename for each in (invoke, Scope.get))
"""Where our code calls the user's."""
_OURS: Final = (f"{Path(__file__).parent}{os.sep}", str(Path(contextlib.__file__)))


def _is_ours(filename: str) -> bool:
    return filename.startswith(_OURS) or "paceline_runner" in Path(filename).parts


def _bounded(text: str) -> str:
    if len(text) <= ERROR_LIMIT:
        return text
    half = (ERROR_LIMIT - len(_GAP)) // 2
    return text[:half] + _GAP + text[-half:]
