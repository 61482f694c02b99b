"""A group of an operator's, and the runners that join it."""

from datetime import timedelta
from typing import Protocol

from paceline.claims import Incarnation
from paceline.database import Database

INSTALL = "main"
RETIRE = "SELECT paceline.retire($1, $2, $3, 'new')"


class Join(Protocol):
    """Registers a Runner in a group."""

    async def __call__(
        self,
        name: str = "r1",
        *,
        group: str = "builds",
        external: bool = False,
        revision: str | None = "new",
        pod_uid: str | None = None,
        lease: timedelta = timedelta(seconds=30),
    ) -> Incarnation:
        """The pod's UID is `uid-NAME` unless another is given."""


async def taint(database: Database, runner: int, *effects: str) -> None:
    """Taint one Runner; no effect takes the taint away."""
    await database.value(
        "SELECT paceline.taint_runner($1, 'annotation', $2, $3, $4)",
        runner, ["dev"] * len(effects), ["bad"] * len(effects), list(effects),
    )  # fmt: skip


async def idle_for(database: Database, incarnation: Incarnation, seconds: int) -> None:
    """As if its heartbeats had seen it without a job for so long."""
    await database.value(
        "UPDATE paceline.incarnation SET idle_since = clock_timestamp() - make_interval(secs => $2) WHERE id = $1",
        incarnation.id, seconds,
    )  # fmt: skip
