"""What producers send, as JSON. Names are the SDK's; spans are numbers of seconds. What they get back is in views.py.

Limits stand in the schema for whoever reads it; they are checked by the SDK, whose words say what to do.
"""

from datetime import timedelta
from typing import Annotated, Final, TypeAlias

from pydantic import AwareDatetime, BaseModel, ConfigDict, Discriminator, Field, JsonValue, Tag

from paceline.errors import InvalidInputError
from paceline.job import KIND, LARGEST, LONGEST, LONGEST_TIMEOUT, NAME_LIMIT, TAG, NewJob

MOST_JOBS: Final = 10_000

Seconds: TypeAlias = Annotated[float, Field(ge=0, le=LONGEST.total_seconds(), allow_inf_nan=False)]
TrySeconds: TypeAlias = Annotated[float, Field(ge=0, le=LONGEST_TIMEOUT.total_seconds(), allow_inf_nan=False)]
Kind: TypeAlias = Annotated[str, Field(json_schema_extra={"pattern": f"^{KIND.pattern}$"})]
Name: TypeAlias = Annotated[str, Field(json_schema_extra={"minLength": 1, "maxLength": NAME_LIMIT})]
TagName: TypeAlias = Annotated[str, Field(json_schema_extra={"pattern": f"^{TAG.pattern}$"})]
Priority: TypeAlias = Annotated[int, Field(strict=True, json_schema_extra={"minimum": 0, "maximum": 9})]
KeyLimit: TypeAlias = Annotated[int, Field(strict=True, json_schema_extra={"minimum": 1, "maximum": LARGEST})]
Tries: TypeAlias = Annotated[int, Field(strict=True, json_schema_extra={"minimum": 1, "maximum": 32767})]
Losses: TypeAlias = Annotated[int, Field(strict=True, json_schema_extra={"minimum": 0, "maximum": 32767})]
PoolName: TypeAlias = Annotated[str | None, Field(description="The token's own where it has one, else `default`.")]


class Body(BaseModel):
    """A request: what it does not know is an error that names it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class JobBody(Body):
    """A job to be enqueued."""

    kind: Kind = Field(description="Which handler does it.")
    payload: JsonValue = Field(None, description="What the handler gets, at most 1 MiB of JSON.")
    priority: Priority = Field(5, description="0 to 9, higher first.")
    delay_seconds: Seconds | None = Field(None, description="Not before so many seconds have passed.")
    run_at: AwareDatetime | None = Field(None, description="Not before this moment.")
    expires_in_seconds: Seconds | None = Field(None, description="Not to be started after so many seconds.")
    expires_at: AwareDatetime | None = Field(None, description="Not to be started after this moment.")
    key: Name | None = Field(None, description="Jobs of one key run one at a time, or as many as its limit says.")
    key_limit: KeyLimit | None = Field(None, description="Sets the key's limit.")
    dedupe: Name | None = Field(None, description="While a job of this kind with this value is live, none is made.")
    tags: tuple[TagName, ...] = Field((), description="What a runner must have to get it.")
    tolerations: tuple[str, ...] = Field((), description="Taints that do not keep it away, as in gpu=bad:NoClaim.")
    max_tries: Tries = Field(5, description="So often it is tried.")
    max_losses: Losses = Field(3, description="So many runners may be lost under it.")
    timeout_seconds: TrySeconds | None = Field(None, description="How long one try may take.")
    traceparent: Name | None = Field(
        None, description="W3C trace context, handed on to the handler; else the header of that name."
    )

    def job(self, traceparent: str | None = None) -> NewJob:
        """As the SDK knows it, which checks the rest; `traceparent` is the request's own."""
        return NewJob(
            kind=self.kind, payload=self.payload, priority=self.priority, delay=span(self.delay_seconds),
            run_at=self.run_at, expires_in=span(self.expires_in_seconds), expires_at=self.expires_at, key=self.key,
            key_limit=self.key_limit, dedupe=self.dedupe, tags=self.tags, tolerations=self.tolerations,
            max_tries=self.max_tries, max_losses=self.max_losses, timeout=span(self.timeout_seconds),
            trace=self.traceparent or traceparent,
        )  # fmt: skip


class EnqueueBody(JobBody):
    """One job, for a pool."""

    pool: PoolName = None


class ManyBody(Body):
    """Many jobs, all of them or none."""

    jobs: list[JobBody] = Field(min_length=1, max_length=MOST_JOBS)
    pool: PoolName = None

    def new_jobs(self, traceparent: str | None = None) -> list[NewJob]:
        """As the SDK knows them; an error says of which it is."""
        made: list[NewJob] = []
        try:
            for each in self.jobs:
                made.append(each.job(traceparent))
        except InvalidInputError as error:
            raise InvalidInputError(f"jobs.{len(made)}: {error}") from None
        return made


def _shape(given: object) -> str:
    """Which of the three it is meant to be: an error is then about that one alone."""
    if isinstance(given, list):
        return "list"
    return "batch" if isinstance(given, dict) and "jobs" in given else "job"


OneOrMany: TypeAlias = Annotated[
    Annotated[EnqueueBody, Tag("job")]
    | Annotated[ManyBody, Tag("batch")]
    | Annotated[list[JobBody], Field(min_length=1, max_length=MOST_JOBS), Tag("list")],
    Discriminator(_shape),
]
"""A job, an object with `jobs`, or a list of jobs."""


def span(seconds: float | None) -> timedelta | None:
    """Seconds as the SDK has them."""
    return None if seconds is None else timedelta(seconds=seconds)
