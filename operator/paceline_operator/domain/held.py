"""How long vacuum has been kept from removing dead rows, by whoever has done so for longest."""

from collections.abc import Iterable

from paceline.seen import Holder


class Held:
    """Of one database. A replication slot does not say since when: that counts from when it was first seen."""

    def __init__(self) -> None:
        """Nobody has been seen yet."""
        self._since: dict[tuple[str, str], float] = {}

    def note(self, holders: Iterable[Holder], now: float) -> None:
        """These hold it at this moment, on the monotonic clock, and nobody else."""
        before = self._since
        self._since = {
            (each.holder, each.name): before.get((each.holder, each.name), now)
            if each.age_seconds is None
            else now - each.age_seconds
            for each in holders
        }

    def seconds(self, now: float) -> float:
        """Until now; 0 if nobody holds it."""
        return max((now - since for since in self._since.values()), default=0.0)
