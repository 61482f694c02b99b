-- How pools stand now. Every count ends at p_most. `slots` are those of active runners; `desired` is the sum of what was last
-- decided about each group, `reason` and `limited_by` are of the latest of these decisions.
CREATE FUNCTION paceline.look_at_pools(p_pools integer[], p_most bigint)
RETURNS TABLE (
    pool integer, ready bigint, scheduled bigint, blocked bigint, running bigint, unclaimable bigint, dead bigint,
    oldest timestamptz, busy bigint, idle bigint, draining bigint, slots bigint, desired bigint, reason text, limited_by text)
LANGUAGE plpgsql STABLE
SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_memoize = off AS $$
#variable_conflict use_column
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_served constant integer[] := ARRAY(SELECT unnest(s.lanes) FROM paceline.servable(p_pools) s);
BEGIN
    RETURN QUERY
    WITH live AS MATERIALIZED (
        SELECT i.pool, i.state, i.slots,
               (SELECT count(*) FROM paceline.job j WHERE j.incarnation = i.id AND j.state = 'x') AS held
          FROM paceline.incarnation i WHERE i.state <> 'z' AND i.lease_until > v_now AND i.pool = ANY (p_pools)
    ), crew AS (
        SELECT l.pool, sum(l.held)::bigint AS running,
               count(*) FILTER (WHERE l.state = 'a' AND l.held > 0) AS busy,
               count(*) FILTER (WHERE l.state = 'a' AND l.held = 0) AS idle,
               count(*) FILTER (WHERE l.state = 'd') AS draining,
               sum(l.slots) FILTER (WHERE l.state = 'a') AS slots
          FROM live l GROUP BY l.pool
    ), sizes AS (
        SELECT g.pool, sum(d.replicas)::bigint AS desired, (array_agg(d.reason ORDER BY d.at DESC))[1] AS reason,
               (array_agg(d.limited_by ORDER BY d.at DESC))[1] AS limited_by
          FROM paceline.runner_group g
         CROSS JOIN LATERAL (SELECT x.* FROM paceline.decision x WHERE x.grp = g.id ORDER BY x.at DESC LIMIT 1) d
         WHERE g.pool = ANY (p_pools) GROUP BY g.pool
    )
    SELECT d.pool, n.jobs, d.scheduled, d.blocked, coalesce(c.running, 0), d.unclaimable, d.dead, a.ready_at,
           coalesce(c.busy, 0), coalesce(c.idle, 0), coalesce(c.draining, 0), coalesce(c.slots, 0), s.desired, s.reason,
           s.limited_by
      FROM paceline.pool_depth(p_pools, v_served, p_most) d
     CROSS JOIN LATERAL paceline.count_ready(d.lanes, p_most) n
     CROSS JOIN LATERAL paceline.oldest_ready(d.lanes) a
      LEFT JOIN crew c ON c.pool = d.pool
      LEFT JOIN sizes s ON s.pool = d.pool;
END $$;
