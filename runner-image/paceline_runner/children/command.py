"""Work done by a program: the payload on its stdin, the result on its stdout, the exit code says how it went."""

import asyncio
import os
from collections.abc import Mapping
from typing import Final

from paceline.job import Claimed
from paceline.outside import Command
from paceline_runner.attempt import Attempt, Cause, Ended, Tail
from paceline_runner.children.child import Child
from paceline_runner.children.errors import CommandError, NotStartedError, how
from paceline_runner.children.outcome import RESULT_LIMIT, again, never, result
from paceline_runner.children.pipes import Text
from paceline_runner.children.program import Program
from paceline_runner.children.supervisor import Children

POINTLESS: Final = 65
"""EX_DATAERR of sysexits.h: the next try would end the same way."""
KEPT_BACK: Final = frozenset(("PACELINE_DATABASE_URL", "DATABASE_URL", "PACELINE_TOKEN"))
"""The runner's own login is no business of a command."""
SHOWN: Final = 4096
"""So many characters of stderr are repeated in an error."""


class CommandExecutor:
    """Runs commands."""

    def __init__(self, children: Children) -> None:
        """Start them through `children`."""
        self._children = children

    async def run(self, attempt: Attempt) -> Ended:
        """Run the handler's command once."""
        command = attempt.handler.outside
        assert isinstance(command, Command)
        out, shown = _Head(), Tail(SHOWN)
        program = Program(
            argv=command.argv, env=environment(command, attempt.job), cwd=command.cwd, stdin=attempt.job.body.encode()
        )
        errors, grace = Text(attempt.output.write, shown.write), command.grace.total_seconds()
        try:
            child = await self._children.start(program, stdout=out.add, stderr=errors.add, grace=grace)
        except NotStartedError as error:
            return never(f"NotStartedError: {error}") if error.hopeless else again(attempt, error)
        try:
            code = await child.wait()
            await child.rest()
        except asyncio.CancelledError:
            await child.stop(grace)
            raise
        finally:
            await child.end()
            errors.end()
        return _outcome(attempt, command, child, code, bytes(out.kept), shown)


def environment(command: Command, job: Claimed) -> dict[str, str]:
    """The runner's own, the command's, and what tells it about its job."""
    ours: Mapping[str, str] = {
        "PACELINE_JOB_ID": str(job.id),
        "PACELINE_FENCE": str(job.fence),
        "PACELINE_ATTEMPT": str(job.tries + 1),
        "PACELINE_KIND": job.kind,
        "TRACEPARENT": job.trace or "",
    }
    merged = {**os.environ, **command.env, **ours}
    return {key: value for key, value in merged.items() if key not in KEPT_BACK and (value or key != "TRACEPARENT")}


def _outcome(attempt: Attempt, command: Command, child: Child, code: int, out: bytes, shown: Tail) -> Ended:
    if code == 0:
        hint = ' (what is not the result belongs on stderr; for plain text say result="text")'
        return result(attempt, out, text=command.result == "text", hint=hint)
    said = (shown.text() or "").strip()
    ended = "was killed, because the guard of the child processes died" if child.lost else how(code)
    error = CommandError(f"{command.place} {ended}{f'; the end of its stderr:{chr(10)}{said}' if said else ''}", code)
    if code == POINTLESS:
        return never(f"CommandError: {error}")
    return again(attempt, error, Cause.CRASHED if code < 0 else Cause.FAILED)


class _Head:
    """The first bytes of what comes, one more than a result may have; the rest is let go."""

    def __init__(self) -> None:
        self.kept = bytearray()

    def add(self, data: bytes) -> None:
        self.kept += data[: RESULT_LIMIT + 1 - len(self.kept)]
