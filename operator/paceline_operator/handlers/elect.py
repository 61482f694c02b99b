"""One operator of several acts. Neither kopf's peering nor its pauses: those stop handlers, not what is under way."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from paceline.operating import Office
from paceline_operator.domain.lease import RENEW_WITHIN, RETRY, LeaseSeen, Patience, build_lease, read_lease
from paceline_operator.ports.cluster import Cluster
from paceline_operator.ports.errors import AlreadyExistsError, ClusterError, ConflictError
from paceline_operator.ports.resources import LEASE

log = logging.getLogger("paceline.operator")
RELEASED: Final = 1.0
"""Seconds that a Lease without a holder says it lasts."""


class Terms:
    """The times in which this operator acts. Each has a name of its own in the databases."""

    def __init__(self, install: str, me: str, leads: Callable[[], bool]) -> None:
        """Before the first."""
        self._install, self._me, self._leads = install, me, leads
        self._number = 0

    def begin(self) -> None:
        """Another term begins."""
        self._number += 1

    def office(self) -> Office:
        """What a database is told about who acts."""
        return Office(self._install, f"{self._me}-{self._number}", self._leads)


class Elector:
    """Holds a Lease, or waits for it."""

    def __init__(
        self, cluster: Cluster, namespace: str, name: str, me: str, address: str = "", *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """`cluster` must be one without a gate: whoever does not lead has to write the Lease too.

        `address` is where the others find us while we act.
        """
        self._cluster, self._namespace, self._name, self._me = cluster, namespace, name, me
        self._address = address
        self._clock = clock
        self._until = 0.0
        self._patience = Patience()
        self._lease: LeaseSeen | None = None

    def leads(self) -> bool:
        """Whether we may act at this moment."""
        return self._clock() < self._until

    def other(self) -> str:
        """Where another one that acts listens, as last seen; empty if we know of none."""
        return "" if self._lease is None or self._lease.holder in ("", self._me) else self._lease.address

    async def run(self, begin: Callable[[], Awaitable[None]], end: Callable[[], Awaitable[None]]) -> None:
        """For ever; `begin` is awaited when we have become the one, `end` when we no longer are."""
        while True:
            await self._wait()
            log.info("%s leads", self._me)
            await begin()
            try:
                await self._hold()
                log.warning("%s leads no more: another operator does, or the Lease could not be renewed", self._me)
            finally:
                await end()

    async def _wait(self) -> None:
        while True:
            try:
                self._lease = await self._look()
                if self._patience.may_take(self._lease, self._me, self._clock()) and await self._write():
                    return
            except ClusterError as error:
                log.info("the Lease cannot be read or taken: %s", error)
            await asyncio.sleep(RETRY)

    async def _hold(self) -> None:
        """Renew it until that fails for too long, or it is another's."""
        while True:
            await asyncio.sleep(RETRY)
            try:
                kept = await self._write() or await self._reclaim()
            except ClusterError as error:
                log.info("the Lease cannot be renewed: %s", error)
                kept = self.leads()
            if not kept:
                self._until = 0.0
                return

    async def _reclaim(self) -> bool:
        """Somebody else wrote it, or it is gone, or our own write came through although nobody told us."""
        self._lease = await self._look()
        if self._lease is not None and self._lease.holder != self._me:
            self._patience.may_take(self._lease, self._me, self._clock())
            return False
        return self.leads() and (await self._write() or self.leads())

    async def _look(self) -> LeaseSeen | None:
        found = await self._cluster.get(LEASE, self._namespace, self._name)
        return None if found is None else read_lease(found)

    async def _write(self) -> bool:
        """Take or renew it; False if it is not as we saw it last. Time counts from before it was sent."""
        sent = self._clock()
        manifest = build_lease(self._namespace, self._name, self._me, self._lease, address=self._address)
        try:
            send = self._cluster.create if self._lease is None else self._cluster.apply
            self._lease = read_lease(await send(manifest))
        except (ConflictError, AlreadyExistsError):
            return False
        self._until = sent + RENEW_WITHIN
        return True

    async def release(self) -> None:
        """Let go of it at once, so that another need not wait."""
        if not self.leads() or self._lease is None:
            return
        self._until = 0.0
        try:
            await self._cluster.apply(build_lease(self._namespace, self._name, "", self._lease, duration=RELEASED))
        except ClusterError as error:
            log.info("the Lease was not released: %s", error)
