"""How a runner gets at its jobs: by a login of its own, or through a gateway. All that works on them is the same.

The main loop claims and reports through a `Seat`; the thread of the keeper keeps it by a `Lifeline` of its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final, Protocol

from pydantic import JsonValue

from paceline.claims import Beat, Failed, Finished, IncarnationId, Step
from paceline.errors import DatabaseError, GatewayError
from paceline.job import Claimed, Fence, JobId

AWAY: Final = (DatabaseError, GatewayError, TimeoutError)
"""Nobody answered: what was to be said is said again later. Any other error is an answer."""


class Seat(Protocol):
    """One registration, as `paceline.claims.Incarnation` is one. For the main loop."""

    id: IncarnationId
    pool_name: str
    draining: bool

    async def step(self, want: int, done: Sequence[Finished] = (), *, listen: timedelta | None = None) -> Step:
        """Say what is done, and take at most `want` jobs."""

    async def fail(self, failed: Sequence[Failed], cause: str = "Failed") -> frozenset[JobId]:
        """Say which attempts failed; returns the jobs that were not ours any more."""

    async def hand_back(self, jobs: Sequence[Claimed], cause: str = "HandedBack") -> frozenset[JobId]:
        """Give unfinished jobs back, nothing charged."""

    async def return_claims(self, claims: Mapping[JobId, Fence], cause: str) -> frozenset[JobId]:
        """The same where nothing but id and fence is known."""

    async def held(self) -> dict[JobId, Fence]:
        """Jobs that may have been claimed for us without our knowledge, among others."""

    async def extend(self, job: Claimed, by: timedelta) -> bool:
        """Let an attempt run until `by` from now; whether it is still ours."""

    async def progress(self, job: Claimed, value: JsonValue) -> bool:
        """Tell how far an attempt is; whether it is still ours."""

    async def heartbeat(self) -> Beat:
        """Ask how the registration stands."""

    async def drain(self) -> int:
        """Claim nothing any more; returns how many jobs are still held."""

    async def deregister(self) -> int:
        """Leave; what is still held goes back without a charge, and its number is returned."""


class Lifeline(Protocol):
    """A connection that keeps a registration alive. For the keeper's loop."""

    @property
    def listening(self) -> bool:
        """Whether it tells of work."""

    @property
    def closed(self) -> bool:
        """Whether it has ended, by us or by the other side."""

    async def heartbeat(self) -> Beat:
        """Keep the lease."""

    async def until_closed(self, seconds: float) -> None:
        """Wait for its end, so long at most."""

    async def abandon(self, *, leaving: bool) -> None:
        """End the registration for a main loop that does not turn; unless it leaves, its jobs are charged a loss."""

    def close(self) -> None:
        """End it at once, whatever it waits for."""


class Way(Protocol):
    """How a runner comes to its registrations, one after the other."""

    place: str
    """Whom it talks to, for messages."""
    runner: str
    """The Runner's name; known once it is connected."""

    def pauses(self) -> Iterator[float]:
        """Seconds between one try and the next to reach what is away."""

    async def connect(self) -> None:
        """Reach it; a refusal is an error."""

    async def register(self, kinds: tuple[str, ...]) -> tuple[Seat, float]:
        """Become the Runner; with the seconds of the lease."""

    async def lifeline(self, seat: Seat, wake: Callable[[], None], told: Callable[[Beat], None]) -> Lifeline:
        """Connect for a registration, in the keeper's loop.

        `wake` is called when there is work, `told` with what is said between heartbeats.
        """

    async def keep_house(self, pool: str, runners: Callable[[], int]) -> None:
        """Do our part of the housekeeping for as long as it lasts; `runners` share it."""

    async def close(self) -> None:
        """Close what is open."""
