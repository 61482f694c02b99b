"""100,000 live jobs in the mix of a busy installation, and what a week of them leaves behind.

Made by plain inserts, since it is only there to be walked past: through `enqueue` and `step` it would take minutes.
"""

import asyncpg

from paceline.migrate import migrate

GONE = 20_000
"""Registrations that are over: a week of restarts. No hot call may read them."""

GROUPS = """
SELECT paceline.put_group('prod', 'ci', pool, pool, p_leader => pool = 'led', p_slots => 50)
  FROM unnest('{builds,wide,rated,keyed,led,later}'::text[]) pool"""

# 40 kinds of `builds`, half of them once more for tagged runners; `wide` has 500 lanes of ten jobs
LANES = """
SELECT count(*) FROM (
    SELECT paceline.lane_for(p.id, k.kind, k.tags, '{}') FROM paceline.pool p
     CROSS JOIN LATERAL (
        SELECT 'kind' || n AS kind, '{}'::text[] AS tags
          FROM generate_series(1, CASE p.name WHEN 'builds' THEN 40 WHEN 'wide' THEN 500 ELSE 4 END) n
        UNION ALL
        SELECT 'kind' || n, '{gpu}' FROM generate_series(1, 20) n WHERE p.name = 'builds') k
     ORDER BY p.id, k.kind) made"""
BANDS = """
INSERT INTO paceline.band (lane, priority)
SELECT l.id, n FROM paceline.lane l CROSS JOIN generate_series(0, 9) n
 WHERE l.pool IN (SELECT id FROM paceline.pool WHERE name <> 'wide') OR n = 5"""
LIMITS = """
SELECT paceline.set_kind('rated', 'kind1', 1000), paceline.set_kind('rated', 'kind2', 1000),
       paceline.set_pool('rated', p_rate => 5000), paceline.set_key('keyed', 'crowded', 1),
       paceline.set_key('keyed', 'metered', NULL, 50)"""
KEYS = """
INSERT INTO paceline.key (pool, name, max_running)
SELECT p.id, CASE WHEN n <= 300 THEN 'key' ELSE 'idle' END || n, 1 FROM paceline.pool p, generate_series(1, 20000) n
 WHERE p.name = 'keyed'"""

RUNNERS = """
SELECT count(*) FROM (
    SELECT paceline.register('runner-' || g || '-' || n, g, '{*}', p_slots => 50, p_lease => 86400, p_install => 'prod',
                             p_namespace => 'ci', p_group => g, p_external => false, p_revision => 'one')
      FROM unnest('{builds,wide,rated,keyed,led,later}'::text[]) g CROSS JOIN generate_series(1, 8) n) made"""
PREDECESSORS = """
INSERT INTO paceline.incarnation (runner, pool, login, state, lease, lease_until, registered_at, ended_at, cause, kinds,
                                  tags)
SELECT r.id, g.pool, session_user, 'z', '30 s', now() - make_interval(mins => n), now() - make_interval(mins => n + 9),
       now() - make_interval(mins => n), 'Deregistered', '{*}', '{}'
  FROM generate_series(1, $1::integer) n
  JOIN (SELECT x.*, row_number() OVER (ORDER BY x.id) AS nth, count(*) OVER () AS many FROM paceline.runner x) r
    ON r.nth = 1 + n % r.many
  JOIN paceline.runner_group g ON g.id = r.grp"""

