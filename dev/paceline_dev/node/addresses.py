"""Loopback addresses: one for the node and one for each pod, so that all pods can listen on the same port.

A node takes 127.A.0.0/16 for itself. The claim is an abstract socket, which the kernel gives to one process of the
network namespace and takes back when that process ends, however it ends. 65,000 addresses are handed out in turn, so
one is not given again while something that outlived its pod could still listen there.
"""

import random
import socket
from collections.abc import Iterator

from paceline_dev.errors import DevError

PREFIX = "\0paceline-node/127."
FIRST, LAST = 1, 254
"""127.0.0.0/16 is everybody's."""
NODE = (0, 1)


class Addresses:
    """The addresses of one node."""

    def __init__(self) -> None:
        """Claim a block that no other node of this machine has."""
        self._claim, self._block = _claim()
        self._turn = self._all()
        self._used: set[str] = set()

    @property
    def node(self) -> str:
        """The node's own address."""
        return f"127.{self._block}.0.1"

    def take(self) -> str:
        """The next address for a pod."""
        for _ in range(256 * 254):
            address = next(self._turn)
            if address not in self._used:
                self._used.add(address)
                return address
        raise DevError("all 65,000 addresses of this node are in use")

    def give_back(self, address: str) -> None:
        """Nothing of that pod runs any more."""
        self._used.discard(address)

    def close(self) -> None:
        """Let another node have the block."""
        self._claim.close()

    def _all(self) -> Iterator[str]:
        while True:
            for high in range(256):
                for low in range(1, 255):
                    if (high, low) != NODE:
                        yield f"127.{self._block}.{high}.{low}"


def _claim() -> tuple[socket.socket, int]:
    """Begin at random, so that nodes that start together do not try the same ones."""
    blocks = list(range(FIRST, LAST + 1))
    random.shuffle(blocks)
    for block in blocks:
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            claim.bind(f"{PREFIX}{block}")
        except OSError:
            claim.close()
        else:
            return claim, block
    raise DevError(f"{LAST} local nodes run on this machine, and there are no more loopback addresses: end some")
