"""A container's log in the form that container runtimes write: `TIME STREAM F|P TEXT`, one line each."""

import os
import time

LONGEST = 16384
"""A longer line is written in parts, marked P, as a runtime does."""
MOST_BYTES = 10 * 2**20
"""A log that grows past this begins anew and keeps one predecessor, as the kubelet's rotation does."""


class Journal:
    """One file that the output of one container goes into."""

    def __init__(self, path: str) -> None:
        """Open it for appending; two containers never share one."""
        self._path = path
        self._file = open(path, "ab", buffering=0)  # noqa: PTH123, SIM115 -- stays open as long as the container lives
        self._rest = {"stdout": b"", "stderr": b""}

    def add(self, stream: str, data: bytes) -> None:
        """Write the whole lines of it, and keep the rest for later."""
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        stamp = _now()
        parts = [(b"F", line) for line in lines]
        while len(rest) > LONGEST:
            parts.append((b"P", rest[:LONGEST]))
            rest = rest[LONGEST:]
        self._rest[stream] = rest
        if parts:
            self._write(stream, stamp, parts)

    def end(self) -> None:
        """Write what has no end of line."""
        for stream, rest in self._rest.items():
            if rest:
                self._write(stream, _now(), [(b"F", rest)])
        self._file.close()

    def _write(self, stream: str, stamp: bytes, parts: list[tuple[bytes, bytes]]) -> None:
        name = stream.encode()
        self._file.write(b"".join(b"%b %b %b %b\n" % (stamp, name, tag, text) for tag, text in parts))
        if self._file.tell() > MOST_BYTES:
            os.replace(self._path, self._path + ".1")  # noqa: PTH105 -- as above
            self._file.close()
            self._file = open(self._path, "ab", buffering=0)  # noqa: PTH123, SIM115 -- as above


def _now() -> bytes:
    seconds, nanos = divmod(time.time_ns(), 10**9)
    return b"%b.%09dZ" % (time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)).encode(), nanos)
