"""All work that does not happen in the runner's own process: who does it, and how it is ended."""

from typing import TYPE_CHECKING

from paceline.handler import Handler
from paceline.outside import Command
from paceline_runner.attempt import Executor
from paceline_runner.children.command import CommandExecutor
from paceline_runner.children.process import ProcessExecutor
from paceline_runner.children.supervisor import Children

if TYPE_CHECKING:
    from paceline_runner.children.http import HttpExecutor


class OutsideExecutors:
    """The executors of one runner. `renew` and `kill_all` may be called from any thread."""

    def __init__(self, app: str, slots: int, until: float) -> None:
        """`app` is where workers find the jobs; children live until the monotonic time `until` if nobody renews."""
        self._children = Children(until)
        self.renew = self._children.renew
        self.kill_all = self._children.kill_all
        self._command = CommandExecutor(self._children)
        self._process = ProcessExecutor(self._children, app, slots=slots)
        self._http: HttpExecutor | None = None

    def of(self, handler: Handler) -> Executor:
        """Who does the work of a handler."""
        if handler.outside is None:
            return self._process
        if isinstance(handler.outside, Command):
            return self._command
        if self._http is None:
            from paceline_runner.children.http import HttpExecutor  # aiohttp takes half a second, and few need it

            self._http = HttpExecutor()
        return self._http

    async def close(self) -> None:
        """End all of it."""
        try:
            await self._process.close()
            if self._http is not None:
                await self._http.close()
        finally:
            await self._children.close()
