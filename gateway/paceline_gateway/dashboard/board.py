"""How the pools stand, for everybody who watches: looked at once for all of them, and not at all while nobody does."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from paceline.database import Database
from paceline.reading import Reader
from paceline.seen import Unclaimable
from paceline.standing import Standing, list_standing
from paceline_gateway.dashboard.verdict import State, Verdict, judge

BEAT_SECONDS: Final = 2.0
WORST: Final = tuple(State)


@dataclass(frozen=True, slots=True)
class Card:
    """A pool with what to think of it."""

    pool: Standing
    verdict: Verdict

    def told(self) -> dict[str, Any]:
        """As the page gets it."""
        pool = asdict(self.pool)
        return {**pool, "at": self.pool.at.isoformat(), "pending": self.pool.pending, "verdict": asdict(self.verdict)}


class Board:
    """One for a gateway."""

    def __init__(self, database: Database) -> None:
        """Nothing has been looked at yet."""
        self._database = database
        self._cards: Sequence[Card] = ()
        self._seen_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None

    async def cards(self, pool: str | None = None) -> list[Card]:
        """All pools or one, the worst first; at most a beat old."""
        if time.monotonic() - self._seen_at >= BEAT_SECONDS * 0.9:
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(self._look())
            await asyncio.shield(self._looking)
        return [each for each in self._cards if pool in (None, each.pool.name)]

    async def _look(self) -> None:
        began = time.monotonic()
        pools = await list_standing(self._database)
        stuck: list[Unclaimable] = []
        if any(each.unclaimable for each in pools):
            stuck = await Reader(self._database).unclaimable()
        cards = [Card(each, judge(each, stuck)) for each in pools]
        self._cards = sorted(cards, key=lambda each: (-WORST.index(each.verdict.state), each.pool.name))
        self._seen_at = began
