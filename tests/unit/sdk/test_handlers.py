"""The registry: payloads by annotation, one handler for each kind, and errors that say where to look."""

import functools
import inspect
import json
import math
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from paceline.errors import InvalidInputError, NotFoundError
from paceline.handlers import Context, Jobs
from paceline.job import NewJob
from paceline.retry import Exponential, Never

if TYPE_CHECKING:
    from decimal import Decimal

Make: TypeAlias = Callable[[], object]


class Mail(BaseModel):
    to: str
    on: date | None = Field(default=None, alias="when")
    weight: float | None = None


@dataclass
class Resize:
    width: int
    at: datetime | None = None


class Order(TypedDict):
    number: int


def send(mail: Mail) -> None:
    """At the top of its module, so that another process can import it."""


@pytest.fixture
def jobs() -> Jobs:
    jobs = Jobs()

    @jobs.handler("mail", retry=Never(), timeout=timedelta(minutes=1))
    async def mail(mail: Mail, context: Context) -> None: ...

    @jobs.handler("resize", isolation="thread")
    def resize(what: Resize) -> None: ...

    @jobs.handler("order")
    def order(order: Order, *, dry_run: bool = False) -> None: ...

    @jobs.handler("plain")
    def plain(payload): ...  # type: ignore[no-untyped-def]

    return jobs


def test_a_handler_is_a_value_that_says_how_to_run_it(jobs: Jobs) -> None:
    mail, resize = jobs.get("mail"), jobs.get("resize")
    assert (mail.is_async, mail.wants_context, mail.payload_type) == (True, True, Mail)
    assert (mail.retry, mail.timeout, mail.isolation) == (Never(), timedelta(minutes=1), None)
    assert (resize.is_async, resize.wants_context, resize.isolation) == (False, False, "thread")
    assert resize.retry == Exponential()
    assert jobs.kinds == ("mail", "order", "plain", "resize")


def test_the_function_stays_what_it_was() -> None:
    assert Jobs().handler("mail", isolation="process")(send) is send


@pytest.mark.parametrize(
    ("kind", "body", "value"),
    [
        ("mail", '{"to": "a", "when": "2026-01-02"}', Mail(to="a", when=date(2026, 1, 2))),
        ("resize", '{"width": 3, "at": "2026-01-01T00:00:00Z"}', Resize(3, datetime(2026, 1, 1, tzinfo=UTC))),
        ("order", '{"number": 7}', {"number": 7}),
        ("plain", '{"a": [1, null, "x"]}', {"a": [1, None, "x"]}),
        ("plain", "null", None),
    ],
)
def test_a_payload_is_read_by_its_annotation(jobs: Jobs, kind: str, body: str, value: object) -> None:
    assert jobs.get(kind).parse(body) == value


@pytest.mark.parametrize(
    ("kind", "payload", "body"),
    [
        ("mail", Mail(to="a", when=date(2026, 1, 2)), {"to": "a", "when": "2026-01-02", "weight": None}),
        ("mail", {"to": "a"}, {"to": "a", "when": None, "weight": None}),
        ("resize", Resize(3), {"width": 3, "at": None}),
        ("resize", {"width": "3"}, {"width": 3, "at": None}),
        ("order", {"number": 7}, {"number": 7}),
        ("plain", [1, None], [1, None]),
    ],
)
def test_a_job_is_written_as_its_handler_reads_it(jobs: Jobs, kind: str, payload: object, body: object) -> None:
    job = jobs.job(kind, payload, priority=7, tags=("gpu",))
    assert json.loads(job.body) == body
    assert (job.kind, job.priority, job.tags) == (kind, 7, ("gpu",))


