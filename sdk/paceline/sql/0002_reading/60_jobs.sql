-- One job, wherever it is. A job of a pool that the login may not read is like one that does not exist.

CREATE FUNCTION paceline.outcome_word(p_outcome "char") RETURNS text
LANGUAGE sql IMMUTABLE AS $$ SELECT CASE p_outcome WHEN 'd' THEN 'done' WHEN 'c' THEN 'cancelled' WHEN 'e' THEN 'expired' END $$;

CREATE FUNCTION paceline.job_detail(p_id bigint)
RETURNS TABLE (
    id bigint, pool text, kind text, state text, priority smallint, tags text[], tolerations text[], key text, dedupe text,
    enqueued_at timestamptz, run_at timestamptz, ready_at timestamptz, claimed_at timestamptz, expires_at timestamptz,
    finished_at timestamptz, tries smallint, max_tries smallint, losses smallint, max_losses smallint, timeout_ms integer,
    deadline timestamptz, fence bigint, runner text, cancelling boolean, progress jsonb, payload jsonb, result jsonb, cause text, error text, trace text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_pools constant integer[] := paceline.readable(NULL);
BEGIN
    RETURN QUERY   -- one statement: a job that is just being finished is in one of the places, not in two or none
    WITH found AS (
        SELECT j.id, j.kind, j.lane, j.key, paceline.state_word(j.state) AS state, j.priority, j.dedupe, j.enqueued_at,
               j.run_at, j.ready_at, j.claimed_at, j.expires_at, NULL::timestamptz AS finished_at, j.tries, j.max_tries,
               j.losses, j.max_losses, j.timeout_ms,
               CASE WHEN j.state = 'x' THEN coalesce(j.deadline, j.claimed_at + make_interval(secs => j.timeout_ms / 1000.0)) END
                   AS deadline,
               j.fence, j.incarnation, j.cancel, j.progress, j.payload,
               NULL::jsonb AS result, NULL::text AS cause, NULL::text AS error, j.trace
          FROM paceline.job j WHERE j.id = p_id
        UNION ALL
        SELECT h.id, h.kind, h.lane, NULL, paceline.outcome_word(h.outcome), h.priority, NULL, h.enqueued_at,
               NULL, NULL, h.claimed_at, NULL, h.finished_at, h.tries, NULL, h.losses, NULL, NULL, NULL, h.fence, h.incarnation,
               false, NULL, NULL, h.result, NULL, NULL, NULL
          FROM (SELECT * FROM paceline.history UNION ALL SELECT * FROM paceline.history_late) h WHERE h.id = p_id
        UNION ALL
        SELECT d.id, d.kind, d.lane, d.key, 'dead', d.priority, d.dedupe, d.enqueued_at,
               NULL, NULL, NULL, NULL, d.died_at, d.tries, d.max_tries, d.losses, d.max_losses, d.timeout_ms, NULL, d.fence, NULL,
               false, NULL, d.payload, NULL, d.cause, d.error, d.trace
          FROM paceline.dead d WHERE d.id = p_id
    )
    SELECT f.id, p.name, k.name, f.state, f.priority, l.tags, l.tolerations, c.name, f.dedupe, f.enqueued_at,
           f.run_at, f.ready_at, coalesce(f.claimed_at, a.started_at), f.expires_at, f.finished_at,
           f.tries, f.max_tries, f.losses, f.max_losses, f.timeout_ms, f.deadline, f.fence, coalesce(r.name, a.runner), f.cancel,
           f.progress, f.payload, f.result, f.cause, f.error, f.trace
      FROM found f
      JOIN paceline.kind k ON k.id = f.kind
      JOIN paceline.pool p ON p.id = k.pool
      LEFT JOIN paceline.lane l ON l.id = f.lane   -- history outlives lanes
      LEFT JOIN paceline.key c ON c.id = f.key
      LEFT JOIN paceline.incarnation i ON i.id = f.incarnation
      LEFT JOIN paceline.runner r ON r.id = i.runner
      LEFT JOIN LATERAL (   -- who had it when it ended, if the row itself does not know
        SELECT x.runner, x.started_at FROM (SELECT * FROM paceline.attempt UNION ALL SELECT * FROM paceline.attempt_late) x
         WHERE x.job = f.id AND x.fence = f.fence AND f.finished_at IS NOT NULL ORDER BY x.ended_at DESC LIMIT 1) a ON true
     WHERE k.pool = ANY (v_pools);
END $$;

-- The attempts that are on record (those that failed, were lost or handed back, or left output), newest first.
CREATE FUNCTION paceline.job_attempts(p_id bigint)
RETURNS TABLE (
    fence bigint, started_at timestamptz, ended_at timestamptz, runner text, revision text, outcome text, cause text,
    error text, output text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF NOT EXISTS (SELECT FROM paceline.job_detail(p_id)) THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT a.fence, a.started_at, a.ended_at, a.runner, a.revision,
           CASE a.outcome WHEN 'd' THEN 'done' WHEN 'f' THEN 'failed' WHEN 'l' THEN 'lost' WHEN 'h' THEN 'handed_back'
                          WHEN 'c' THEN 'cancelled' END,
           a.cause, a.error, a.output
      FROM (SELECT * FROM paceline.attempt UNION ALL SELECT * FROM paceline.attempt_late) a
     WHERE a.job = p_id ORDER BY a.ended_at DESC, a.fence DESC;
END $$;

-- What became of those of the jobs that have ended.
CREATE FUNCTION paceline.outcome(p_ids bigint[])
RETURNS TABLE (id bigint, state text, finished_at timestamptz, result jsonb, cause text, error text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_pools constant integer[] := paceline.readable(NULL);
BEGIN
    RETURN QUERY
    SELECT f.id, f.state, f.finished_at, f.result, f.cause, f.error FROM (
        SELECT h.id, h.kind, paceline.outcome_word(h.outcome) AS state, h.finished_at, h.result, NULL::text AS cause,
               NULL::text AS error
          FROM paceline.history h WHERE h.id = ANY (p_ids)
        UNION ALL
        SELECT h.id, h.kind, paceline.outcome_word(h.outcome), h.finished_at, h.result, NULL, NULL
          FROM paceline.history_late h WHERE h.id = ANY (p_ids)
        UNION ALL
        SELECT d.id, d.kind, 'dead', d.died_at, NULL, d.cause, d.error FROM paceline.dead d WHERE d.id = ANY (p_ids)) f
      JOIN paceline.kind k ON k.id = f.kind
     WHERE k.pool = ANY (v_pools);
END $$;
