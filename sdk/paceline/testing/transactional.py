"""The real queue inside one transaction that is never committed: tests leave no trace and need no fresh database."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Final

import asyncpg

from paceline.database import Address, Database, in_our_words, unreachable
from paceline.errors import DatabaseError, InvalidInputError
from paceline.queue import Queue

if TYPE_CHECKING:
    from asyncpg.transaction import Transaction

    from paceline.database import Connection, Record

ONE_AT_A_TIME: Final = "SELECT pg_advisory_xact_lock(hashtext('paceline.testing.transactional'))"
PATIENCE: Final = "30s"
DUE: Final = "UPDATE paceline.tick SET next_at = '-infinity', mark_at = '-infinity', review_at = '-infinity'"


class OneTransaction(Database):
    """A database with one connection, whose transaction is open; each call has a savepoint of its own."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]", address: Address) -> None:
        """Use a connection with an open transaction. There is no pool: every method is written anew."""
        self.address = address
        self._connection = connection
        self._closed = False
        self._turn = asyncio.Lock()
        self._holder: asyncio.Task[Any] | None = None

    async def move(self, url: str) -> None:  # noqa: ARG002 -- wherever that is
        """A transaction stays where it is."""
        raise InvalidInputError("a queue in a transaction cannot go to another database: open one there")

    async def close(self) -> None:
        """Let nobody use it any more; the connection stays open for whoever rolls it back."""
        self._closed = True

    def terminate(self) -> None:
        """The same: there is nothing to drop but what is rolled back."""
        self._closed = True

    @contextlib.asynccontextmanager
    async def connection(self) -> "AsyncIterator[Connection]":
        """The one connection. An SQL error undoes what was done in the block, and no more."""
        if self._closed:
            raise DatabaseError(f"cannot reach the database {self.address.place}: the queue is closed")
        async with self._alone():
            with in_our_words(self.address), self._lost_in_our_words():
                savepoint = self._connection.transaction()
                await savepoint.start()
                try:
                    yield self._connection
                except BaseException as error:
                    if not self._connection.is_closed():  # else the reason would be hidden by a second error
                        failed = isinstance(error, asyncpg.PostgresError | TimeoutError | asyncio.CancelledError)
                        # without a failed statement, those before it were good and would have stayed
                        await (savepoint.rollback() if failed else savepoint.commit())
                    raise
                await savepoint.commit()

    @contextlib.contextmanager
    def _lost_in_our_words(self) -> Iterator[None]:
        """What asyncpg says for a moment after the server has ended the connection."""
        try:
            yield
        except asyncpg.InternalClientError as error:
            raise unreachable(error, self.address.place) from error

    async def rows(self, sql: str, *args: object) -> "list[Record]":
        """What a statement returns."""
        async with self.connection() as connection:
            return await connection.fetch(sql, *args)

    async def value(self, sql: str, *args: object) -> Any:
        """The first column of the first row."""
        async with self.connection() as connection:
            return await connection.fetchval(sql, *args)

    @contextlib.asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """One task at a time, since a connection answers one statement at a time; a task may ask again inside."""
        if self._holder is not None and self._holder is asyncio.current_task():
            yield
            return
        async with self._turn:
            self._holder = asyncio.current_task()
            try:
                yield
            finally:
                self._holder = None


class TransactionalQueue(Queue):
    """A real queue whose writes are never committed."""

    database: OneTransaction

    @property
    def connection(self) -> "asyncpg.Connection[asyncpg.Record]":
        """The connection that everything happens on, for data of your own."""
        return self.database._connection

    def beside(self, pool: str) -> "TransactionalQueue":
        """Another pool in the same transaction."""
        return TransactionalQueue(self.database, pool)

    async def tick_now(self) -> None:
        """Do the housekeeping whether it is due or not (in the database it is due ten times a second); owner only."""
        await self.database.value(DUE)
        await self.tick()


@contextlib.asynccontextmanager
async def transactional_queue(url: str, pool: str = "default") -> AsyncIterator[TransactionalQueue]:
    """A real queue on a database that has our schema; at the end all is rolled back.

    Put your own rows in through `queue.connection`: they are gone with the rest. It cannot show

    - concurrency: there is one connection, so nothing ever waits for a lock or skips one;
    - wake-ups: a NOTIFY is sent at the commit, which never comes;
    - your own commits and rollbacks as such: `queue.connection.transaction()` makes a savepoint here.

    Inside, housekeeping and new pools hold locks to the end. So there is one at a time on each database (a second one
    waits 30 s, then says so), and never use a database that runners work on: give each test worker its own.
    """
    address = Address.parse(url)
    with in_our_words(address):
        cache = 0 if address.pgbouncer else 100  # asyncpg's own default
        connection = await asyncpg.connect(address.url, timeout=10, statement_cache_size=cache)
    try:
        transaction = connection.transaction()
        await transaction.start()
        try:
            await _wait_for_turn(connection, address)
            yield TransactionalQueue(OneTransaction(connection, address), pool)
        finally:
            await _end(connection, transaction)
    finally:
        await connection.close()


async def _end(connection: "asyncpg.Connection[asyncpg.Record]", transaction: "Transaction") -> None:
    """Roll back; where the connection is broken, the server has done so, or does it when it is gone."""
    try:
        await transaction.rollback()
    except (OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError, asyncpg.InternalClientError):
        connection.terminate()


async def _wait_for_turn(connection: "asyncpg.Connection[asyncpg.Record]", address: Address) -> None:
    """Without it the housekeeping of a second one would silently do nothing while the first holds its row."""
    await connection.execute(f"SET LOCAL lock_timeout = '{PATIENCE}'")
    try:
        await connection.execute(ONE_AT_A_TIME)
    except asyncpg.LockNotAvailableError:
        raise DatabaseError(
            f"another transactional queue has been open on the database {address.place} for {PATIENCE}: "
            "give each test worker its own database, and use .beside(pool) for a second pool"
        ) from None
    await connection.execute("SET LOCAL lock_timeout = 0")