@pytest.mark.parametrize(
    ("kind", "payload", "words"),
    [
        ("mail", {}, 'payload of "mail" does not fit: to: Field required'),
        ("mail", None, 'payload of "mail" does not fit: it: Input should be'),
        ("mail", Mail.model_construct(to=5), "to: Input should be a valid string"),  # type: ignore[arg-type]
        ("mail", Mail(to="a", weight=math.nan), "payload cannot be written as JSON"),
        ("resize", Resize("wide"), "width: Input should be a valid integer"),  # type: ignore[arg-type]
        ("order", {"number": "x"}, "number: Input should be a valid integer"),
        ("plain", {"a": object()}, 'payload of "plain" does not fit'),
    ],
)
def test_a_payload_that_the_handler_would_not_understand_is_refused(
    jobs: Jobs, kind: str, payload: object, words: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        jobs.job(kind, payload)
    assert words in str(caught.value)


def test_a_bad_payload_is_told_without_its_values(jobs: Jobs) -> None:
    with pytest.raises(InvalidInputError) as caught:
        jobs.get("order").parse('{"number": "secret"}')
    assert "number: Input should be a valid integer" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_of_many_faults_some_are_told() -> None:
    jobs = Jobs()

    @jobs.handler("list")
    def handle(numbers: list[int]) -> None: ...

    with pytest.raises(InvalidInputError, match=r"0: .*; 4: .*; and 95 more$"):
        jobs.job("list", ["x"] * 100)


@pytest.mark.parametrize(
    ("result", "body"),
    [
        (None, None),
        ({"a": 1}, '{"a":1}'),
        (Mail(to="a"), '{"to":"a","when":null,"weight":null}'),
        (Resize(1, datetime(2026, 1, 1, tzinfo=UTC)), '{"width":1,"at":"2026-01-01T00:00:00Z"}'),
        ([date(2026, 1, 1), {3}], '["2026-01-01",[3]]'),
        (0, "0"),
    ],
)
def test_a_result_is_written_as_json(jobs: Jobs, result: object, body: str | None) -> None:
    assert jobs.get("plain").dump(result) == body


@pytest.mark.parametrize("result", [object(), math.nan, "a\0", "x" * 2**20], ids=["object", "nan", "nul", "long"])
def test_a_result_that_cannot_be_kept_names_the_handler(jobs: Jobs, result: object) -> None:
    with pytest.raises(InvalidInputError, match='result of "plain"'):
        jobs.get("plain").dump(result)


def test_two_handlers_of_one_kind_are_refused_with_both_places() -> None:
    jobs = Jobs()
    jobs.handler("mail")(send)
    with pytest.raises(InvalidInputError) as caught:

        @jobs.handler("mail")
        def other(mail: Mail) -> None: ...

    line = inspect.getsourcelines(send)[1]
    assert f"{__name__}.send (line {line}) and {__name__}.test_two_" in str(caught.value)
    assert jobs.get("mail").call is send


def test_an_unknown_kind_is_told_with_the_known_ones(jobs: Jobs) -> None:
    with pytest.raises(NotFoundError, match=r'kind "fax" has no handler \(there are: mail, order, plain, resize\)'):
        jobs.job("fax")
    with pytest.raises(NotFoundError, match=r"there are: none"):
        Jobs().get("fax")


def no_payload() -> None: ...
def context_first(context: Context) -> None: ...
def too_many(payload: Mail, other) -> None: ...  # type: ignore[no-untyped-def]
def keyword(payload: Mail, *, other) -> None: ...  # type: ignore[no-untyped-def]
def unreadable(payload: "Decimal") -> None: ...
def no_json(payload: Callable[[], None] | Jobs) -> None: ...
async def stream(payload: Mail) -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (no_payload, "no_payload (line "),
        (no_payload, "must take the payload as its first parameter"),
        (context_first, "must take the payload as its first parameter"),
        (too_many, 'has a parameter "other" that nobody fills'),
        (keyword, 'has a parameter "other" that nobody fills'),
        (unreadable, "has an annotation that cannot be read: name 'Decimal' is not defined"),
        (no_json, "has a payload type that cannot be read from JSON"),
        (stream, "must be a function that returns its result"),
        (functools.partial(send), "must be a function that returns its result"),
    ],
)
def test_a_function_that_cannot_be_a_handler_is_told_why(call: Callable[..., Any], words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Jobs().handler("mail")(call)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Jobs().handler("a b"), 'kind "a b" is no name'),
        (lambda: Jobs().handler("mail", timeout=timedelta(0)), 'timeout 0:00:00 of "mail" is out of range'),
        (lambda: Jobs().handler("mail", retry=Never), 'of "mail" is no policy (write it like Never()'),  # type: ignore[arg-type]
        (lambda: Jobs().handler("mail", retry=3), 'retry 3 of "mail" is no policy'),  # type: ignore[arg-type]
        (lambda: Jobs().handler("mail", isolation="pod"), 'isolation "pod" of "mail" is unknown'),  # type: ignore[arg-type]
        (lambda: Jobs().handler("mail", isolation="process")(lambda payload: payload), "at the top of its module"),
    ],
)
def test_a_bad_option_is_named(make: Make, words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        make()
    assert words in str(caught.value)


def test_a_wrapped_function_is_seen_through() -> None:
    @functools.wraps(send)
    def wrapper(*args: object) -> None: ...

    jobs = Jobs()
    jobs.handler("mail")(wrapper)
    assert jobs.get("mail").payload_type is Mail


def test_options_reach_the_job_as_they_are(jobs: Jobs) -> None:
    made = jobs.job("plain", 1, key="k", key_limit=2, delay=timedelta(1), max_tries=9, dedupe="d", tolerations=("gpu",))
    assert made == NewJob(
        kind="plain", payload=1, key="k", key_limit=2, delay=timedelta(1), max_tries=9, dedupe="d", tolerations=("gpu",)
    )
