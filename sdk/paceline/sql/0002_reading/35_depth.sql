-- How deep pools are. Every count ends at p_most: the cost has a bound, whatever the queue holds. OFFSET 0: an index is
-- probed for each lane, row by row until there are enough; a join in one go would first read all of it. The functions
-- return tables so that they become part of the statement that uses them and are planned with it, once.

-- Ready jobs of some lanes; from the low-water mark on, behind the dead entries of the index.
CREATE FUNCTION paceline.count_ready(p_lanes integer[], p_most bigint) RETURNS TABLE (jobs bigint)
LANGUAGE sql STABLE AS $$
    SELECT count(*) FROM (
        SELECT FROM unnest(p_lanes) l (id)
         CROSS JOIN LATERAL (SELECT x.* FROM paceline.band x WHERE x.lane = l.id OFFSET 0) b
         CROSS JOIN LATERAL (
            SELECT FROM paceline.job j
             WHERE j.state = 'r' AND j.lane = b.lane AND j.priority = b.priority AND j.seq >= b.low OFFSET 0) one
         LIMIT p_most) few
$$;

-- When the oldest ready job of some lanes became ready: the heads of their bands, never a scan.
CREATE FUNCTION paceline.oldest_ready(p_lanes integer[]) RETURNS TABLE (ready_at timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT min(head.ready_at) FROM unnest(p_lanes) l (id)
     CROSS JOIN LATERAL (SELECT x.* FROM paceline.band x WHERE x.lane = l.id OFFSET 0) b
     CROSS JOIN LATERAL (
        SELECT j.ready_at FROM paceline.job j
         WHERE j.state = 'r' AND j.lane = b.lane AND j.priority = b.priority AND j.seq >= b.low
         ORDER BY j.seq LIMIT 1) head
$$;

-- The states come from an array: with a constant the planner could take job_scheduled, which knows no lanes.
CREATE FUNCTION paceline.count_waiting(p_lanes integer[], p_most bigint) RETURNS TABLE (scheduled bigint, blocked bigint)
LANGUAGE sql STABLE AS $$
    SELECT max(n.jobs) FILTER (WHERE w.state = 's'), max(n.jobs) FILTER (WHERE w.state = 'b')
      FROM unnest('{s,b}'::"char"[]) w (state)
     CROSS JOIN LATERAL (
        SELECT count(*) AS jobs FROM (
            SELECT FROM unnest(p_lanes) l (id)
             CROSS JOIN LATERAL (
                SELECT FROM paceline.job j WHERE j.lane = l.id AND j.state = w.state AND j.state IN ('s', 'b') OFFSET 0) one
             LIMIT p_most) few) n
$$;

CREATE FUNCTION paceline.count_dead(p_pool integer, p_most bigint) RETURNS TABLE (jobs bigint)
LANGUAGE sql STABLE AS $$
    SELECT count(*) FROM (
        SELECT FROM (SELECT k.id FROM paceline.kind k WHERE k.pool = p_pool OFFSET 0) k
         CROSS JOIN LATERAL (SELECT FROM paceline.dead d WHERE d.kind = k.id OFFSET 0) one
         LIMIT p_most) few
$$;

-- What is not any group's own. p_served: the lanes that somebody could claim from.
CREATE FUNCTION paceline.pool_depth(p_pools integer[], p_served integer[], p_most bigint)
RETURNS TABLE (pool integer, lanes integer[], scheduled bigint, blocked bigint, unclaimable bigint, dead bigint)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT p.id, l.lanes, w.scheduled, w.blocked, u.jobs, d.jobs
      FROM unnest(p_pools) p (id)
      LEFT JOIN (
        SELECT l.pool, array_agg(l.id) AS lanes, array_agg(l.id) FILTER (WHERE s.lane IS NULL) AS unserved
          FROM paceline.lane l LEFT JOIN (SELECT DISTINCT x AS lane FROM unnest(p_served) x) s ON s.lane = l.id
         WHERE l.pool = ANY (p_pools) GROUP BY l.pool) l ON l.pool = p.id
     CROSS JOIN LATERAL paceline.count_waiting(l.lanes, p_most) w
     CROSS JOIN LATERAL paceline.count_ready(l.unserved, p_most) u
     CROSS JOIN LATERAL paceline.count_dead(p.id, p_most) d;
END $$;
