"""Providers as they are registered: which type each gives, and errors that say where to look."""

import functools
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, NewType

import pytest

from paceline.context import Context
from paceline.errors import InvalidInputError
from paceline.handlers import Jobs
from paceline.providers import place


class Pool: ...


class Session: ...


Reader = NewType("Reader", Pool)


async def stream() -> AsyncIterator[Pool]:
    yield Pool()


async def long_stream() -> AsyncGenerator[Pool, None]:
    yield Pool()


def generator() -> Iterator[Pool]:
    yield Pool()


def long_generator() -> Generator[Pool, None, None]:
    yield Pool()


async def later() -> Pool:
    return Pool()


def now() -> Pool:
    return Pool()


@pytest.mark.parametrize(
    ("call", "is_async", "yields"),
    [
        (stream, True, True),
        (long_stream, True, True),
        (generator, False, True),
        (long_generator, False, True),
        (later, True, False),
        (now, False, False),
    ],
)
def test_a_provider_is_read_by_what_stands_behind_the_arrow(
    call: Callable[[], object], is_async: bool, yields: bool
) -> None:
    jobs = Jobs()
    assert jobs.provider(call) is call
    (provider,) = jobs.providers.values()
    assert (provider.type, provider.call, provider.is_async, provider.yields) == (Pool, call, is_async, yields)


def mute(): ...  # type: ignore[no-untyped-def]
def nothing() -> None: ...
def anything() -> Any: ...
def thing() -> object: ...
def context() -> Context: ...  # type: ignore[empty-body]
def list_of() -> Annotated[Pool, []]:
    return Pool()


def bare() -> Iterator:  # type: ignore[type-arg]
    yield Pool()


def yields_itself() -> Pool:  # type: ignore[misc]
    yield Pool()


async def wrong_iterator() -> Iterator[Pool]:  # type: ignore[misc]
    yield Pool()


@asynccontextmanager
async def managed() -> AsyncIterator[Pool]:
    yield Pool()


def forward() -> "Missing":  # type: ignore[name-defined]  # noqa: F821
    ...


def unsaid(size) -> Pool:  # type: ignore[no-untyped-def]
    return Pool()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (mute, f'{place(mute)} does not say what it provides (write it like "-> AsyncIterator[Pool]")'),
        (nothing, "provides NoneType, which nobody can ask for (name a class of its own)"),
        (anything, "provides Any, which nobody can ask for"),
        (thing, "provides object, which nobody can ask for"),
        (context, "which nobody can ask for"),
        (list_of, "which nobody can ask for"),
        (bare, "which nobody can ask for"),
        (yields_itself, 'yields what it provides, so it must be annotated with "-> Iterator[...]", not'),
        (wrong_iterator, 'so it must be annotated with "-> AsyncIterator[...]", not'),
        (managed, "must yield what it provides if it is annotated with"),
        (managed, "asynccontextmanager is not needed: remove it"),
        (forward, "has an annotation that cannot be read: name 'Missing' is not defined"),
        (unsaid, 'has a parameter "size" that nobody fills (annotate it with the type of a provider'),
        (functools.partial(now), "must be a function"),
        (Pool, "must be a function"),
    ],
)
def test_a_function_that_cannot_be_a_provider_is_told_why(call: Callable[..., Any], words: str) -> None:
    jobs = Jobs()
    with pytest.raises(InvalidInputError) as caught:
        jobs.provider(call)
    assert words in str(caught.value)
    assert jobs.providers == {}


def test_two_providers_of_one_type_are_refused_with_both_places() -> None:
    jobs = Jobs()
    jobs.provider(stream)
    with pytest.raises(InvalidInputError) as caught:
        jobs.provider(now)
    assert str(caught.value) == (
        f"{__name__}.Pool has two providers: {place(stream)} and {place(now)} "
        "(remove one, or give it a type of its own by NewType or Annotated)"
    )
    assert jobs.providers[Pool].call is stream


def test_a_new_type_and_an_annotation_are_types_of_their_own() -> None:
    jobs = Jobs()
    jobs.provider(now)

    @jobs.provider
    def reader() -> Reader:
        return Reader(Pool())

    @jobs.provider
    def writer() -> Annotated[Pool, "writer"]:
        return Pool()

    @jobs.handler("all")
    def every(payload: object, a: Pool, b: Reader, *, c: Annotated[Pool, "writer"]) -> None: ...

    jobs.check()
    assert list(jobs.providers) == [Pool, Reader, Annotated[Pool, "writer"]]


def test_a_cycle_is_refused_with_the_places_on_it() -> None:
    jobs = Jobs()

    @jobs.provider
    def pool(session: Session) -> Pool:
        return Pool()

    @jobs.provider
    def reader(pool: Pool) -> Reader:
        return Reader(pool)

    with pytest.raises(InvalidInputError) as caught:

        @jobs.provider
        def session(reader: Reader) -> Session:
            return Session()

    way = " needs ".join(rf"[\w.]+<locals>\.{name} \(line \d+\)" for name in ("session", "reader", "pool", "session"))
    fix = re.escape("(let one of them make what it needs itself)")
    assert re.fullmatch(rf"{__name__}.Session cannot be opened: {way} {fix}", str(caught.value))
    assert Session not in jobs.providers


def test_a_provider_that_needs_itself_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"Pool cannot be opened: .*pool \(line \d+\) needs .*pool \(line"):

        @Jobs().provider
        def pool(pool: Pool) -> Pool:
            return pool


def test_a_provider_may_come_after_the_handler_that_needs_it() -> None:
    jobs = Jobs()

    @jobs.handler("mail")
    def mail(payload: object, pool: Pool, context: Context) -> None: ...

    with pytest.raises(InvalidInputError) as caught:
        jobs.check()
    assert 'the handler of "mail", ' in str(caught.value)
    assert f'has a parameter "pool: {__name__}.Pool" that nobody fills (there are: ' in str(caught.value)
    assert "Context; register a provider of that type, or give it a default)" in str(caught.value)
    jobs.provider(now)
    jobs.check()


def test_what_a_provider_needs_is_checked_too() -> None:
    jobs = Jobs()

    @jobs.provider
    def pool(session: Session) -> Pool:
        return Pool()

    with pytest.raises(InvalidInputError, match=r'the provider .*pool \(line \d+\) has a parameter "session: '):
        jobs.check()


def test_a_provider_has_no_context() -> None:
    jobs = Jobs()

    @jobs.provider
    def pool(context: Context) -> Pool:
        return Pool()

    with pytest.raises(InvalidInputError, match=r'has a parameter "context: .*Context" that nobody'):
        jobs.check()


def test_a_default_needs_nobody_whatever_its_annotation() -> None:
    jobs = Jobs()

    @jobs.handler("mail")
    def mail(payload: object, a=1, *, b: Annotated[int, {"unit": "s"}] = 1, c: Session | None = None) -> None: ...  # type: ignore[no-untyped-def]

    jobs.check()
