"""Watches what passes the network interfaces of a namespace, for a mark that nobody else would send."""

import contextlib
import ctypes
import math
import os
import select
import socket
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

ETH_P_ALL = 0x0003
CLONE_NEWNET = 0x40000000
FRAME = 65536
LINGER_SECONDS = 0.5


class Watch:
    """Counts the frames that carry a mark, on all interfaces, while its `with` block runs."""

    def __init__(self, mark: bytes, namespace: Path | None = None) -> None:
        """Prepare; without a namespace the network of this process is watched."""
        self.seen = 0
        self._mark = mark
        self._namespace = namespace
        self._listening = threading.Event()
        self._over = threading.Event()
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._listen, name="watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._listening.wait()
        if self._error is not None:
            raise self._error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _listen(self) -> None:
        """Only this thread enters the namespace, and it ends here."""
        try:
            if self._namespace is not None:
                _enter(self._namespace)
            tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        except OSError as error:
            self._error = error
            return
        finally:
            self._listening.set()
        with contextlib.closing(tap):
            until = math.inf
            while time.monotonic() < until:
                if self._over.is_set() and until == math.inf:  # what is on its way; others may go on sending for ever
                    until = time.monotonic() + LINGER_SECONDS
                readable, _, _ = select.select([tap], [], [], 0.1)
                if readable:
                    self.seen += self._mark in tap.recv(FRAME)


def _enter(namespace: Path) -> None:
    with namespace.open("rb") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(namespace))
