"""One socket of one registration: how it begins, what comes in, what is told, and what becomes of it in the end."""

import asyncio
import contextlib
import logging
from typing import Any, Final

from fastapi import WebSocket, WebSocketDisconnect

from paceline.claims import IncarnationId
from paceline.dialled import Connection, Dialled, Heartbeat, News
from paceline.errors import NotAllowedError, NotFoundError, PacelineError
from paceline.job import Claimed, Fence, JobId
from paceline_gateway.identity import Identity
from paceline_gateway.problem import Problem, problem_of
from paceline_gateway.runners.frames import (
    HELLO,
    LARGEST,
    BadFrameError,
    Drain,
    Goodbye,
    HeartbeatFrame,
    HelloFrame,
    Ready,
    read_frame,
)
from paceline_gateway.runners.hub import Guest
from paceline_gateway.runners.outbox import SILENT, Outbox
from paceline_gateway.runners.runs import MOST_AT_ONCE, Beat, Welcome, held, plain
from paceline_gateway.services import Services

BYE, RESTART, LATER, BAD, UNAUTHORIZED, ENDED = 1000, 1012, 1013, 4400, 4401, 4409
CODES: Final = {"Revoked": UNAUTHORIZED, "LeaseExpired": SILENT}
"""Of the causes of an end; all others are `ENDED`."""
HELLO_SECONDS: Final = 10
MOST_BAD: Final = 5
"""So many frames that cannot be understood are answered."""
log = logging.getLogger("paceline.gateway")


class EndedError(Exception):
    """The registration that a runner wants to go on with is over; the message is the cause."""


