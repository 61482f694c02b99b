"""What a pod needs of its node."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paceline_dev.node.addresses import Addresses
from paceline_dev.node.api import Api
from paceline_dev.node.environment import Fetch
from paceline_dev.node.faults import Faults
from paceline_dev.node.images import Images
from paceline_dev.node.process import Cradle


@dataclass(frozen=True, slots=True)
class Timing:
    """Waits that a test wants shorter than a kubelet's."""

    backoff: float = 10.0
    """Before the second restart of a container, and the second look for an image; doubles from there."""
    backoff_most: float = 300.0
    retry: float = 1.0
    """How often a Secret is looked for that does not exist."""
    least_grace: float = 2.0
    """SIGTERM always has so long before SIGKILL, even when a hook has used all of the grace period."""


@dataclass(frozen=True, slots=True)
class Services:
    """One node, as its pods see it."""

    name: str
    folder: Path
    api: Api
    cradle: Cradle
    images: Images
    addresses: Addresses
    fetch: Fetch
    faults: Faults
    timing: Timing
    say: Callable[[str, str], None]
    """Tell the user one line about a pod."""
