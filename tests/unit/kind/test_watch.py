"""The watch over packets that the containment stories look through."""

import os
import secrets
import socket
import threading

import pytest

from paceline_dev.kind.watch import Watch

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may see what passes an interface")


def test_it_counts_what_carries_the_mark_and_ends_although_others_go_on_sending() -> None:
    mark, other = secrets.token_bytes(16), secrets.token_bytes(16)
    over = threading.Event()

    def babble() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            while not over.wait(0.001):
                sender.sendto(other, ("127.0.0.1", 9))

    babbler = threading.Thread(target=babble)
    babbler.start()
    try:
        with Watch(mark) as watch, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(mark, ("127.0.0.1", 9))
        assert watch.seen >= 1
    finally:
        over.set()
        babbler.join()