class Session:
    """Serves one runner. When `serve` is over, by whatever way, `end` is to be called."""

    def __init__(self, services: Services, socket: WebSocket, caller: Identity) -> None:
        """The socket is open."""
        self._services, self._socket, self._caller = services, socket, caller
        self._outbox = Outbox(socket, self._make_room)
        self._guest: Guest | None = None
        self._credit = 0
        self._runs: dict[JobId, Fence] = {}
        self._cancelled: set[tuple[JobId, Fence | None]] = set()
        self._drain_told: bool | None = None
        self._beating: asyncio.Task[None] | None = None
        self._settled = False
        """Nothing is to be done about the registration when the socket goes."""

    async def serve(self) -> int:
        """Until somebody ends it; the code to close the socket with."""
        if not await self._begin():
            return await self._outbox.run()
        sending, receiving = asyncio.create_task(self._outbox.run()), asyncio.create_task(self._receive())
        try:
            await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
            if receiving.done():
                receiving.result()
            return await sending
        finally:
            tasks = [task for task in (sending, receiving, self._beating) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def end(self) -> None:
        """The socket has gone: what did not go out goes back, and unless all is said the runner may come back soon."""
        if (guest := self._guest) is None:
            return
        await self._services.hub.leave(guest)
        dialling = self._services.dialling
        with contextlib.suppress(PacelineError):  # then it is found when its time is over
            if unsent := self._outbox.unsent():
                self._services.metrics.claim_failed("undelivered", len(unsent))
                await dialling.take_back(guest.by.incarnation, unsent)
            if not self._settled and not self._services.leaving.is_set():
                await dialling.drop(guest.by)

    # the beginning

    async def _begin(self) -> bool:
        """Whether it could; if not, what is to be sent says why."""
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                hello: HelloFrame = read_frame(await self._text(), HELLO)
            made, resumed = await self._enter(hello)
        except (BadFrameError, TimeoutError) as error:
            return self._refuse(BAD, "bad_frame", f"the first frame must be a hello: {str(error) or 'none came'}")
        except EndedError as ended:
            self._end(str(ended))
            return False
        except (PacelineError, Problem) as error:
            found = error if isinstance(error, Problem) else problem_of(error)
            code = LATER if found.status >= 500 else UNAUTHORIZED if isinstance(error, NotAllowedError) else BAD
            return self._refuse(code, found.error, found.detail)
        welcome = plain(Welcome.of(made, hello.heartbeat_seconds))
        self._outbox.put("welcome", **welcome, resumed=resumed, refused=sorted(made.refused))
        self._guest = Guest(
            Connection(made.incarnation, made.session), made.pool, made.slots, self._give, self._tell, self._send_away
        )
        self._services.hub.enter(self._guest)
        return True

    async def _enter(self, hello: HelloFrame) -> tuple[Dialled, bool]:
        dialling, token = self._services.dialling, self._caller.token
        if hello.resume is not None:
            runs = held(hello.resume.runs)
            with contextlib.suppress(NotFoundError):
                if made := await dialling.resume(token, hello.resume.incarnation, runs):
                    self._services.metrics.claim_failed("undelivered", made.undelivered)
                    self._runs = {job: fence for job, fence in runs.items() if job not in made.refused}
                    return made, True
            if hello.resume.only:
                raise EndedError(await self._cause(hello.resume.incarnation))
        return await self._services.desk.register(token, hello, socket=True), False

    async def _cause(self, incarnation: int) -> str:
        """Of a registration's end."""
        desk = self._services.desk
        with contextlib.suppress(NotFoundError):  # so long ago that it is forgotten
            await desk.place(self._caller.token, incarnation)
            return (await desk.beat(Heartbeat(Connection(IncarnationId(incarnation))))).cause or "LeaseExpired"
        return "LeaseExpired"

    def _refuse(self, code: int, error: str, detail: str) -> bool:
        self._outbox.put("problem", error=error, detail=detail)
        self._outbox.close(code)
        return False

    # what the hub says

    def _give(self, jobs: tuple[Claimed, ...]) -> None:
        self._credit = max(0, self._credit - len(jobs))
        for job in jobs:
            self._runs[job.id] = job.fence
            self._outbox.give(job)

    def _make_room(self) -> None:
        """Ask for as many as are wanted, but not for more than shall wait here."""
        if (guest := self._guest) is None:
            return
        want = max(0, min(self._credit, MOST_AT_ONCE - self._outbox.runs))
        more, guest.want = want > guest.want, want
        if more:
            self._services.hub.knock(guest.pool)

    def _tell(self, news: News) -> None:
        if self._settled:
            return
        for job in sorted(news.cancelled):
            run = (job, self._runs.get(job))
            if run not in self._cancelled:
                self._cancelled.add(run)
                self._outbox.put("cancel", id=job, fence=run[1])
        match news.verdict:
            case "draining" if self._drain_told is None or news.leave > self._drain_told:
                self._drain_told = news.leave
                self._outbox.put("drain", leave=news.leave)
            case "fenced":
                self._end(news.cause or "LeaseExpired")
            case "moved":  # to a newer socket: nobody is here any more
                self._settled = True
                self._outbox.close(ENDED)
            case "lapsed":  # whoever does not take what it is sent keeps no more from others, until it asks again
                self._credit = 0
                self._make_room()
                self._outbox.put("lapsed")

    def _end(self, cause: str) -> None:
        """The registration is over."""
        self._settled = True
        self._outbox.put("fenced", cause=cause)
        self._outbox.close(CODES.get(cause, ENDED))

    def _send_away(self) -> None:
        """This gateway closes and fences nothing: another one has the runner in a moment."""
        self._settled = True
        self._outbox.put("reconnect")
        self._outbox.close(RESTART)

    # what comes in

    async def _text(self) -> str:
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1006))
        text = message.get("text")
        if text is None:
            raise BadFrameError("it is binary: send text")
        if len(text) > LARGEST:
            raise BadFrameError(f"it has {len(text)} characters (at most {LARGEST})")
        return str(text)

    async def _receive(self) -> None:
        """Until a close is on its way."""
        assert self._guest is not None
        bad = 0
        while True:
            try:
                frame = read_frame(await self._text())
            except BadFrameError as error:
                bad += 1
                self._outbox.put("problem", error="bad_frame", detail=str(error))
                if bad >= MOST_BAD:
                    self._outbox.close(BAD)
                    return
                continue
            try:
                if await self._act(self._guest, frame):
                    return
            except PacelineError as error:
                self._give_up(error)
                return

    async def _act(self, guest: Guest, frame: Any) -> bool:
        """Whether it was the last one."""
        match frame:
            case Ready():
                self._credit = frame.want
                self._make_room()
            case HeartbeatFrame():
                if self._beating is not None:
                    await self._beating
                self._beating = asyncio.create_task(self._beat(guest, frame))
            case Drain():
                self._credit = guest.want = 0
                self._drain_told = False
                await self._services.dialling.drain(guest.by.incarnation)
            case Goodbye():
                await self._services.desk.leave(guest.by.incarnation, frame)
                self._settled = True
                self._outbox.close(BYE)
                return True
            case _:
                await self._report(guest, frame)
        return False

    async def _beat(self, guest: Guest, frame: HeartbeatFrame) -> None:
        """It waits for others, so the frames after it do not wait for it."""
        runs = held(frame.runs)
        try:
            news = await self._services.desk.beat(Heartbeat(guest.by, runs))
        except PacelineError as error:
            self._give_up(error)
            return
        self._runs.update(runs)
        for job in news.refused:
            self._runs.pop(job, None)
        if news.verdict in ("ok", "draining"):
            self._outbox.put("beat", **plain(Beat.of(news)))
        else:
            self._tell(news)

    async def _report(self, guest: Guest, frame: Any) -> None:
        job, told = JobId(frame.id), {"id": frame.id, "fence": frame.fence, "about": frame.type}
        try:
            counts = await self._services.desk.report(guest.by.incarnation, job, frame)
        except PacelineError as error:
            found = problem_of(error)
            if found.status >= 500:
                raise
            self._outbox.put("problem", error=found.error, detail=found.detail, **told)
            return
        if (frame.type in ("complete", "fail", "hand_back") or not counts) and self._runs.get(job) == frame.fence:
            del self._runs[job]
        self._outbox.put("accepted" if counts else "refused", **told)

    def _give_up(self, error: PacelineError) -> None:
        """The database is not there: the runner keeps its lease, and says it again when it has come back."""
        log.warning("a runner's socket is closed: %s", error)
        self._settled = True
        self._outbox.close(LATER)
