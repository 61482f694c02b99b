"""The functions that do the work, by the kind of job they do. A registry of values: nothing runs here.

The first parameter is the payload, checked against its annotation when a job is made and again when it is run:

jobs = Jobs()

class Mail(BaseModel):
    to: str

@jobs.handler("email.send", retry=Exponential(), timeout=timedelta(minutes=1))
async def send(mail: Mail, context: Context) -> None: ...

await queue.enqueue(jobs.job("email.send", Mail(to="you@example.org"), priority=7))
"""

import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, Protocol, TypedDict, TypeVar, Unpack, get_args, get_type_hints

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from paceline.errors import InvalidInputError, NotFoundError
from paceline.job import KIND, Fence, JobId, NewJob, encode
from paceline.retry import Exponential, RetryPolicy

Isolation = Literal["thread", "process"]
Function = TypeVar("Function", bound=Callable[..., object])
MOST_PROBLEMS: Final = 5
"""So many faults of one payload are told; a list of thousands helps nobody."""
LONGEST_PATH: Final = 10
"""So many steps into a payload are told."""


class Context(Protocol):
    """What a handler may know and do while it runs. No method waits for the network, so sync handlers may call them."""

    @property
    def job_id(self) -> JobId:
        """The job's number: the same in every try."""

    @property
    def fence(self) -> Fence:
        """Grows with every claim: hand it to systems outside, and let them refuse a smaller one than they have seen."""

    @property
    def tries(self) -> int:
        """How many tries of this job have failed before this one."""

    @property
    def should_stop(self) -> bool:
        """Somebody cancelled the job, or the runner has to leave: finish or give up soon."""

    @property
    def log(self) -> logging.Logger:
        """Lines that are kept with the attempt."""

    def progress(self, value: JsonValue) -> None:
        """Tell those who watch how far it is; the last value counts."""

    def extend(self, by: timedelta) -> None:
        """Move this try's timeout, from now on."""


class JobOptions(TypedDict, total=False):
    """Everything about a job but its kind and payload; see NewJob."""

    priority: int
    delay: timedelta | None
    run_at: datetime | None
    expires_in: timedelta | None
    expires_at: datetime | None
    key: str | None
    key_limit: int | None
    dedupe: str | None
    tags: tuple[str, ...]
    tolerations: tuple[str, ...]
    max_tries: int
    max_losses: int
    timeout: timedelta | None
    trace: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """One function and how it wants to be run."""

    kind: str
    call: Callable[..., object]
    is_async: bool
    wants_context: bool
    payload_type: object
    retry: RetryPolicy
    timeout: timedelta | None
    """For one try; the job's own timeout goes before it."""
    isolation: Isolation | None
    """None: an async function in the runner's loop, a sync one in a thread."""
    adapter: TypeAdapter[Any] = field(repr=False, compare=False)

    def parse(self, body: str) -> Any:
        """The payload as the function wants it; one that does not fit will not fit the next time either."""
        try:
            return self.adapter.validate_json(body)
        except ValidationError as error:
            raise InvalidInputError(_problems(self.kind, error)) from None

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
    def place(self) -> str:
        """Where the function is, for people."""
        return _place(self.call)


