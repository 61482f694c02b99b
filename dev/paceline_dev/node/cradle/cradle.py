"""The cradle: the process from which a node forks the shim of each container.

A shim forked from here costs about 1 ms and shares its memory with the others; a Python started for each container
would cost 20 ms and 8 MB. It ends when the node is gone, and then removes what the node left on the disk.
"""

import contextlib
import os
import select
import shutil
import signal
import socket
import time

from paceline_dev.node.cradle import kernel, shim

LAST_SECONDS = 10.0
"""So long the cradle goes on killing what is left: a process stuck in the kernel must not keep it for ever."""
AGAIN_SECONDS = 0.05
GOODBYE = b"."


def serve(line: socket.socket, owner: int) -> bool:
    """Fork a shim for each order, until the node says goodbye or is gone; whether it said goodbye."""
    woken = kernel.wake_by_children()
    known: set[int] = set()
    poll = select.poll()
    for fd in (line.fileno(), owner, woken):
        poll.register(fd, select.POLLIN)
    while True:
        ready = dict(poll.poll())
        if woken in ready:
            os.read(woken, 4096)
            _bury(known)
        if owner in ready:
            return False
        if line.fileno() in ready:
            said, fds, _, _ = socket.recv_fds(line, 1, 2)
            if len(fds) < 2:  # a killed node's end of the line is closed before its process is gone
                return said == GOODBYE
            control, order = fds
            for fd in fds:  # or the container's processes would have them open, and hold the line for a dead shim
                os.set_inheritable(fd, False)
            pid = os.fork()
            if pid == 0:
                line.close()
                os.close(woken)
                shim.main(control, order, owner)
            known.add(pid)
            for fd in fds:
                os.close(fd)


def _bury(known: set[int]) -> None:
    """Reap shims that have ended; who is no shim is what a killed one left behind, and goes after it."""
    with contextlib.suppress(ChildProcessError):
        while found := os.waitpid(-1, os.WNOHANG)[0]:
            known.discard(found)
    for pid in kernel.children_of(os.getpid()):
        if pid not in known:
            kernel.kill_descendants(pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def main(line: int, owner: int, scratch: str) -> None:
    """Serve the node with that process id, who holds the other end of the line."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)  # who ends a whole service at once means the node, which ends us
    kernel.adopt_strays()
    watched = os.pidfd_open(owner)
    os.set_inheritable(line, False)
    orderly = serve(socket.socket(fileno=line), watched)
    last = time.monotonic() + LAST_SECONDS
    while kernel.children_of(os.getpid()) and time.monotonic() < last:
        kernel.kill_descendants(os.getpid())
        _bury(set(kernel.children_of(os.getpid())))
        time.sleep(AGAIN_SECONDS)
    if not orderly:
        shutil.rmtree(scratch, ignore_errors=True)
