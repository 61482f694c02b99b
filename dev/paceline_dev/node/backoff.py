"""How long a container that keeps failing waits, as the kubelet computes it (client-go's flowcontrol.Backoff)."""

from dataclasses import dataclass


@dataclass(slots=True)
class Backoff:
    """Doubles from `base` to `most`; forgets when nothing failed for twice the longest wait."""

    base: float
    most: float
    current: float = 0.0
    _last: float = 0.0

    def after(self, failed_at: float) -> float:
        """Seconds to wait after a failure at that moment: none after the first."""
        if self.current and failed_at - self._last > 2 * self.most:
            self.current = 0.0
        wait = self.current
        self.current = min(self.current * 2, self.most) if self.current else self.base
        self._last = failed_at + wait
        return wait


def duration(seconds: float) -> str:
    """A duration as Go prints it: `10s`, `2m40s`, `5m0s`, `500ms`."""
    if seconds < 1:
        return f"{seconds * 1000:g}ms"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes:.0f}m{rest:g}s" if minutes else f"{rest:g}s"
