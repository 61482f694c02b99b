"""One handler as a value: the function, or what is run instead of it, and how it wants to be run."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Literal

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from paceline.context import Context
from paceline.errors import InvalidInputError
from paceline.job import encode
from paceline.outside import Outside
from paceline.providers import Parameter, annotations, parameters, place
from paceline.retry import RetryPolicy

Isolation = Literal["thread", "process"]
MOST_PROBLEMS: Final = 5
"""So many faults of one payload are told; a list of thousands helps nobody."""
LONGEST_PATH: Final = 10
"""So many steps into a payload are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """One function and how it wants to be run."""

    kind: str
    call: Callable[..., Any]
    is_async: bool
    wants: tuple[Parameter, ...] = ()
    """What comes after the payload."""
    payload_type: object
    retry: RetryPolicy
    timeout: timedelta | None
    """For one try; the job's own timeout goes before it."""
    isolation: Isolation | None
    """None: an async function in the runner's loop, a sync one in a thread."""
    outside: Outside | None = None
    """Who does the work if `call` does not: a command or a server."""
    adapter: TypeAdapter[Any] = field(repr=False, compare=False)

    def parse(self, body: str) -> Any:
        """The payload as the function wants it; one that does not fit will not fit the next time either."""
        try:
            return self.adapter.validator.validate_json(body)  # the adapter's own method takes as long again
        except ValidationError as error:
            raise InvalidInputError(problems(self.kind, error)) from None

    def dump(self, result: object) -> str | None:
        """What the function returned as JSON; nothing stays nothing."""
        if result is None:
            return None
        try:
            plain: JsonValue = to_jsonable_python(result)
        except (PydanticSerializationError, ValueError, RecursionError) as error:
            raise InvalidInputError(f'result of "{self.kind}" cannot be written as JSON: {error}') from None
        return encode(plain, f'result of "{self.kind}"')

    @property
    def wants_context(self) -> bool:
        """Whether the function takes a Context."""
        return any(each.type is Context for each in self.wants)

    @property
    def place(self) -> str:
        """Where the function is, or what is run instead, for people."""
        return self.outside.place if self.outside else place(self.call)


def where_is(kind: str, where: str) -> str:
    """How an error begins that is about a handler."""
    return f'the handler of "{kind}", {where},'


def read_handler(
    kind: str, call: Callable[..., object], retry: RetryPolicy, timeout: timedelta | None, isolation: Isolation | None
) -> Handler:
    """Look at a function once; whatever is wrong with it is said here."""
    where = where_is(kind, place(call))
    if (
        not (inspect.isfunction(call) or inspect.ismethod(call))
        or inspect.isgeneratorfunction(call)
        or inspect.isasyncgenfunction(call)
    ):
        raise InvalidInputError(f"{where} must be a function that returns its result (def or async def, no yield)")
    if isolation == "process" and "<" in call.__qualname__:
        raise InvalidInputError(f"{where} must stand at the top of its module: another process imports it by name")
    hints = annotations(call, where)
    given = list(inspect.signature(call).parameters.values())
    if not given or given[0].kind > inspect.Parameter.POSITIONAL_OR_KEYWORD or hints.get(given[0].name) is Context:
        raise InvalidInputError(f"{where} must take the payload as its first parameter")
    payload_type = hints.get(given[0].name, JsonValue)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(payload_type)
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise InvalidInputError(f"{where} has a payload type that cannot be read from JSON: {error.message}") from None
    return Handler(
        kind=kind,
        call=call,
        is_async=inspect.iscoroutinefunction(call),
        wants=parameters(given[1:], hints, where),
        payload_type=payload_type,
        retry=retry,
        timeout=timeout,
        isolation=isolation,
        adapter=adapter,
    )


def problems(kind: str, error: ValidationError) -> str:
    """What is wrong and where. Values stay out of it: a payload may hold secrets, and errors are kept."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [
        f"{'.'.join(map(str, each['loc'][:LONGEST_PATH])) or 'it'}: {each['msg']}" for each in found[:MOST_PROBLEMS]
    ]
    more = f"; and {len(found) - MOST_PROBLEMS} more" if len(found) > MOST_PROBLEMS else ""
    return f'payload of "{kind}" does not fit: {"; ".join(told)}{more}'
