"""Objects that handlers share, as values: which function gives which type, and what it needs itself.

`paceline.scope` opens them.
"""

import inspect
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
)
from dataclasses import dataclass
from typing import Any, Final, get_args, get_origin, get_type_hints

from paceline.context import Context
from paceline.errors import InvalidInputError

NOTHING: Final = inspect.Parameter.empty
"""The type of a parameter that has none, or one that no provider can have."""
_ASYNC: Final = (AsyncIterator, AsyncGenerator, AsyncIterable)
_SYNC: Final = (Iterator, Generator, Iterable)
_SAYS_NOTHING: Final = (Any, object, type(None), Context)
"""A Context is the runner's to give."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter that can be filled by its type."""

    name: str
    type: object
    required: bool
    by_position: bool
    by_name: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A function that gives the objects of one type."""

    type: object
    call: Callable[..., Any]
    is_async: bool
    yields: bool
    """What stands after the yield closes the object."""
    wants: tuple[Parameter, ...]

    @property
    def place(self) -> str:
        """Where the function is, for people."""
        return place(self.call)


def read_provider(call: Callable[..., Any]) -> Provider:
    """Look at a function once; whatever is wrong with it is said here."""
    where = f"the provider {place(call)}"
    if not (inspect.isfunction(call) or inspect.ismethod(call)):
        raise InvalidInputError(f"{where} must be a function (def or async def, with or without yield)")
    hints = annotations(call, where)
    if "return" not in hints:
        raise InvalidInputError(f'{where} does not say what it provides (write it like "-> AsyncIterator[Pool]")')
    is_generator, is_stream = inspect.isgeneratorfunction(call), inspect.isasyncgenfunction(call)
    return Provider(
        type=_provided(hints["return"], where, _ASYNC if is_stream else _SYNC if is_generator else ()),
        call=call,
        is_async=is_stream or inspect.iscoroutinefunction(call),
        yields=is_generator or is_stream,
        wants=parameters(list(inspect.signature(call).parameters.values()), hints, where),
    )


def _provided(annotation: object, where: str, iterators: tuple[object, ...]) -> object:
    """The type behind the arrow. `iterators`: what a function that yields may say; none for one that returns."""
    name, origin = inspect.formatannotation(annotation), get_origin(annotation) or annotation
    if iterators and origin not in iterators:
        should = f"{'AsyncIterator' if iterators is _ASYNC else 'Iterator'}[...]"
        raise InvalidInputError(
            f'{where} yields what it provides, so it must be annotated with "-> {should}", not {name}'
        )
    if not iterators and origin in (*_ASYNC, *_SYNC):
        raise InvalidInputError(
            f"{where} must yield what it provides if it is annotated with {name} "
            "(a decorator like asynccontextmanager is not needed: remove it)"
        )
    provided = annotation if not iterators else next(iter(get_args(annotation)), object)
    if not _has_hash(provided) or provided in _SAYS_NOTHING:
        raise InvalidInputError(f"{where} provides {name}, which nobody can ask for (name a class of its own)")
    return provided


def find_cycle(new: Provider, known: Mapping[object, Provider]) -> list[Provider]:
    """The providers on the way from a new one back to itself; none if there is no such way."""

    def walk(path: list[Provider]) -> list[Provider]:
        for each in path[-1].wants:
            if each.type == new.type:
                return path
            if (needed := known.get(each.type)) and (found := walk([*path, needed])):
                return found
        return []

    return walk([new])


def annotations(call: Callable[..., Any], where: str) -> dict[str, Any]:
    """The annotations of a function, read."""
    try:
        return get_type_hints(call, include_extras=True)
    except (NameError, TypeError) as error:
        raise InvalidInputError(f"{where} has an annotation that cannot be read: {error}") from None


def parameters(given: list[inspect.Parameter], hints: dict[str, Any], where: str) -> tuple[Parameter, ...]:
    """What can be filled. One that has neither a type nor a default never will be."""
    found = []
    for each in given:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        wanted = hints.get(each.name, NOTHING)
        wanted = wanted if _has_hash(wanted) else NOTHING
        if wanted is NOTHING and each.default is each.empty:
            raise InvalidInputError(
                f'{where} has a parameter "{each.name}" that nobody fills '
                "(annotate it with the type of a provider, or give it a default)"
            )
        found.append(
            Parameter(
                each.name,
                wanted,
                required=each.default is each.empty,
                by_position=each.kind is not each.KEYWORD_ONLY,
                by_name=each.kind is not each.POSITIONAL_ONLY,
            )
        )
    return tuple(found)


def place(call: Callable[..., Any]) -> str:
    """Where a function is, for people."""
    code = getattr(inspect.unwrap(call), "__code__", None)
    name = f"{getattr(call, '__module__', '?')}.{getattr(call, '__qualname__', type(call).__qualname__)}"
    return f"{name} (line {code.co_firstlineno})" if code else name


def _has_hash(value: object) -> bool:
    """`Annotated[int, {"unit": "s"}]` has none, though its class has."""
    try:
        hash(value)
    except TypeError:
        return False
    return True
