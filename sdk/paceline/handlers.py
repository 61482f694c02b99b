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
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NoReturn, TypedDict, TypeVar, Unpack, cast, get_args

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from paceline.context import Context as Context
from paceline.context import JobInfo, Next
from paceline.errors import InvalidInputError, NotFoundError, PacelineError
from paceline.handler import Handler as Handler
from paceline.handler import Isolation, problems, read_handler, where_is
from paceline.job import KIND, NewJob
from paceline.outside import GRACE, Command, Http, Outside, ResultForm
from paceline.providers import Parameter, Provider, find_cycle, place, read_provider
from paceline.retry import Exponential, RetryPolicy

Function = TypeVar("Function", bound=Callable[..., object])
Middleware = Callable[[Next, JobInfo], Awaitable[object]]
Around = TypeVar("Around", bound=Middleware)


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


class Jobs:
    """The handlers of an application, what stands around them, and what they share."""

    def __init__(self) -> None:
        """Begin with none."""
        self._handlers: dict[str, Handler] = {}
        self.middlewares: list[Middleware] = []
        """The first is the outermost."""
        self.providers: dict[object, Provider] = {}
        """By the type that they provide."""

    def handler(
        self,
        kind: str,
        *,
        retry: RetryPolicy | None = None,
        timeout: timedelta | None = None,
        isolation: Isolation | None = None,
    ) -> Callable[[Function], Function]:
        """Let a function do the jobs of a kind. The function itself stays what it was."""
        _check_options(kind, retry, timeout)
        if isolation is not None and isolation not in get_args(Isolation):
            raise InvalidInputError(f'isolation "{isolation}" of "{kind}" is unknown (use thread or process)')

        def add(call: Function) -> Function:
            self._refuse_second(kind, place(call))
            self._handlers[kind] = read_handler(kind, call, retry or Exponential(), timeout, isolation)
            return call

        return add

    def command(
        self,
        kind: str,
        argv: Sequence[str],
        *,
        retry: RetryPolicy | None = None,
        timeout: timedelta | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        result: ResultForm = "json",
        grace: timedelta = GRACE,
    ) -> None:
        """Let a program do the jobs of a kind; see `paceline.outside.Command`."""
        words = cast("tuple[str, ...]", tuple(argv) if isinstance(argv, list) else argv)  # it refuses what is neither
        command = Command(argv=words, env=dict(env or {}), cwd=cwd, result=result, grace=grace)
        self._add_outside(kind, command, retry, timeout)

    def http(
        self,
        kind: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        retry: RetryPolicy | None = None,
        timeout: timedelta | None = None,
    ) -> None:
        """Let a server do the jobs of a kind; see `paceline.outside.Http`."""
        self._add_outside(kind, Http(url=url, headers=dict(headers or {})), retry, timeout)

    def _add_outside(self, kind: str, outside: Outside, retry: RetryPolicy | None, timeout: timedelta | None) -> None:
        def call(*_: object, **__: object) -> NoReturn:
            raise PacelineError(f'"{kind}" is done by {outside.place}: there is no function to call')

        _check_options(kind, retry, timeout)
        self._refuse_second(kind, outside.place)
        self._handlers[kind] = Handler(
            kind=kind,
            call=call,
            is_async=False,
            payload_type=JsonValue,
            retry=retry or Exponential(),
            timeout=timeout,
            isolation=None,
            outside=outside,
            adapter=TypeAdapter(JsonValue),
        )

    def _refuse_second(self, kind: str, where: str) -> None:
        if before := self._handlers.get(kind):
            raise InvalidInputError(f'kind "{kind}" has two handlers: {before.place} and {where} (rename one of them)')

    def middleware(self, call: Around) -> Around:
        """Put `async def m(call: Next, job: JobInfo)` around every Python handler, inside those that came before."""
        is_async: bool = inspect.iscoroutinefunction(call)  # by a name: mypy would forget what `call` is
        if not is_async:
            raise InvalidInputError(f"the middleware {place(call)} must be an async function (write async def)")
        try:
            inspect.signature(call).bind(None, None)
        except TypeError:
            raise InvalidInputError(
                f"the middleware {place(call)} must take two parameters (write them like call: Next, job: JobInfo)"
            ) from None
        self.middlewares.append(call)
        return call

    def provider(self, call: Function) -> Function:
        """Let a function give the objects of the type that it is annotated with; each is opened once for a process."""
        new = read_provider(call)
        name = inspect.formatannotation(new.type)
        if before := self.providers.get(new.type):
            raise InvalidInputError(
                f"{name} has two providers: {before.place} and {new.place} "
                "(remove one, or give it a type of its own by NewType or Annotated)"
            )
        if cycle := find_cycle(new, self.providers):
            way = " needs ".join(each.place for each in [*cycle, new])
            raise InvalidInputError(f"{name} cannot be opened: {way} (let one of them make what it needs itself)")
        self.providers[new.type] = new
        return call

    def check(self) -> None:
        """Refuse parameters that nobody fills. A runner asks before it starts: providers may come after handlers."""
        for each in self._handlers.values():
            self._check_filled(where_is(each.kind, each.place), each.wants, Context)
        for provider in self.providers.values():
            self._check_filled(f"the provider {provider.place}", provider.wants)

    def _check_filled(self, where: str, wants: Sequence[Parameter], *also: object) -> None:
        known = [*also, *self.providers]
        for each in wants:
            if each.required and each.type not in known:
                names = ", ".join(map(inspect.formatannotation, known)) or "none"
                raise InvalidInputError(
                    f'{where} has a parameter "{each.name}: {inspect.formatannotation(each.type)}" that nobody fills '
                    f"(there are: {names}; register a provider of that type, or give it a default)"
                )

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
            raise InvalidInputError(problems(kind, error)) from None
        except (PydanticSerializationError, ValueError, RecursionError) as error:
            raise InvalidInputError(f'payload of "{kind}" cannot be written as JSON: {error}') from None
        job = NewJob(kind=kind, payload=plain, **options)
        handler.parse(job.body)  # what was written can be read: an object changed after it was checked is found here
        return job


def _check_options(kind: str, retry: RetryPolicy | None, timeout: timedelta | None) -> None:
    if not KIND.fullmatch(kind):
        raise InvalidInputError(f'kind "{kind}" is no name (at most 128 letters, digits, "-_.:/")')
    if timeout is not None and timeout <= timedelta(0):
        raise InvalidInputError(f'timeout {timeout} of "{kind}" is out of range (more than nothing, or leave it out)')
    if retry is not None and (isinstance(retry, type) or not callable(getattr(retry, "decide", None))):
        raise InvalidInputError(f'retry {retry!r} of "{kind}" is no policy (write it like Never() or Custom(function))')
