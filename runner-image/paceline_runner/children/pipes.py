"""The runner's ends of what it shares with a child: pipes that are read as they fill, and memory."""

import asyncio
import codecs
import contextlib
import os
import tempfile
from collections.abc import Callable
from typing import Final

Sink = Callable[[bytes], None]
CHUNK: Final = 2**16
"""As much as a pipe of Linux holds."""
AT_ONCE: Final = 16
"""Chunks read in one go where the child has ended: a pipe may be made to hold 1 MiB, and not more."""


class Outlet:
    """Hands what comes out of a pipe to a sink at once, so it costs no memory; what follows the end is nobody's."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int, sink: Sink) -> None:
        """Begin to read; the descriptor is closed at the end of the file or by `close`."""
        self._loop = loop
        self._fd = fd
        self._sink = sink
        self.closed = loop.create_future()
        os.set_blocking(fd, False)
        loop.add_reader(fd, self._read)

    def drain(self) -> None:
        """Take what has been written until now."""
        for _ in range(AT_ONCE):
            if self.closed.done() or not self._read():
                return

    def close(self) -> None:
        """Read no more."""
        if not self.closed.done():
            self.closed.set_result(None)
            self._loop.remove_reader(self._fd)
            os.close(self._fd)

    def _read(self) -> bool:
        """Whether there was something."""
        try:
            data = os.read(self._fd, CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self._sink(data)
        else:
            self.close()
        return bool(data)


class Text:
    """Bytes that become text as they come, whatever they are and wherever they are cut."""

    def __init__(self, *write: Callable[[str], object]) -> None:
        """Begin; each of `write` gets all of it."""
        self._write = write
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def add(self, data: bytes, *, final: bool = False) -> None:
        """Decode some more."""
        if text := self._decoder.decode(data, final):
            for write in self._write:
                write(text)

    def end(self) -> None:
        """Tell half a character too, if there is one."""
        self.add(b"", final=True)


def memory(content: bytes, name: str) -> int:
    """A descriptor of a file in memory, to be read from its beginning; a plain file where the system has none."""
    fd = -1
    with contextlib.suppress(AttributeError, OSError):
        fd = os.memfd_create(name)
    if fd < 0:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd
