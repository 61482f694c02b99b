"""The processes that empty a queue: `python -m paceline_bench.workers.<name>`. Each works until SIGTERM."""

from typing import Final

URL: Final = "PACELINE_BENCH_URL"
"""Where a worker finds its database: a password does not belong on a command line."""
