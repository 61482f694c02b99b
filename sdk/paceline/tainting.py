"""Taints of a Runner by its number: where each comes from, and those of one source set anew."""

from collections.abc import Iterable
from dataclasses import dataclass

from paceline.database import Database
from paceline.seen import read
from paceline.taint import Taint, taint_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class TaintSeen:
    """A taint, and who set it."""

    source: str
    """annotation, spec, cli or api; group: it holds for all Runners of the group."""
    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        """As people write it."""
        return str(Taint(self.key, self.value, self.effect))


async def list_taints(database: Database, runner: int) -> list[TaintSeen]:
    """All that a Runner has; none also for one that the login may not see."""
    return [read(TaintSeen, row) for row in await database.rows("SELECT * FROM paceline.list_taints($1)", runner)]


async def set_taints(database: Database, runner: int, source: str, taints: Iterable[Taint]) -> None:
    """Set those of one source, and leave the others alone; wants the role `operator` or `gateway` on its pool."""
    sql = "SELECT paceline.taint_runner($1, $2, $3, $4, $5)"
    await database.value(sql, runner, source, *taint_columns(taints))
