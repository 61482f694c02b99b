"""What queues want, for others who scale: this operator knows if it acts, else it knows who does."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from paceline_operator.adapters.queue import Key
from paceline_operator.domain.scaling.told import DemandTold, NoDemandError


class AskOther(Protocol):
    """Asks the operator at an address what the queue of a group wants."""

    async def __call__(self, address: str, key: Key, /) -> DemandTold:
        """NoDemandError: it does not know either."""
        ...


class Demands:
    """Of all groups."""

    def __init__(
        self, know: Callable[[Key, datetime], DemandTold], leads: Callable[[], bool], other: Callable[[], str]
    ) -> None:
        """`know` has the numbers while `leads` says that we act; `other` is where another one listens that does."""
        self._know, self._leads, self._other = know, leads, other

    @property
    def other(self) -> str:
        """Where the operator listens that must be asked instead of this one; empty if this one acts.

        NoDemandError: nobody acts.
        """
        if self._leads():
            return ""
        if other := self._other():
            return other
        raise NoDemandError("no operator acts now: ask again in some seconds")

    def own(self, key: Key) -> DemandTold:
        """What this operator knows. NoDemandError: it does not."""
        return self._know(key, datetime.now(UTC))

    async def find(self, key: Key, ask: AskOther) -> DemandTold:
        """What is known, whoever knows it. NoDemandError: nobody does."""
        return await ask(other, key) if (other := self.other) else self.own(key)
