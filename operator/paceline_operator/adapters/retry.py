"""How long to wait before a request is sent again, and when to give up. Arithmetic only."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retries:
    """Exponential back-off with jitter within a total.

    The total is below the 15 s resync of a group's loop: a loop that gives up has a newer picture at once.
    """

    first: float = 0.1
    factor: float = 2.0
    longest: float = 3.0
    total: float = 15.0

    def wait(self, attempt: int, chance: float, asked: float = 0.0) -> float:
        """Seconds to wait after the failure of `attempt` (from 0); `chance` is in [0, 1).

        Between half of the step and all of it, so that 25 requests that failed together do not come back together.
        `asked` is the server's Retry-After, the same for all of them: the step comes on top of it.
        """
        # the exponent is capped: 2.0 ** 1024 does not fit into a float
        step = min(self.longest, self.first * self.factor ** min(attempt, 64))
        return asked + step * (0.5 + chance / 2)

    def left(self, spent: float) -> float:
        """Seconds until we give up."""
        return max(0.0, self.total - spent)


def retry_after(header: str | None) -> float:
    """The seconds that the server asks for; 0 if it does not, or by a date, which the API server never sends."""
    text = (header or "").strip()
    return float(text) if text.isascii() and text.isdigit() else 0.0
