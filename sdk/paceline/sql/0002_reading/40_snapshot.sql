-- What scaling needs, for all groups in one call.
--
-- ready, running, oldest_seconds, service_seconds and arrival_rate are the group's; the other counts are its pool's.
-- Two Shared groups on one pool both report a lane that both could serve: to split it is the planner's business.
-- arrival_rate: jobs that became ready, from the attempts that ended and by how much the backlog grew; a retry arrives
-- again. It and service_seconds are NULL as long as nothing is known.

-- What one look at a group found, between the parts of a snapshot. `sure`: finished so long ago that its commit was seen.
CREATE TYPE paceline.seen_group AS (
    grp integer, lanes integer[], ready bigint, running bigint, backlog bigint, oldest timestamptz, sampled_at timestamptz,
    done bigint, busy_ms bigint, sure_done bigint, sure_busy_ms bigint);

CREATE FUNCTION paceline.look_at_groups(p_pools integer[], p_most bigint, p_now timestamptz) RETURNS paceline.seen_group[]
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_oldest constant timestamptz := p_now - interval '5 minutes';   -- flow is read from the last sample on, or this
    v_sure constant timestamptz := p_now - interval '200 milliseconds';   -- a step commits some time after its flow's `at`
BEGIN
    RETURN (
        WITH groups AS MATERIALIZED (
            SELECT g.id, g.pool, l.lanes, s.at, coalesce(s.done, 0) AS done, coalesce(s.busy_ms, 0) AS busy_ms,
                   greatest(s.at - interval '200 milliseconds', v_oldest) AS since
              FROM paceline.runner_group g
              LEFT JOIN paceline.servable(p_pools) l ON l.grp = g.id
              LEFT JOIN LATERAL (SELECT s.* FROM paceline.sample s WHERE s.grp = g.id ORDER BY s.at DESC LIMIT 1) s ON true
             WHERE g.pool = ANY (p_pools)
        ), held AS MATERIALIZED (   -- never more than there are slots
            SELECT r.grp, j.lane, count(*) AS n
              FROM paceline.incarnation i JOIN paceline.runner r ON r.id = i.runner
              JOIN paceline.job j ON j.incarnation = i.id AND j.state = 'x'
             WHERE i.state <> 'z' AND i.pool = ANY (p_pools) GROUP BY r.grp, j.lane
        ), ours AS (
            SELECT h.grp, sum(h.n) AS n FROM held h GROUP BY h.grp
        ), on_lanes AS (   -- whichever group of the pool has them
            SELECT g.id, sum(h.n) AS n FROM (SELECT o.id, unnest(o.lanes) AS lane FROM groups o) g
              JOIN held h ON h.lane = g.lane GROUP BY g.id
        ), lately AS (
            SELECT g.id, sum(f.done) AS done, sum(f.busy_ms) AS busy_ms,
                   sum(f.done) FILTER (WHERE f.at <= v_sure) AS sure_done,
                   sum(f.busy_ms) FILTER (WHERE f.at <= v_sure) AS sure_busy_ms
              FROM paceline.flow f
              JOIN (SELECT o.id, o.since, unnest(o.lanes) AS lane FROM groups o) g ON g.lane = f.lane AND f.at > g.since
             WHERE f.at > (SELECT min(o.since) FROM groups o) GROUP BY g.id
        )
        SELECT array_agg(ROW(
                g.id, g.lanes, n.jobs, coalesce(h.n, 0), CASE WHEN n.jobs < p_most THEN n.jobs + coalesce(o.n, 0) END, a.ready_at, g.at,
                g.done + coalesce(f.done, 0), g.busy_ms + coalesce(f.busy_ms, 0),
                g.done + coalesce(f.sure_done, 0), g.busy_ms + coalesce(f.sure_busy_ms, 0))::paceline.seen_group)
          FROM groups g
         CROSS JOIN LATERAL paceline.count_ready(g.lanes, p_most) n
         CROSS JOIN LATERAL paceline.oldest_ready(g.lanes) a
          LEFT JOIN ours h ON h.grp = g.id
          LEFT JOIN on_lanes o ON o.id = g.id
          LEFT JOIN lately f ON f.id = g.id);
