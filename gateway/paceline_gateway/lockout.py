"""Who sends one bad token after the other has to wait, longer each time. Kept by address, in this process alone."""

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from typing import Final

FAILURES: Final = 10
WINDOW_SECONDS: Final = 60.0
"""So many bad tokens in so long are too many."""
FIRST_SECONDS: Final = 10.0
LONGEST_SECONDS: Final = 900.0
MOST_DOUBLINGS: Final = 7
"""10 s, doubled so often, are more than the longest; doubled a thousand times they are no number any more."""
FORGET_SECONDS: Final = 3600.0
"""Who has behaved for so long begins anew."""
MOST_ADDRESSES: Final = 10_000
"""About 5 MB. Beyond it those go first that were not heard of for the longest time."""


@dataclass(slots=True)
class Record:
    """What is held against one address."""

    failures: deque[float] = field(default_factory=lambda: deque(maxlen=FAILURES))
    locks: int = 0
    until: float = 0.0
    last: float = 0.0


class Lockout:
    """Counts bad tokens."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nobody is locked out yet."""
        self._clock = clock
        self._records: OrderedDict[str, Record] = OrderedDict()

    def __len__(self) -> int:
        """How many addresses are remembered."""
        return len(self._records)

    def wait(self, address: str) -> float:
        """So many seconds are left; 0 for whoever may try."""
        record = self._records.get(_network(address)) if self._records else None
        return 0.0 if record is None else max(0.0, record.until - self._clock())

    def failed(self, address: str) -> None:
        """A bad token came from there."""
        network, now = _network(address), self._clock()
        record = self._records.pop(network, None)
        if record is None or now - record.last > FORGET_SECONDS:
            record = Record()
        self._records[network] = record
        record.last = now
        record.failures.append(now)
        if len(record.failures) == FAILURES and now - record.failures[0] <= WINDOW_SECONDS:
            record.until = now + min(FIRST_SECONDS * 2 ** min(record.locks, MOST_DOUBLINGS), LONGEST_SECONDS)
            record.locks += 1
            record.failures.clear()
        if len(self._records) > MOST_ADDRESSES:
            self._records.popitem(last=False)


def _network(address: str) -> str:
    """An address; of IPv6 the /64 that one household has, which could choose among 2**64 others."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return address
    if (old := found.ipv4_mapped) is not None:
        return str(old)
    return str(IPv6Address(int(found) >> 64 << 64))
