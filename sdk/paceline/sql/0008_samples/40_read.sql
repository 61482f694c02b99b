-- What the dashboard asks for.

-- How the pools stand that the login may read, and how they stood a minute ago (NULL: nobody knows). Rates are over the last
-- minute, NULL while there is no sample of it. `paused`: the pool, or all of its groups. `leader` is of a pool with dispatch: Leader.
CREATE FUNCTION paceline.standing(p_cap bigint DEFAULT 10000)
RETURNS TABLE (
    at timestamptz, name text, paused text, max_depth bigint, groups text[], dispatch text, leader text,
    ready bigint, scheduled bigint, blocked bigint, running bigint, unclaimable bigint, dead bigint, capped boolean,
    oldest_seconds float8, busy bigint, idle bigint, draining bigint, slots bigint, desired bigint, reason text,
    limited_by text, done_rate float8, failed_rate float8, ready_before integer, oldest_before float8)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_pools constant integer[] := paceline.readable(NULL);
BEGIN
    RETURN QUERY
    SELECT v_now, p.name, CASE WHEN p.paused THEN 'pool' WHEN g.paused THEN 'groups' END, p.max_depth, coalesce(g.names, '{}'),
           CASE WHEN p.leader_group IS NULL THEN 'Shared' ELSE 'Leader' END, r.name,
           least(l.ready, p_cap), least(l.scheduled, p_cap), least(l.blocked, p_cap), l.running, least(l.unclaimable, p_cap),
           least(l.dead, p_cap), greatest(l.ready, l.scheduled, l.blocked, l.unclaimable, l.dead) > p_cap,
           CASE WHEN l.oldest IS NOT NULL THEN greatest(0, extract(epoch FROM v_now - l.oldest))::float8 END, l.busy, l.idle,
           l.draining, l.slots, l.desired, l.reason, l.limited_by, f.done, f.failed, b.ready, b.oldest_seconds::float8
      FROM paceline.look_at_pools(v_pools, p_cap + 1) l
      JOIN paceline.pool p ON p.id = l.pool
      LEFT JOIN (
        SELECT x.pool, bool_and(x.paused) AS paused,
               array_agg(concat_ws('/', nullif(x.namespace, ''), x.name) ORDER BY x.namespace, x.name) AS names
          FROM paceline.runner_group x WHERE x.pool = ANY (v_pools) GROUP BY x.pool) g ON g.pool = p.id
      LEFT JOIN paceline.leader e ON e.grp = p.leader_group
      LEFT JOIN paceline.runner r ON r.id = e.runner AND e.incarnation IS NOT NULL
     CROSS JOIN LATERAL (
        SELECT sum(s.done) / nullif(sum(s.seconds), 0)::float8 AS done, sum(s.failed) / nullif(sum(s.seconds), 0)::float8 AS failed
          FROM paceline.pool_sample s WHERE s.pool = p.id AND s.taken_at > v_now - interval '65 seconds') f
      LEFT JOIN LATERAL (
        SELECT s.ready, s.oldest_seconds FROM paceline.pool_sample s
         WHERE s.pool = p.id AND s.taken_at <= v_now - interval '55 seconds' AND s.taken_at > v_now - interval '3 minutes'
         ORDER BY s.taken_at DESC LIMIT 1) b ON true
     ORDER BY p.name;
END $$;

