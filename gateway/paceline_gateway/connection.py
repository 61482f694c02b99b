"""uvicorn's connections: with a clock for what comes between requests, and an end that two may begin at once.

uvicorn waits for ever for a first byte, for the rest of a head, and for the rest of a body that was answered before its
end; it collects a head of any size; and it waits for ever for a client to take its answer, also when it has closed: a
transport that is closed sends first what it has. Here each of these has an end. Once a head is complete limits.py takes
over.
"""

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State

from paceline_gateway.limits import MOST_HEAD

HEAD_SECONDS: Final = 15.0
UNREAD_SECONDS: Final = 30.0
"""So long a client may take nothing of what is on its way to it."""


class Connection(HttpToolsProtocol):
    """Closes whoever takes too long, or too many words, to say what it wants."""

    head_seconds = HEAD_SECONDS
    unread_seconds = UNREAD_SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """The first head is awaited from now on."""
        super().connection_made(transport)
        self._in_head, self._head_bytes = False, 0
        self._unread: asyncio.TimerHandle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        self._head_is_here()
        self._has_read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """What comes while no request is served must become one in time."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            self._await_reader()
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return
        if self._in_head and self._head_bytes > MOST_HEAD:
            self._refuse(431)
        elif not self._serving:
            self._await_head()

    def on_message_begin(self) -> None:
        """A head begins."""
        self._in_head, self._head_bytes = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A head is complete."""
        self._head_is_here()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """What was the last answer of a connection may still be on its way."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._await_reader()

    def pause_writing(self) -> None:
        """More is on its way than a client that reads leaves there."""
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        """It reads."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._has_read()

    def timeout_keep_alive_handler(self) -> None:
        """It has said nothing for long; what it has not read yet it may read, if it does."""
        super().timeout_keep_alive_handler()
        self._await_reader()

    @property
    def _serving(self) -> bool:
        return not getattr(self.cycle, "response_complete", True)  # there is none before the first request

    def _await_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self._refuse, 408)

    def _head_is_here(self) -> None:
        self._in_head = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: int) -> None:
        if self._in_head and not self._serving:
            self.transport.write(STATUS_LINE[status] + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.close()
        self._await_reader()

    def _await_reader(self) -> None:
        if self._unread is None and (size := self.transport.get_write_buffer_size()):
            self._unread = self.loop.call_later(self.unread_seconds, self._look_for_reader, size)

    def _look_for_reader(self, before: int) -> None:
        self._unread = None
        if self.transport.get_protocol() is not self:
            return
        if self.transport.get_write_buffer_size() < before:
            self._await_reader()  # it is slow
        else:
            self.transport.abort()

    def _has_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


class Socket(WebSocketsSansIOProtocol):
    """A WebSocket that may be told to leave while its peer leaves: uvicorn's own raises, and all others stay open."""

    def shutdown(self) -> None:
        """What the peer has begun is not begun again, and a peer that has had its answer is not waited for."""
        if self.handshake_complete and not self.close_sent and self.conn.state is not State.OPEN:
            self.stop_keepalive()
            self.transport.abort()
        else:
            super().shutdown()