class Jobs:
    """The handlers of an application."""

    def __init__(self) -> None:
        """Begin with none."""
        self._handlers: dict[str, Handler] = {}

    def handler(
        self,
        kind: str,
        *,
        retry: RetryPolicy | None = None,
        timeout: timedelta | None = None,
        isolation: Isolation | None = None,
    ) -> Callable[[Function], Function]:
        """Let a function do the jobs of a kind. The function itself stays what it was."""
        if not KIND.fullmatch(kind):
            raise InvalidInputError(f'kind "{kind}" is no name (at most 128 letters, digits, "-_.:/")')
        if timeout is not None and timeout <= timedelta(0):
            raise InvalidInputError(
                f'timeout {timeout} of "{kind}" is out of range (more than nothing, or leave it out)'
            )
        if isolation is not None and isolation not in get_args(Isolation):
            raise InvalidInputError(f'isolation "{isolation}" of "{kind}" is unknown (use thread or process)')

        def add(call: Function) -> Function:
            if before := self._handlers.get(kind):
                raise InvalidInputError(
                    f'kind "{kind}" has two handlers: {before.place} and {_place(call)} (rename one of them)'
                )
            self._handlers[kind] = _handler(kind, call, retry or Exponential(), timeout, isolation)
            return call

        return add

    @property
    def kinds(self) -> tuple[str, ...]:
        """All kinds with a handler, sorted."""
        return tuple(sorted(self._handlers))

    def get(self, kind: str) -> Handler:
        """The handler of a kind."""
        try:
            return self._handlers[kind]
        except KeyError:
            known = ", ".join(self.kinds) or "none"
            raise NotFoundError(f'kind "{kind}" has no handler (there are: {known})') from None

    def job(self, kind: str, payload: object = None, **options: Unpack[JobOptions]) -> NewJob:
        """A job whose payload the handler will understand; one that it would not is refused here."""
        handler = self.get(kind)
        try:
            plain: JsonValue = handler.adapter.dump_python(
                handler.adapter.validate_python(payload), mode="json", by_alias=True, warnings=False
            )
        except ValidationError as error:
            raise InvalidInputError(_problems(kind, error)) from None
        except (PydanticSerializationError, ValueError, RecursionError) as error:
            raise InvalidInputError(f'payload of "{kind}" cannot be written as JSON: {error}') from None
        job = NewJob(kind=kind, payload=plain, **options)
        handler.parse(job.body)  # what was written can be read: an object changed after it was checked is found here
        return job


def _handler(
    kind: str, call: Callable[..., object], retry: RetryPolicy, timeout: timedelta | None, isolation: Isolation | None
) -> Handler:
    where = f'the handler of "{kind}", {_place(call)},'
    if (
        not (inspect.isfunction(call) or inspect.ismethod(call))
        or inspect.isgeneratorfunction(call)
        or inspect.isasyncgenfunction(call)
    ):
        raise InvalidInputError(f"{where} must be a function that returns its result (def or async def, no yield)")
    if isolation == "process" and "<" in call.__qualname__:
        raise InvalidInputError(f"{where} must stand at the top of its module: another process imports it by name")
    try:
        hints = get_type_hints(call, include_extras=True)
    except (NameError, TypeError) as error:
        raise InvalidInputError(f"{where} has an annotation that cannot be read: {error}") from None
    payload, wants_context = _parameters(call, hints, where)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(payload)
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise InvalidInputError(f"{where} has a payload type that cannot be read from JSON: {error.message}") from None
    return Handler(
        kind=kind,
        call=call,
        is_async=inspect.iscoroutinefunction(call),
        wants_context=wants_context,
        payload_type=payload,
        retry=retry,
        timeout=timeout,
        isolation=isolation,
        adapter=adapter,
    )


def _parameters(call: Callable[..., object], hints: dict[str, Any], where: str) -> tuple[Any, bool]:
    """The payload's type (any JSON where nothing is said), and whether a Context is wanted."""
    given = list(inspect.signature(call).parameters.values())
    positional = [each for each in given if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    if not positional or hints.get(positional[0].name) is Context:
        raise InvalidInputError(f"{where} must take the payload as its first parameter")
    wants_context = len(positional) > 1 and hints.get(positional[1].name) is Context
    for each in given[2 if wants_context else 1 :]:
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            raise InvalidInputError(
                f'{where} has a parameter "{each.name}" that nobody fills '
                "(after the payload comes at most one that is annotated with Context; give others a default)"
            )
    return hints.get(positional[0].name, JsonValue), wants_context


def _problems(kind: str, error: ValidationError) -> str:
    """What is wrong and where. Values stay out of it: a payload may hold secrets, and errors are kept."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [
        f"{'.'.join(map(str, each['loc'][:LONGEST_PATH])) or 'it'}: {each['msg']}" for each in found[:MOST_PROBLEMS]
    ]
    more = f"; and {len(found) - MOST_PROBLEMS} more" if len(found) > MOST_PROBLEMS else ""
    return f'payload of "{kind}" does not fit: {"; ".join(told)}{more}'


def _place(call: Callable[..., object]) -> str:
    code = getattr(inspect.unwrap(call), "__code__", None)
    name = f"{getattr(call, '__module__', '?')}.{getattr(call, '__qualname__', type(call).__qualname__)}"
    return f"{name} (line {code.co_firstlineno})" if code else name
