"""The housekeeping, ten times a second: each part alone."""

from postgres.plans.hot import Hot

TICK = "SELECT paceline.tick()"
DUE = "UPDATE paceline.tick SET next_at = '-infinity', mark_at = '{}', review_at = '{}', sampled_at = 'infinity'".format
ONLY = DUE("infinity", "infinity")
SAMPLED = "UPDATE paceline.tick SET sampled_at = '-infinity'"
LIVE = {"incarnation": 200, "key": 14}
"""All live registrations twice (leases that may have ended, candidates for a leader), and the few rated keys."""
DIED = """
UPDATE paceline.incarnation i SET lease_until = now() - interval '1 second'
  FROM paceline.runner r WHERE r.id = i.runner AND i.state = 'a' AND r.name = 'runner-builds-2'"""
FREED = """
DELETE FROM paceline.job j USING paceline.key k WHERE j.state = 'x' AND j.key = k.id AND k.name = 'crowded'"""
KNOCKED = "INSERT INTO paceline.knock (key) SELECT id FROM paceline.key WHERE name = 'crowded'"
METERED = """
UPDATE paceline.key SET max_running = NULL, rate = 50, burst = 50, permits = 50 WHERE name = 'crowded'"""
ENDED = """
INSERT INTO paceline.flow (at, lane, done, busy_ms) SELECT now(), 1 + n % 60, 1, 1 FROM generate_series(1, 97) n"""

TICKS = (
    Hot(
        "tick with nothing due",
        TICK,
        {"job": 2, **LIVE},
        "a look whether the rated key has blocked jobs",
        True,
        given=(ONLY,),
    ),
    Hot(
        "tick with 50 due",
        TICK,
        {"job": 202, **LIVE},
        "each of the 50 twice",
        True,
        given=(
            ONLY,
            "UPDATE paceline.job SET run_at = now() - interval '1 second' WHERE id IN "
            "(SELECT id FROM paceline.job WHERE state = 's' ORDER BY run_at LIMIT 50)",
        ),
    ),
    Hot(
        "tick with 50 expired",
        TICK,
        {"job": 202, **LIVE},
        "each of the 50 twice",
        True,
        given=(
            ONLY,
            "UPDATE paceline.job SET expires_at = now() - interval '1 second' WHERE id IN "
            "(SELECT id FROM paceline.job WHERE state = 'r' AND expires_at IS NOT NULL ORDER BY id LIMIT 50)",
        ),
    ),
    Hot(
        "tick with a runner of 50 jobs lost",
        TICK,
        {"job": 302, **LIVE},
        "each of the 50 three times",
        True,
        given=(ONLY, DIED),
    ),
    Hot(
        "tick with a free permit that 20,000 wait for",
        TICK,
        {"job": 20, **LIVE},
        "the first of each of its lanes",
        True,
        given=(ONLY, FREED, KNOCKED),
    ),
    Hot(
        "tick with 20,000 that wait for a rate",
        TICK,
        {"job": 520, **LIVE},
        "the 50 that it admits, of four lanes",
        True,
        given=(ONLY, METERED),
    ),
    Hot(
        "tick that moves the low-water marks",
        TICK,
        {"job": 1700, "flow": 210, **LIVE},
        "what ended in the last 5 s, and the first job of each band of those lanes",
        True,
        given=(
            DUE("-infinity", "infinity"),
            ENDED,
            "INSERT INTO paceline.mark SELECT last_value, now(), '3' FROM paceline.seq",
        ),
    ),
    Hot(
        "tick that reviews lanes and keys",
        TICK,
        {"job": 800, "incarnation": 500, "key": 1300},
        "200 keys with blocked jobs: found, counted, and what they hold",
        True,
        given=(DUE("infinity", "-infinity"),),
    ),
    Hot(
        "tick that samples the pools",
        TICK,
        {"job": 60_000, "dead": 5_100, "flow": 1_300, "decision": 42, "incarnation": 400, "key": 14, "pool_sample": 48},
        "of each pool 10,000 of each state, the dead letters, and what ended in the last minute",
        True,
        given=(ONLY, SAMPLED),
    ),
    Hot(
        "tick with 50 calls that took too long",
        TICK,
        {"job": 1200, "incarnation": 500, "key": 1300},
        "as the review above, and each of the 50 eight times",
        True,
        given=(
            DUE("infinity", "-infinity"),
            "INSERT INTO paceline.call SELECT id, now() - interval '1 second' FROM "
            "(SELECT id FROM paceline.job WHERE state = 'r' ORDER BY id LIMIT 50) j",
            "UPDATE paceline.job SET awaited = true WHERE id IN (SELECT job FROM paceline.call)",
        ),
    ),
)
