"""When a failed job is tried again. A policy is a value: tries and error in, a decision out; no clock, no I/O.

How often a job may be tried is the job's own business (`NewJob.max_tries`); a policy says how long to wait in between,
and which errors make another try pointless.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Protocol, TypeAlias

from paceline.errors import InvalidInputError

LONGEST: Final = timedelta(days=365)
"""A wait must be a moment that the database can add to its clock, and that somebody still remembers."""
_EXACT: Final = 2**53
"""Whole numbers up to here are exact as floats; more tries than that do not change any wait."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after this much time."""

    after: timedelta

    def __post_init__(self) -> None:
        """Refuse what no database could wait for."""
        _check_span("after", self.after)


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The job is dead at once, whatever tries it has left."""

    reason: str


Decision: TypeAlias = Retry | GiveUp


class RetryPolicy(Protocol):
    """What a handler's `retry=` takes."""

    def decide(self, tries: int, error: BaseException) -> Decision:
        """`tries` counts the attempts that failed, this one included: 1 after the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Policy:
    """What all policies share: errors that no wait will mend."""

    stop_on: tuple[type[BaseException], ...] = ()
    """Errors that are never retried, their subclasses included."""

    def __post_init__(self) -> None:
        """Say at once what `isinstance` would say only when a job has failed."""
        given: object = self.stop_on  # whatever the annotation says
        if not isinstance(given, tuple) or not all(_is_error(each) for each in given):
            raise InvalidInputError(
                f"stop_on {given!r} is no tuple of exception classes (write it like stop_on=(ValueError,))"
            )

    def decide(self, tries: int, error: BaseException) -> Decision:
        """Give up on what `stop_on` names; else wait as long as the policy says."""
        if tries < 1:
            raise InvalidInputError(f"tries {tries} is out of range (it counts the failed attempt: at least 1)")
        if isinstance(error, self.stop_on):
            return GiveUp(f"{type(error).__name__} is never retried")
        return self._next(min(tries, _EXACT), error)

    def _next(self, tries: int, error: BaseException) -> Decision:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Fixed(_Policy):
    """The same wait every time."""

    after: timedelta

    def __post_init__(self) -> None:
        """Check the fields."""
        _Policy.__post_init__(self)
        _check_span("after", self.after)

    def _next(self, tries: int, error: BaseException) -> Decision:  # noqa: ARG002 -- neither changes anything here
        return Retry(self.after)


@dataclass(frozen=True, slots=True)
class Linear(_Policy):
    """One step more each time, up to `max`."""

    step: timedelta
    max: timedelta = timedelta(hours=1)

    def __post_init__(self) -> None:
        """Check the fields."""
        _Policy.__post_init__(self)
        _check_span("step", self.step)
        _check_span("max", self.max)
        _check_order("step", self.step, self.max)

    def _next(self, tries: int, error: BaseException) -> Decision:  # noqa: ARG002 -- the error does not matter here
        return Retry(_at_most(self.max, self.step.total_seconds() * tries))


@dataclass(frozen=True, slots=True)
class Exponential(_Policy):
    """`factor` times longer each time, up to `max`; jitter parts jobs that failed together."""

    base: timedelta = timedelta(seconds=1)
    factor: float = 2.0
    max: timedelta = timedelta(hours=1)
    jitter: float = 0.2
    """The share of the wait that chance may take off: with 0.2 it is 80 to 100 percent, so never over `max`."""
    random: Callable[[], float] = field(default=random.random, compare=False, repr=False)
    """Numbers from 0 up to 1."""

    def __post_init__(self) -> None:
        """Check the fields."""
        _Policy.__post_init__(self)
        _check_span("base", self.base)
        _check_span("max", self.max)
        _check_order("base", self.base, self.max)
        if not 1 <= self.factor < math.inf:
            raise InvalidInputError(f"factor {self.factor} is out of range (at least 1, or waits would shrink)")
        if not 0 <= self.jitter <= 1:
            raise InvalidInputError(f"jitter {self.jitter} is out of range (a share from 0 to 1)")

    def _next(self, tries: int, error: BaseException) -> Decision:  # noqa: ARG002 -- the error does not matter here
        try:
            seconds = self.base.total_seconds() * float(self.factor) ** (tries - 1)
        except OverflowError:  # at 1024 tries with factor 2
            seconds = self.max.total_seconds() if self.base else 0.0
        whole = _at_most(self.max, seconds)
        return Retry(whole * (1 - self.jitter * self.random()))


@dataclass(frozen=True, slots=True)
class Never(_Policy):
    """One try is all there is."""

    def _next(self, tries: int, error: BaseException) -> Decision:  # noqa: ARG002 -- neither changes anything here
        return GiveUp("this kind is never retried")


@dataclass(frozen=True, slots=True)
class Custom(_Policy):
    """A function of your own: `(tries, error) -> Retry | GiveUp`."""

    function: Callable[[int, BaseException], Decision]

    def _next(self, tries: int, error: BaseException) -> Decision:
        """A policy that fails must not take the job's outcome with it: the dead letter then tells both stories."""
        try:
            decision: object = self.function(tries, error)
        except Exception as fault:
            return GiveUp(f"the retry policy failed: {type(fault).__name__}: {fault}")
        if not isinstance(decision, Retry | GiveUp):
            return GiveUp(f"the retry policy returned {decision!r} (it must return Retry(...) or GiveUp(...))")
        return decision


def _at_most(most: timedelta, seconds: float) -> timedelta:
    """Compared as numbers first: a timedelta of too many seconds cannot even be made."""
    return most if seconds >= most.total_seconds() else timedelta(seconds=seconds)


def _check_span(name: str, span: timedelta) -> None:
    if span < timedelta(0):
        raise InvalidInputError(f"{name} {span} is negative (give a positive time span, or none at all)")
    if span > LONGEST:
        raise InvalidInputError(f"{name} {span} is too long (at most {LONGEST.days} days)")


def _check_order(name: str, span: timedelta, most: timedelta) -> None:
    if span > most:
        raise InvalidInputError(f"{name} {span} is longer than max {most} (raise max, or lower {name})")


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)
