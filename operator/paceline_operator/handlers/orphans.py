"""Rows of groups that are no more: an operator ended between two steps, or somebody took the finalizer away."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from paceline.errors import PacelineError
from paceline_operator.handlers.services import Services
from paceline_operator.ports.resources import RUNNER_GROUP

log = logging.getLogger("paceline.operator")
FIRST: Final = 3.0
EVERY: Final = 300.0


class Orphans:
    """Looks for them now and then, in the databases that groups use."""

    def __init__(self, services: Services, namespaces: Sequence[str]) -> None:
        """Only in the namespaces that we look after; none means all."""
        self._services, self._namespaces = services, tuple(namespaces)
        self._task: asyncio.Task[None] | None = None

    def begin(self, watching: asyncio.Event) -> None:
        """Look from now on, once the watch has begun."""
        self._task = asyncio.create_task(self._run(watching))

    def end(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self, watching: asyncio.Event) -> None:
        await watching.wait()
        await asyncio.sleep(FIRST)
        while True:
            try:
                await self.look()
            except (PacelineError, TimeoutError) as error:
                log.warning("looking for rows that are left behind: %s", error)
            await asyncio.sleep(EVERY)

    async def look(self) -> list[str]:
        """Delete them; returns who they were. The rows are read before the groups: a group is there before its row."""
        gone = []
        for operating in self._services.queues.reachable():
            rows = await operating.list_groups(self._services.install)
            there = {
                (each["metadata"]["namespace"], each["metadata"]["name"])
                for namespace in self._namespaces or (None,)
                for each in await self._services.cluster.list(RUNNER_GROUP, namespace)
            }
            for row in rows:
                ours = not self._namespaces or row.namespace in self._namespaces
                if ours and (row.namespace, row.name) not in there:
                    await operating.delete_group(row.id)
                    log.info("group %s/%s is no more: its rows are deleted, its jobs stay", row.namespace, row.name)
                    gone.append(f"{row.namespace}/{row.name}")
        return gone