END $$;

CREATE FUNCTION paceline.keep_samples(p_seen paceline.seen_group[], p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO paceline.sample (grp, at, done, busy_ms, backlog)
    SELECT s.grp, p_now, s.sure_done, s.sure_busy_ms, s.backlog
      FROM unnest(p_seen) s WHERE s.sampled_at IS NULL OR s.sampled_at <= p_now - interval '1 second'
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        DELETE FROM paceline.sample s WHERE s.at < p_now - interval '1 hour';
    END IF;
END $$;

CREATE FUNCTION paceline.snapshot(p_cap bigint DEFAULT 10000)
RETURNS TABLE (
    id integer, install text, namespace text, name text, pool text, dispatch text, paused boolean,
    ready bigint, running bigint, scheduled bigint, blocked bigint, unclaimable bigint, dead bigint, capped boolean,
    oldest_seconds float8, service_seconds float8, arrival_rate float8, leader text, epoch bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
-- planning takes longer than running, so it is done once for each connection; and for tables of any size
SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_memoize = off AS $$
#variable_conflict use_column
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_minute constant timestamptz := v_now - interval '1 minute';        -- the window of arrivals
    v_oldest constant timestamptz := v_now - interval '5 minutes';       -- the window of service times
    v_most constant bigint := p_cap + 1;   -- one more than is told, to know whether there are more
    v_pools constant integer[] := paceline.visible(NULL, 'operator', 'gateway');
    v_seen constant paceline.seen_group[] := paceline.look_at_groups(v_pools, v_most, v_now);
BEGIN
    RETURN QUERY
    SELECT g.id, g.install, g.namespace, g.name, p.name, CASE WHEN g.leader THEN 'Leader' ELSE 'Shared' END,
           p.paused OR g.paused, least(s.ready, p_cap), least(s.running, p_cap), least(d.scheduled, p_cap),
           least(d.blocked, p_cap), least(d.unclaimable, p_cap), least(d.dead, p_cap),
           greatest(s.ready, s.running, d.scheduled, d.blocked, d.unclaimable, d.dead) > p_cap,
           CASE WHEN s.oldest IS NOT NULL THEN greatest(0, extract(epoch FROM v_now - s.oldest))::float8 END,
           (s.busy_ms - coalesce(m.busy_ms, 0)) / nullif(s.done - coalesce(m.done, 0), 0)::float8 / 1000,
           greatest(0, s.done - w.done + coalesce(s.backlog - w.backlog, 0)) / extract(epoch FROM v_now - w.at)::float8,
           r.name, e.epoch
      FROM unnest(v_seen) s
      JOIN paceline.runner_group g ON g.id = s.grp
      JOIN paceline.pool p ON p.id = g.pool
      JOIN paceline.pool_depth(v_pools, ARRAY(SELECT unnest(o.lanes) FROM unnest(v_seen) o), v_most) d ON d.pool = g.pool
      LEFT JOIN paceline.leader e ON e.grp = g.id
      LEFT JOIN paceline.runner r ON r.id = e.runner AND e.incarnation IS NOT NULL
      LEFT JOIN LATERAL (SELECT o.* FROM paceline.sample o WHERE o.grp = s.grp AND o.at <= v_oldest
                          ORDER BY o.at DESC LIMIT 1) m ON true
      LEFT JOIN LATERAL (   -- the youngest that is as old as the window; as long as there is none, the oldest
        (SELECT o.* FROM paceline.sample o WHERE o.grp = s.grp AND o.at <= v_minute AND o.at > v_oldest
          ORDER BY o.at DESC LIMIT 1)
        UNION ALL
        (SELECT o.* FROM paceline.sample o WHERE o.grp = s.grp AND o.at > v_minute AND o.at <= v_now - interval '1 second'
          ORDER BY o.at LIMIT 1)
        LIMIT 1) w ON true
     ORDER BY g.install, g.namespace, g.name;
    IF current_setting('transaction_read_only') = 'off' THEN   -- a replica may be asked too
        PERFORM paceline.keep_samples(v_seen, v_now);
    END IF;
END $$;
