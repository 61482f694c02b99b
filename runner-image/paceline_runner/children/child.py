"""One program that runs, and the ways to end it."""

import asyncio
import socket
from typing import Final

from paceline_runner.children.groups import Groups
from paceline_runner.children.link import Link
from paceline_runner.children.pipes import Outlet

REST: Final = 1.0
"""Seconds for the rest of the output when the program has ended: a grandchild may hold the pipes for ever."""


class Child:
    """A running program with its group; used in the loop's thread alone. It must be ended, also when it has ended."""

    def __init__(self, number: int, link: Link, groups: Groups) -> None:
        """Be somebody whom the guard has not heard of yet."""
        loop = asyncio.get_running_loop()
        self.number = number
        self.pid = 0
        self.started: asyncio.Future[int] = loop.create_future()
        self.ended: asyncio.Future[int] = loop.create_future()
        """The exit code; a signal is a negative number."""
        self.lost = False
        """Killed because its guard died."""
        self.outlets: list[Outlet] = []
        self.channel: socket.socket | None = None
        self.purges = groups.purges
        self._link = link
        self._groups = groups
        self._forgotten = False

    async def wait(self) -> int:
        """The exit code, when the program has ended."""
        return await asyncio.shield(self.ended)

    async def rest(self) -> None:
        """Wait for the rest of the output, but not for long."""
        await asyncio.wait([outlet.closed for outlet in self.outlets], timeout=REST)

    def kill(self) -> None:
        """Kill the program and its group; does not wait."""
        self._groups.kill(self.number)

    async def stop(self, grace: float) -> None:
        """Ask the group to end, give it `grace` seconds, and make it end; an impatient caller cancels again."""
        self._groups.terminate(self.number)
        try:
            await asyncio.wait([self.ended, *(outlet.closed for outlet in self.outlets)], timeout=grace)
        finally:
            await self.end()

    async def end(self) -> None:
        """Kill what is left, and return when the program is gone, even if the caller is cancelled meanwhile."""
        self.kill()
        impatient: asyncio.CancelledError | None = None
        while not self.ended.done():
            try:
                await asyncio.wait([self.ended])
            except asyncio.CancelledError as error:
                impatient = error
        self.forget()
        if impatient:
            raise impatient

    def forget(self) -> None:
        """Let the guard kill and bury what is left; nothing is read from it any more."""
        if self._forgotten:
            return
        self._forgotten = True
        self._groups.drop(self.number)
        self._link.release(self.number)
        for outlet in self.outlets:
            outlet.close()
        if self.channel is not None:
            self.channel.close()
