"""A worker process as the runner sees it."""

import asyncio
import contextlib
import os
import sys
from datetime import timedelta
from typing import Any, Final, Self

from paceline.errors import PacelineError
from paceline_runner.attempt import Attempt, Broken, Cause, Done, Ended, Tail
from paceline_runner.children.child import Child
from paceline_runner.children.errors import NotStartedError, ProcessCrashedError, how
from paceline_runner.children.outcome import again
from paceline_runner.children.pipes import Text
from paceline_runner.children.program import Program
from paceline_runner.children.supervisor import Children
from paceline_runner.children.wire import ClosedError, Message, Wire

COMMAND: Final = (sys.executable, "-u", "-X", "faulthandler", "-m", "paceline_runner.children.worker")
"""Unbuffered, and with a traceback at a crash: what was written before the end is not lost."""
MOMENT: Final = 1.0
"""Seconds in which a worker that hung up has to be dead, or is taken to have closed its socket."""
SHOWN: Final = 4096


class _Voice:
    """Where a worker's output goes: to its job, or to nobody."""

    def __init__(self) -> None:
        self.to = Tail(SHOWN)

    def write(self, text: str) -> None:
        self.to.write(text)


class RemoteWorker:
    """Does one job at a time."""

    def __init__(self, child: Child, wire: Wire, voice: _Voice) -> None:
        """Use `start`."""
        self.jobs = 0
        """How many it was given."""
        self._child = child
        self._wire = wire
        self._voice = voice
        self._attempt: Attempt | None = None
        self._begun = False
        self._answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._pump = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, children: Children, app: str) -> Self:
        """Start one; returns when it has imported the application."""
        voice = _Voice()
        program = Program(argv=(*COMMAND, app), env=dict(os.environ), channel=True)
        child = await children.start(program, stdout=Text(voice.write).add, stderr=Text(voice.write).add)
        try:
            assert child.channel is not None
            wire = await Wire.open(child.channel)
            child.channel = None  # the wire closes it
        except BaseException:
            await child.end()
            raise
        self = cls(child, wire, voice)
        wire.send({"is": "hello", "path": sys.path})
        code, fault = None, ""
        try:
            message = await self._answered()
        except ProcessCrashedError as error:
            code, fault = error.code, f'{error} while it imported "{app}"'
        except BaseException:
            await self.kill()
            raise
        else:
            if message["is"] == "ready":
                return self
            fault = f'the worker process cannot use "{app}":\n{message.get("error")}'
        await self.kill()
        raise ProcessCrashedError(f"{fault}\n{voice.to.text() or ''}".rstrip(), code)

    @property
    def usable(self) -> bool:
        """Whether it can be given a job."""
        return not self._child.ended.done() and not self._pump.done()

    async def work(self, attempt: Attempt, grace: float) -> Ended:
        """Do one job; when the caller is cancelled, the worker has `grace` seconds to end it before it is killed.

        What is done in that time is done, as it is for a handler in a thread. A worker that was dead before it heard
        of the job raises NotStartedError.
        """
        self.jobs += 1
        self._begun = False
        self._attempt, self._voice.to = attempt, attempt.output
        self._answer = asyncio.get_running_loop().create_future()
        self._wire.send({"is": "job", "job": list(attempt.job)})
        try:
            try:
                return _ended(await self._answered())
            except asyncio.CancelledError:
                if done := await self._stopped(grace):
                    return done
                raise
        except ProcessCrashedError as error:
            await self.kill()
            if not self._begun:
                raise NotStartedError(f"{error} at rest") from None
            return again(attempt, error, Cause.CRASHED)
        finally:
            self._drain()
            self._attempt, self._voice.to = None, Tail(SHOWN)

    async def close(self, grace: float) -> None:
        """Hang up and let it close what it has open; kill it after `grace` seconds."""
        self._wire.close()
        try:
            await asyncio.wait([self._child.ended], timeout=grace)
        finally:
            await self.kill()

    async def kill(self) -> None:
        """Make it end; what it wrote before is kept."""
        self._child.kill()
        self._pump.cancel()
        self._wire.close()
        try:
            await self._child.rest()
        finally:
            await self._child.end()

    async def _stopped(self, grace: float) -> Done | None:
        self._wire.send({"is": "stop"})
        try:
            async with asyncio.timeout(grace):
                ended = _ended(await self._answered())
            return ended if isinstance(ended, Done) else None
        except (TimeoutError, ProcessCrashedError):
            await self.kill()
            return None
        except asyncio.CancelledError:  # nobody wants to wait any longer
            await self.kill()
            raise

    async def _answered(self) -> Message:
        """What the worker says at last; an error if it is gone without a word."""
        child = self._child
        ends: list[asyncio.Future[Any]] = [self._pump, child.ended]
        await asyncio.wait([self._answer, *ends], return_when=asyncio.FIRST_COMPLETED)
        if not self._answer.done():
            await asyncio.wait(ends, timeout=MOMENT)
        if self._answer.done():
            return self._answer.result()
        if not child.ended.done():
            raise ProcessCrashedError("the worker process closed its socket to the runner")
        code = child.ended.result()
        ended = "was killed, because the guard of the child processes died" if child.lost else how(code)
        raise ProcessCrashedError(f"the worker process {ended}", code)

    async def _listen(self) -> None:
        with contextlib.suppress(ClosedError, LookupError, TypeError):  # a handler may have written to our socket
            while True:
                self._hear(await self._wire.receive())

    def _hear(self, message: Message) -> None:
        attempt, what = self._attempt, message.get("is")
        if attempt is not None and message.get("fence") != attempt.job.fence:
            return  # late words about an earlier job
        if what == "progress" and attempt is not None:
            with contextlib.suppress(PacelineError):
                attempt.progress(message["value"])
        elif what == "extend" and attempt is not None:
            with contextlib.suppress(PacelineError, OverflowError):
                attempt.extend(timedelta(seconds=message["seconds"]))
        elif what == "begun":
            self._begun = True
        elif not self._answer.done():
            self._answer.set_result(message)

    def _drain(self) -> None:
        for outlet in self._child.outlets:
            outlet.drain()


def _ended(message: Message) -> Ended:
    if message["is"] == "done":
        return Done(message["result"])
    if message["is"] == "broken":
        wait = message["retry_in"]
        return Broken(message["error"], None if wait is None else timedelta(seconds=wait), message["cause"])
    raise ProcessCrashedError(f"the worker process cannot do it: {message.get('error')}")
