"""Every runner of a pool hears each NOTIFY, and what it tells of is work for one. Of many, few look at once.

The others look a little later, once for all that they have heard by then: who was to look at once may be busy, or not
of the sort that the job wants. Thus the database is asked so often, however many hear.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Final

AT_ONCE: Final = 4
"""So many look at once, on average; where there are no more, all do."""
LATER: Final = 500
"""So many of the others look each second."""


class Ear:
    """One runner's. It hears in the loop of the connection that listens."""

    def __init__(self, look: Callable[[], None], runners: Callable[[], int]) -> None:
        """`look` is called when it is time; `runners` share the pool."""
        self._look, self._runners = look, runners
        self._later: asyncio.TimerHandle | None = None

    def hear(self) -> None:
        """A NOTIFY came."""
        runners = self._runners()
        if random.random() * runners < AT_ONCE:  # noqa: S311 -- no secret
            self._look()
        elif self._later is None:
            seconds = random.uniform(0, runners / LATER)  # noqa: S311 -- not all at once
            self._later = asyncio.get_running_loop().call_later(seconds, self._look_late)

    def close(self) -> None:
        """It looks no more."""
        if self._later is not None:
            self._later.cancel()

    def _look_late(self) -> None:
        self._later = None
        self._look()
