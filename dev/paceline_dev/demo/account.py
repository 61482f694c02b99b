"""What the database knows about the demo's jobs. The figures are taken from its rows, not from what the story did."""

from datetime import datetime
from typing import Final

from paceline.database import Database
from paceline_dev.demo.figures import Account, count_twice

DONE: Final = """\
SELECT id FROM paceline.history WHERE outcome = 'd'
UNION ALL SELECT id FROM paceline.history_late WHERE outcome = 'd'"""
LEDGER: Final = "CREATE TABLE demo_ledger (job bigint NOT NULL)"
ENDS: Final = "SELECT job FROM demo_ledger"
COUNT_DONE: Final = "SELECT count(*) FROM paceline.history WHERE outcome = 'd'"
LEFT: Final = "SELECT count(*) FROM paceline.job"
CUT_OFF: Final = """\
SELECT job, incarnation FROM paceline.attempt WHERE outcome <> 'd'
UNION ALL SELECT job, incarnation FROM paceline.attempt_late WHERE outcome <> 'd'"""
HELD: Final = "SELECT count(*) FROM paceline.job WHERE incarnation = $1 AND state = 'x'"
UNDONE: Final = "SELECT count(*) FROM paceline.job j WHERE j.losses > 0"
CLAIMS: Final = """\
SELECT count(*) FROM paceline.incarnation i JOIN paceline.runner r ON r.id = i.runner
  JOIN (SELECT incarnation, claimed_at FROM paceline.job WHERE state = 'x'
        UNION ALL SELECT incarnation, claimed_at FROM paceline.history) c ON c.incarnation = i.id
 WHERE r.name = $1 AND c.claimed_at > $2"""


class Books:
    """Reads the demo's own database, as its owner."""

    def __init__(self, database: Database) -> None:
        """Read them from this one."""
        self._database = database

    async def open(self) -> None:
        """Make the table in which handlers write the jobs that they have come to the end of."""
        await self._database.value(LEDGER)

    async def done(self) -> int:
        """Jobs so far."""
        return int(await self._database.value(COUNT_DONE))

    async def left(self) -> int:
        """Jobs that wait or run."""
        return int(await self._database.value(LEFT))

    async def held(self, incarnation: int) -> int:
        """Jobs that a registration has, as long as nobody else may have them."""
        return int(await self._database.value(HELD, incarnation))

    async def undone(self) -> int:
        """Jobs that lost their runner and are not done yet."""
        return int(await self._database.value(UNDONE))

    async def claims(self, runner: str, since: datetime) -> int:
        """How many jobs a Runner has claimed since then, by the database's clock."""
        return int(await self._database.value(CLAIMS, runner, since))

    async def account(self, enqueued: int, killed: int | None, against_taint: int) -> Account:
        """What became of everything; `killed` is the registration that was ended with SIGKILL."""
        acked = [row["id"] for row in await self._database.rows(DONE)]
        cut_off = [(row["job"], row["incarnation"]) for row in await self._database.rows(CUT_OFF)]
        ends = [row["job"] for row in await self._database.rows(ENDS)]
        by_kill = {job for job, incarnation in cut_off if incarnation == killed}
        return Account(
            enqueued=enqueued,
            done=len(set(acked) & set(ends)),
            twice=count_twice(ends, acked, by_kill),
            interrupted=sum(incarnation != killed for _, incarnation in cut_off),
            killed=len(by_kill),
            against_taint=against_taint,
        )
