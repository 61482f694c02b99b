-- Live jobs. p_before: the id of the last row of the page before. As before, but for those that wait: a page of them is
-- looked up lane by lane. Backwards by id, a pool in which nothing waits read every job of the database (100,000).
CREATE OR REPLACE FUNCTION paceline.list_jobs(p_pool text DEFAULT NULL, p_state text DEFAULT NULL, p_kind text DEFAULT NULL,
                                              p_before bigint DEFAULT NULL, p_limit integer DEFAULT 100)
RETURNS TABLE (
    id bigint, pool text, kind text, state text, priority smallint, tags text[], tolerations text[], key text, dedupe text,
    enqueued_at timestamptz, ready_at timestamptz, run_at timestamptz, claimed_at timestamptz, expires_at timestamptz,
    tries smallint, max_tries smallint, losses smallint, max_losses smallint, runner text, cancelling boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET jit = off SET plan_cache_mode = force_custom_plan AS $$   -- the best plan depends on how full the pool is
#variable_conflict use_column
DECLARE
    v_pools constant integer[] := paceline.readable(p_pool);
    v_before constant bigint := coalesce(p_before, 9223372036854775807);
    v_limit constant integer := paceline.page(p_limit);
    v_lanes constant integer[] := ARRAY(
        SELECT l.id FROM paceline.lane l JOIN paceline.kind k ON k.id = l.kind
         WHERE l.pool = ANY (v_pools) AND (p_kind IS NULL OR k.name = p_kind));
BEGIN
    IF p_state NOT IN ('scheduled', 'blocked', 'ready', 'running') THEN
        RAISE EXCEPTION 'state "%" is not one of a live job', p_state
            USING ERRCODE = 'PL002', HINT = 'use scheduled, blocked, ready or running';
    END IF;
    RETURN QUERY
    WITH found AS (   -- running ones by their incarnations, waiting ones by their lanes, ready ones as the planner finds
        (SELECT j.id FROM paceline.job j
          WHERE j.state = 'r' AND j.lane = ANY (v_lanes) AND j.id < v_before AND coalesce(p_state, 'ready') = 'ready'
          ORDER BY j.id DESC LIMIT v_limit)
        UNION ALL
        (SELECT o.id FROM unnest(v_lanes) l (id)
          CROSS JOIN unnest(CASE coalesce(p_state, '') WHEN '' THEN '{s,b}' WHEN 'scheduled' THEN '{s}' WHEN 'blocked' THEN '{b}'
                            ELSE '{}' END::"char"[]) w (state)
          CROSS JOIN LATERAL (
            SELECT j.id FROM paceline.job j
             WHERE j.lane = l.id AND j.state = w.state AND j.state IN ('s', 'b') AND j.id < v_before
             ORDER BY j.id DESC LIMIT v_limit) o
          ORDER BY o.id DESC LIMIT v_limit)
        UNION ALL
        (SELECT j.id FROM paceline.incarnation i JOIN paceline.job j ON j.incarnation = i.id AND j.state = 'x'
          WHERE i.state <> 'z' AND i.pool = ANY (v_pools) AND j.lane = ANY (v_lanes) AND j.id < v_before
            AND coalesce(p_state, 'running') = 'running'
          ORDER BY j.id DESC LIMIT v_limit)
    )
    SELECT j.id, p.name, k.name, paceline.state_word(j.state), j.priority, l.tags, l.tolerations, c.name, j.dedupe,
           j.enqueued_at, j.ready_at, j.run_at, j.claimed_at, j.expires_at,
           j.tries, j.max_tries, j.losses, j.max_losses, r.name, j.cancel
      FROM paceline.job j
      JOIN paceline.kind k ON k.id = j.kind
      JOIN paceline.pool p ON p.id = k.pool
      JOIN paceline.lane l ON l.id = j.lane
      LEFT JOIN paceline.key c ON c.id = j.key
      LEFT JOIN paceline.incarnation i ON i.id = j.incarnation
      LEFT JOIN paceline.runner r ON r.id = i.runner
     WHERE j.id = ANY (ARRAY(SELECT f.id FROM found f ORDER BY f.id DESC LIMIT v_limit))
     ORDER BY j.id DESC;
END $$;
