"""What is kept of a failed attempt, and when the next one is."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

import paceline
from paceline.context import Context, JobInfo, Next
from paceline.handlers import Jobs
from paceline.invoke import ERROR_LIMIT, InThread, Scope, invoke, settle
from paceline.job import Claimed, Fence, JobId, NewJob
from paceline.retry import Custom, Exponential, Fixed, GiveUp, Never, Retry, RetryPolicy

SDK = str(Path(paceline.__file__).parent)
JOB = Claimed(JobId(7), Fence(3), "mail", "null", 5, 1, 2, None, None, 0.0)
CONTEXT = cast("Context", object())


@dataclass
class Policy:
    """One of a user's own, with whatever in it."""

    answer: Any

    def decide(self, tries: int, error: BaseException) -> Retry:  # noqa: ARG002
        if isinstance(self.answer, Exception):
            raise self.answer
        return cast("Retry", self.answer)


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


class UnreadableError(Exception):
    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]
        raise ZeroDivisionError


class Pool: ...


async def in_thread(call: Callable[[], object]) -> object:
    return await asyncio.to_thread(call)


def settled(error: BaseException, retry: RetryPolicy | None = None) -> tuple[str, timedelta | None]:
    jobs = Jobs()
    jobs.command("mail", ["true"], retry=retry)
    return settle(jobs.get("mail"), JOB, error)


async def failed(jobs: Jobs, body: str = "null", in_thread: InThread | None = None) -> str:
    with pytest.raises(Exception) as caught:  # noqa: PT011 -- each test looks at what is told
        async with Scope(jobs) as scope:
            await invoke(scope, jobs.get("mail"), JOB._replace(body=body), CONTEXT, in_thread=in_thread)
    return settle(jobs.get("mail"), JOB, caught.value)[0]


def test_the_policy_is_asked_with_this_try_counted() -> None:
    asked = list[object]()

    def decide(tries: int, error: BaseException) -> Retry:
        asked.extend([tries, error])
        return Retry(timedelta(seconds=9))

    error = OSError("away")
    assert settled(error, Custom(decide)) == ("OSError: away", timedelta(seconds=9))
    assert asked == [2, error]


def test_a_policy_that_gives_up_says_why() -> None:
    assert settled(OSError("away"), Never()) == ("OSError: away\nNot tried again: this kind is never retried", None)
    assert settled(OSError("away"), Policy(GiveUp("enough"))) == ("OSError: away\nNot tried again: enough", None)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (KeyError("no rule"), "KeyError: 'no rule'"),
        (UnprintableError(), "UnprintableError: (its message cannot be read)"),
        (30, "it returned neither Retry nor GiveUp, but int"),
    ],
)
def test_a_policy_that_fails_costs_no_outcome(answer: object, words: str) -> None:
    text, wait = settled(OSError("away"), Policy(answer))
    assert text == f"OSError: away\nThe retry policy failed, so the wait is that of Exponential(): {words}"
    usual = Exponential(jitter=0).decide(2, OSError())
    assert isinstance(usual, Retry)
    assert wait is not None
    assert usual.after * 0.8 <= wait <= usual.after


async def test_a_payload_that_does_not_fit_is_never_tried_again() -> None:
    jobs = Jobs()

    @jobs.handler("mail", retry=Fixed(timedelta(0)))
    async def mail(payload: int) -> None: ...

    async with Scope(jobs) as scope:
        with pytest.raises(Exception, match="does not fit") as caught:
            await invoke(scope, jobs.get("mail"), JOB, CONTEXT)
    text, wait = settle(jobs.get("mail"), JOB, caught.value)
    assert text.startswith('payload of "mail" does not fit: it: ')
    assert wait is None


def test_an_error_that_was_never_raised_is_one_line() -> None:
    assert settled(OSError("away"))[0] == "OSError: away"
    assert settled(InterruptedError())[0] == "InterruptedError"
    assert settled(ValueError("a\nb"))[0] == "ValueError: a\nb"