# $1 pool, $2 how many, $3 state, $4 key (NULL: none; '*': spread over those that are called key…)
JOBS = """
INSERT INTO paceline.job (seq, lane, kind, priority, state, run_at, ready_at, expires_at, key, dedupe, max_tries,
                          max_losses, payload)
SELECT nextval('paceline.seq'), l.id, l.kind, CASE WHEN $1 = 'wide' THEN 5 ELSE n / 7 % 10 END, $3::text::"char",
       CASE WHEN $3 = 's' THEN now() + make_interval(secs => 3600 + n) END, CASE WHEN $3 = 'r' THEN now() END,
       CASE WHEN n % 10 = 0 THEN now() + interval '1 day' END, k.id,
       CASE WHEN n % 5 = 0 THEN concat($1, $3, $4, n) END, 5, 3, jsonb_build_object('n', n)
  FROM generate_series(1, $2::integer) n
  JOIN (SELECT x.*, row_number() OVER (ORDER BY x.id) AS nth, count(*) OVER () AS many
          FROM paceline.lane x JOIN paceline.pool p ON p.id = x.pool WHERE p.name = $1) l ON l.nth = 1 + n % l.many
  LEFT JOIN (SELECT x.id, row_number() OVER (ORDER BY x.id) AS nth, count(*) OVER () AS many
               FROM paceline.key x WHERE x.name = $4 OR $4 = '*' AND x.name LIKE 'key%') k ON k.nth = 1 + n % k.many"""
MIX: tuple[tuple[str, int, str, str | None], ...] = (
    ("builds", 40_000, "r", None),
    ("wide", 5_000, "r", None),
    ("rated", 3_000, "r", None),
    ("led", 2_000, "r", None),
    ("later", 29_000, "s", None),
    ("keyed", 20_000, "b", "crowded"),
    ("keyed", 1_000, "b", "*"),
)
# Every runner of `builds` holds 50, and one of those jobs has each key's one permit.
RUNNING = """
UPDATE paceline.job j SET state = 'x', incarnation = i.id, fence = nextval('paceline.fence'), claimed_at = now()
  FROM (SELECT x.id, row_number() OVER (ORDER BY x.seq) AS nth FROM paceline.job x
          JOIN paceline.lane l ON l.id = x.lane JOIN paceline.pool p ON p.id = l.pool
         WHERE p.name = 'builds' AND l.tags = '{}') o
  JOIN (SELECT x.id, row_number() OVER (ORDER BY x.id) AS nth
          FROM paceline.incarnation x JOIN paceline.pool p ON p.id = x.pool
         WHERE p.name = 'builds' AND x.state = 'a') i ON i.nth = 1 + o.nth / 50
 WHERE j.id = o.id"""
HOLDERS = """
INSERT INTO paceline.job (seq, lane, kind, priority, state, ready_at, claimed_at, incarnation, fence, key, max_tries,
                          max_losses, payload)
SELECT nextval('paceline.seq'), l.id, l.kind, 5, 'x', now(), now(), i.id, nextval('paceline.fence'), k.id, 5, 3, '{}'
  FROM paceline.key k
  JOIN LATERAL (SELECT x.* FROM paceline.lane x WHERE x.pool = k.pool ORDER BY x.id LIMIT 1) l ON true
  JOIN LATERAL (
    SELECT x.id FROM paceline.incarnation x WHERE x.pool = k.pool AND x.state = 'a' ORDER BY x.id LIMIT 1) i ON true
 WHERE k.name = 'crowded' OR k.name LIKE 'key%'"""

# Six days of equal size at any hour: of a day that has just begun, a sequential scan would be the right plan.
# Partitions of past days are made for rows that came late, so a late row asks for them.
PAST = "INSERT INTO paceline.history_late SELECT 0, now() - interval '6 days', now(), NULL, 0, NULL, 0, 0, 5, 1, 0, 'd'"
HISTORY = """
INSERT INTO paceline.history (id, finished_at, enqueued_at, claimed_at, fence, incarnation, lane, kind, priority, tries,
                              losses, outcome)
SELECT 1000000 + n, date_trunc('day', now(), 'UTC') - make_interval(days => n % 6) + n * interval '1 ms',
       now(), now(), n, NULL, l.id, l.kind, 5, 1, 0, 'd'
  FROM generate_series(1, 100000) n JOIN (SELECT x.id, x.kind, row_number() OVER () AS nth FROM paceline.lane x) l
    ON l.nth = 1 + n % 50"""
