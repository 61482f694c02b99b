"""What was measured of peers outside of our runs, beside what we have of the same; also where they do better.

A row without a figure of ours stands for itself: we have not measured the like.
"""

from typing import Final

Ours = tuple[str, str] | None
"""The bench and its figure."""

ORCH8: Final[tuple[tuple[str, Ours, str], ...]] = (
    ("one-step tasks, end to end", ("queue", "runner_1_1p"), "127/s (16 workers)"),
    ("results taken of tasks that were handed out before", None, "262/s"),
    ("created one by one by HTTP", ("gateway", "http_one"), "564/s; 18/s with 100,000 active"),
    ("created in batches by HTTP", ("gateway", "http_many"), "19,640/s"),
    ("created to worker, half of them", ("gateway", "p50_50"), "78 ms (polls every 5 ms)"),
    ("created to worker, 99 of 100", ("gateway", "p99_50"), "134 ms (polls every 5 ms)"),
    ("a worker dies: another may have its job (ours: in a pod, seen by the operator)",
     ("operator", "kill_to_claimable"), "65 to 90 s"),
    ("a node of the engine is killed: its instances go on", None,
     "332 to 439 s; in one of three runs 22 of 53 instances failed"),
    ("one concurrency key, at most 1 / 10 at a time", None,
     "5 / 36.7 instances/s; a worker held 50 of 50 at once with a limit of 1"),
    ("an instance without that key, behind 1,000 that have it", None, "not begun in 75 s"),
    ("let through by a rate limit of 50 a second", None, "49.4/s"),
    ("drain by its API", None,
     "answers 200, to an id that is none too; until the next heartbeat, every 10 s, it is ready and claims: 33 of 34 "
     "new instances"),
    ("SIGTERM during steps of over 30 s", None,
     "exits with 0, records that it is drained; 5 instances stay marked as running"),
    ("the result of a worker that has lost its task", None, "refused (409), also with a stolen id and an old epoch"),
    ("write-ahead log for a job", ("queue", "wal_runner"), "20 kB"),
    ("commits for a job", ("queue", "commits_runner"), "32"),
    ("SQL statements for a job", None, "about 42"),
)  # fmt: skip
KEDA_MORE: Final[tuple[tuple[str, Ours, tuple[str, str, str]], ...]] = (
    ("one job at zero to pod created, 35 of 50 groups active", None, ("", "0.92 s, the longest 2.67 s", "")),
    ("400 jobs at zero to the first 100 pods created", None, ("91 s", "13 s", "4.4 s")),
    ("400 jobs at zero to the first 200 pods created", None, ("108 s", "18 s", "9.6 s")),
    ("writes to the API server, from 0 to 1", None, ("7, and 11 by the controllers of Deployments", "the same", "")),
    ("writes to the API server, by an active group that stays as it is", None,
     ("", "60 a minute: a status for each poll", "")),
    ("status updates that failed, 35 active groups", None,
     ("", "1,350 in 85 s, at its limit of 20 requests/s", "")),
    ("Postgres back after one or two minutes: scaling goes on", None, ("7 to 12 s", "", "")),
)  # fmt: skip
"""What has no row in the bench's own page."""