-- The samples of the last seconds, oldest first, in at most so many groups of equal width: of what stood there the most, of what
-- was counted the sum, or NULL where the group of now is wider than a sample and not over: half of it would look like a fall.
CREATE FUNCTION paceline.list_samples(p_pool text, p_seconds float8, p_points integer DEFAULT 360)
RETURNS TABLE (
    at timestamptz, seconds float8, ready integer, scheduled integer, blocked integer, running integer, dead integer,
    oldest_seconds float8, busy integer, idle integer, draining integer, desired integer, done bigint, failed bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_pools constant integer[] := paceline.readable(p_pool);
    v_seconds constant float8 := greatest(10, least(p_seconds, 86400));
    v_width constant interval := make_interval(
        secs => greatest(10, 10 * ceil(v_seconds / 10 / greatest(1, least(coalesce(p_points, 360), 1000)))));
    v_now constant timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT max(s.taken_at), sum(s.seconds)::float8, max(s.ready), max(s.scheduled), max(s.blocked), max(s.running), max(s.dead),
           max(s.oldest_seconds)::float8, max(s.busy), max(s.idle), max(s.draining), max(s.desired),
           sum(s.done) FILTER (WHERE b.whole), sum(s.failed) FILTER (WHERE b.whole)
      FROM paceline.pool_sample s
     CROSS JOIN LATERAL (SELECT date_bin(v_width, s.taken_at, '2000-01-01Z') AS began) g
     CROSS JOIN LATERAL (SELECT v_width <= interval '10 seconds' OR g.began + v_width <= v_now AS whole) b
     WHERE s.pool = v_pools[1] AND s.taken_at >= v_now - make_interval(secs => v_seconds)
     GROUP BY g.began ORDER BY 1;
END $$;

-- How many jobs were ready in each pool, every half minute of the last quarter of an hour: a small drawing for each.
CREATE FUNCTION paceline.list_depths() RETURNS TABLE (pool text, at timestamptz[], ready integer[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_pools constant integer[] := paceline.readable(NULL);
    v_since constant timestamptz := clock_timestamp() - interval '15 minutes';
BEGIN
    RETURN QUERY
    SELECT p.name, d.at, d.ready FROM paceline.pool p CROSS JOIN LATERAL (
        SELECT array_agg(b.at ORDER BY b.at) AS at, array_agg(b.ready ORDER BY b.at) AS ready FROM (
            SELECT max(s.taken_at) AS at, max(s.ready) AS ready FROM paceline.pool_sample s
             WHERE s.pool = p.id AND s.taken_at >= v_since
             GROUP BY date_bin(interval '30 seconds', s.taken_at, '2000-01-01Z')) b) d
     WHERE p.id = ANY (v_pools) AND d.at IS NOT NULL ORDER BY p.name;
END $$;

-- Jobs that have ended without being dead, the newest first (by id: history has no other order that a page could follow). Of the
-- finished jobs before p_before no more than the newest 20,000 are looked at, whatever pool they are of.
CREATE FUNCTION paceline.list_finished(p_pool text DEFAULT NULL, p_kind text DEFAULT NULL, p_before bigint DEFAULT NULL,
                                       p_limit integer DEFAULT 100)
RETURNS TABLE (
    id bigint, pool text, kind text, state text, priority smallint, enqueued_at timestamptz, claimed_at timestamptz,
    finished_at timestamptz, tries smallint, losses smallint, runner text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_pools constant integer[] := paceline.readable(p_pool);
    v_before constant bigint := coalesce(p_before, 9223372036854775807);
    v_limit constant integer := paceline.page(p_limit);
    v_kinds constant integer[] := ARRAY(
        SELECT k.id FROM paceline.kind k WHERE k.pool = ANY (v_pools) AND (p_kind IS NULL OR k.name = p_kind));
BEGIN
    RETURN QUERY
    SELECT h.id, p.name, k.name, paceline.outcome_word(h.outcome), h.priority, h.enqueued_at, h.claimed_at, h.finished_at,
           h.tries, h.losses, r.name
      FROM (
        SELECT n.* FROM (
            SELECT x.id, x.kind, x.outcome, x.priority, x.enqueued_at, x.claimed_at, x.finished_at, x.tries, x.losses,
                   x.incarnation
              FROM paceline.history x WHERE x.id < v_before ORDER BY x.id DESC LIMIT 20000) n
         WHERE n.kind = ANY (v_kinds) ORDER BY n.id DESC LIMIT v_limit) h
      JOIN paceline.kind k ON k.id = h.kind
      JOIN paceline.pool p ON p.id = k.pool
      LEFT JOIN paceline.incarnation i ON i.id = h.incarnation
      LEFT JOIN paceline.runner r ON r.id = i.runner
     ORDER BY h.id DESC;
END $$;

-- The taints of a Runner, with where each comes from; those of its group come from `group`.
CREATE FUNCTION paceline.list_taints(p_runner bigint)
RETURNS TABLE (source text, key text, value text, effect text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_pools constant integer[] := paceline.readable(NULL);
    v_runner paceline.runner;
BEGIN
    SELECT r.* INTO v_runner FROM paceline.runner r JOIN paceline.runner_group g ON g.id = r.grp
     WHERE r.id = p_runner AND g.pool = ANY (v_pools);
    RETURN QUERY
    SELECT t.source, t.key, t.value, t.effect FROM paceline.runner_taint t WHERE t.runner = v_runner.id
    UNION ALL
    SELECT 'group', t.key, t.value, t.effect FROM paceline.group_taint t WHERE t.grp = v_runner.grp AND NOT v_runner.external
     ORDER BY 1, 2, 4;
END $$;