ATTEMPTS = """
INSERT INTO paceline.attempt (job, fence, ended_at, outcome, cause)
SELECT 1000000 + n, n, date_trunc('day', now(), 'UTC') - make_interval(days => n % 6) + n * interval '1 ms', 'f',
       'Failed'
  FROM generate_series(1, 20000) n"""
DEAD = """
INSERT INTO paceline.dead (id, died_at, cause, enqueued_at, lane, kind, priority, tries, losses, max_tries, max_losses,
                           fence, payload)
SELECT 2000000 + n, now() - make_interval(secs => n), 'Failed', now(), l.id, l.kind, 5, 5, 0, 5, 3, n, '{}'
  FROM generate_series(1, 5000) n JOIN (SELECT x.id, x.kind, row_number() OVER () AS nth FROM paceline.lane x) l
    ON l.nth = 1 + n % 50"""
# An hour of both: 20 calls a second end attempts, every group is looked at once a second.
FLOW = """
INSERT INTO paceline.flow (at, lane, done, busy_ms)
SELECT now() - make_interval(secs => n / 20.0), 1 + n % 60, 10, 100 FROM generate_series(0, 71999) n"""
SAMPLES = """
INSERT INTO paceline.sample (grp, at, done, busy_ms, backlog)
SELECT g.id, now() - make_interval(secs => n), 72000 - n, 720000 - n, 1000
  FROM paceline.runner_group g, generate_series(2, 3600) n"""
DECISIONS = """
INSERT INTO paceline.decision (grp, at, was, replicas, reason, inputs, proposals)
SELECT g.id, now() - make_interval(mins => n * 3), 1, 2, 'Followed', '{}', '[]'
  FROM paceline.runner_group g, generate_series(1, 2000) n"""
# A day of every pool.
POOL_SAMPLES = """
INSERT INTO paceline.pool_sample (pool, taken_at, seconds, ready, scheduled, blocked, running, dead, busy, idle,
                                  draining, done, failed)
SELECT p.id, now() - make_interval(secs => n * 10), 10, 100, 0, 0, 4, 0, 4, 0, 0, 10, 0
  FROM paceline.pool p, generate_series(1, 8640) n"""

BEFORE = (GROUPS, LANES, BANDS, LIMITS, KEYS, RUNNERS)
AFTER = (
    RUNNING,
    HOLDERS,
    PAST,
    "SELECT paceline.make_partitions()",
    "DELETE FROM paceline.history_late",
    HISTORY,
    ATTEMPTS,
    DEAD,
    FLOW,
    SAMPLES,
    DECISIONS,
    POOL_SAMPLES,
)

# The planner shall believe that a vacuum has been here, as in a table that lives for days. It must not have been: what
# an index-only scan reads of pages that are all visible is not counted. Nobody does housekeeping that no call asks for.
PLANNED = (
    """DO $$ DECLARE t regclass; BEGIN
         FOR t IN SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'paceline'::regnamespace AND c.relkind = 'r' LOOP
             EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', t);
         END LOOP;
       END $$""",
    "SELECT setval('paceline.job_id_seq', 3000000)",
    "UPDATE paceline.tick SET next_at = 'infinity', slow_at = 'infinity'",
    "ANALYZE",
    "UPDATE pg_class SET relallvisible = relpages WHERE relnamespace = 'paceline'::regnamespace",
)


async def seed(url: str) -> None:
    """Fill a fresh database, and let the planner see what it holds."""
    await migrate(url)
    connection = await asyncpg.connect(url)
    try:
        for statement in BEFORE:
            await connection.execute(statement)
        await connection.execute(PREDECESSORS, GONE)
        for mix in MIX:
            await connection.execute(JOBS, *mix)
        for statement in AFTER:
            await connection.execute(statement)
        for statement in PLANNED:
            await connection.execute(statement)
    finally:
        await connection.close()
