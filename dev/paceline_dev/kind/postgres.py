"""A database on the machine that the nodes run on, where pods reach it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paceline.testing import PostgresServer

REACHABLE = "host all all 0.0.0.0/0 scram-sha-256\n"


@contextmanager
def reachable_postgres() -> Iterator[PostgresServer]:
    """Until the end of the block; its URL is for this machine."""
    rules = Path("/tmp") / f"paceline-{os.getpid()}.hba"  # noqa: S108 -- the server's user must read it
    rules.write_text(REACHABLE)
    try:
        with PostgresServer.start(settings={"listen_addresses": "*", "hba_file": str(rules)}) as server:
            yield server
    finally:
        rules.unlink()