@pytest.mark.parametrize("thread", [in_thread, None], ids=["thread", "here"])
@pytest.mark.parametrize("around", [True, False], ids=["middleware", "alone"])
async def test_the_traceback_begins_with_the_users_own_lines(thread: InThread | None, around: bool) -> None:
    jobs = Jobs()

    @jobs.handler("mail")
    def mail(payload: object) -> None:
        raise OSError("away\nfar away")

    if around:

        @jobs.middleware
        async def middleware(call: Next, job: JobInfo) -> object:
            return await call()

    first, title, where, *_, message, rest = (await failed(jobs, in_thread=thread)).splitlines()
    assert (first, title) == ("OSError: away", "Traceback (most recent call last):")
    assert where.startswith(f'  File "{__file__}", line ')
    assert where.endswith(", in mail")
    assert (message, rest) == ("OSError: away", "far away")


async def test_an_async_handler_and_what_it_calls_are_told() -> None:
    jobs = Jobs()

    @jobs.handler("mail")
    async def mail(payload: object) -> None:
        NewJob(kind="")

    text = await failed(jobs)
    assert text.startswith('InvalidInputError: kind "" is no name')
    assert text.splitlines()[2].endswith(", in mail")
    assert "job.py" in text, "what we raised below the user's code stays"
    assert "invoke.py" not in text


async def test_the_error_behind_an_error_is_told_without_our_lines_too() -> None:
    jobs = Jobs()

    @jobs.middleware
    async def middleware(call: Next, job: JobInfo) -> object:
        try:
            return await call()
        except KeyError as error:
            raise LookupError("no customer") from error

    @jobs.handler("mail")
    def mail(payload: object) -> None:
        raise KeyError("ann")

    text = await failed(jobs)
    assert text.startswith("LookupError: no customer\nTraceback")
    assert "KeyError: 'ann'" in text
    assert ", in mail" in text
    assert ", in middleware" in text
    assert "paceline/invoke.py" not in text


async def test_a_provider_that_fails_is_named() -> None:
    jobs = Jobs()

    @jobs.provider
    async def pool() -> Pool:
        raise OSError("no database")

    @jobs.handler("mail")
    async def mail(payload: object, pool: Pool) -> None: ...

    text = await failed(jobs)
    assert text.splitlines()[2].endswith(", in pool")
    assert "while opening the provider" in text
    assert "scope.py" not in text


async def test_all_errors_of_a_group_are_told() -> None:
    jobs = Jobs()

    @jobs.handler("mail")
    async def mail(payload: object) -> None:
        raise ExceptionGroup("two", [KeyError("first"), ValueError("second")])

    text = await failed(jobs)
    assert "KeyError: 'first'" in text
    assert "ValueError: second" in text


def raised_in(path: str) -> OSError:
    with pytest.raises(OSError, match="exit code 3") as caught:
        exec(compile("raise OSError('exit code 3')", path, "exec"))  # noqa: S102
    assert caught.value.__traceback__ is not None
    return caught.value.with_traceback(caught.value.__traceback__.tb_next)


@pytest.mark.parametrize("path", ["/opt/paceline_runner/command.py", f"{SDK}/retry.py"])
def test_our_own_lines_are_not_told(path: str) -> None:
    assert settled(raised_in(path))[0] == "OSError: exit code 3"


@pytest.mark.parametrize("path", ["/opt/app.py", f"{SDK}_jobs/app.py"])
def test_lines_of_others_are_told_wherever_they_lie(path: str) -> None:
    assert f'File "{path}", line 1' in settled(raised_in(path))[0]


@pytest.mark.parametrize("error", [UnprintableError(), UnreadableError("x")])
def test_an_error_with_a_bug_of_its_own_is_told_as_far_as_it_goes(error: Exception) -> None:
    assert settled(error)[0] in ("UnprintableError: (its message cannot be read)", "UnreadableError: x")


def test_of_a_long_text_both_ends_are_kept() -> None:
    text, _ = settled(ValueError("begin" + "x" * 100_000 + "end"), Never())
    assert text.startswith("ValueError: begin")
    assert text.endswith("end\nNot tried again: this kind is never retried")
    assert "\n... the middle is left out ...\n" in text
    assert ERROR_LIMIT - 1 <= len(text) <= ERROR_LIMIT
    exact = "x" * (ERROR_LIMIT - len("ValueError: "))
    assert settled(ValueError(exact))[0] == f"ValueError: {exact}"
