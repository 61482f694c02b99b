-- How a job leaves the live table: into history or into the dead letters, in the same statement, so that it is always
-- in exactly one of the three.

-- History has partitions by day. Where today's is missing, the row waits in a plain table: an ack never fails for it.
CREATE FUNCTION paceline.has_partition() RETURNS boolean
LANGUAGE sql STABLE AS $$ SELECT clock_timestamp() < t.history_until FROM paceline.tick t $$;

CREATE FUNCTION paceline.finish(p_jobs bigint[], p_outcome "char") RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE v_rows paceline.job[]; v_keys bigint[];
BEGIN
    WITH gone AS (DELETE FROM paceline.job j WHERE j.id = ANY (p_jobs) RETURNING j)
    SELECT array_agg(gone.j) INTO v_rows FROM gone;
    EXECUTE format($sql$
        INSERT INTO paceline.%I (id, enqueued_at, claimed_at, fence, incarnation, lane, kind, priority, tries, losses, outcome)
        SELECT r.id, r.enqueued_at, r.claimed_at, r.fence, r.incarnation, r.lane, r.kind, r.priority, r.tries, r.losses, $2
          FROM unnest($1) r$sql$,
        CASE WHEN paceline.has_partition() THEN 'history' ELSE 'history_late' END) USING v_rows, p_outcome;
    SELECT array_agg(DISTINCT r.key) FILTER (WHERE r.key IS NOT NULL) INTO v_keys FROM unnest(v_rows) r;
    INSERT INTO paceline.knock (key) SELECT k FROM unnest(v_keys) k;   -- their permits are free
    RETURN (SELECT array_agg(r.id) FROM unnest(v_rows) r);
END $$;

CREATE FUNCTION paceline.bury(p_jobs bigint[], p_cause text, p_error text, p_tries integer, p_losses integer) RETURNS void
LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM paceline.job j WHERE j.id = ANY (p_jobs) RETURNING j.*),
    dead AS (
        INSERT INTO paceline.dead (id, cause, error, enqueued_at, lane, kind, key, priority, tries, losses, max_tries,
                                   max_losses, timeout_ms, fence, dedupe, trace, payload)
        SELECT g.id, p_cause, p_error, g.enqueued_at, g.lane, g.kind, g.key, g.priority, g.tries + p_tries,
               g.losses + p_losses, g.max_tries, g.max_losses, g.timeout_ms, g.fence, g.dedupe, g.trace, g.payload
          FROM gone g)
    INSERT INTO paceline.knock (key) SELECT DISTINCT g.key FROM gone g WHERE g.key IS NOT NULL
$$;

-- What became of attempts that did not simply succeed, or that left output.
CREATE FUNCTION paceline.note_attempts(p_jobs bigint[], p_outcome "char", p_cause text, p_errors text[], p_outputs text[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_place text := CASE WHEN paceline.has_partition() THEN 'attempt' ELSE 'attempt_late' END;
BEGIN
    EXECUTE format($sql$
        INSERT INTO paceline.%I (job, fence, started_at, incarnation, runner, revision, outcome, cause, error, output)
        SELECT j.id, j.fence, j.claimed_at, j.incarnation, r.name, i.revision, $2, $3,
               ($4)[array_position($1, j.id)], right(($5)[array_position($1, j.id)], 65536)
          FROM paceline.job j
          LEFT JOIN paceline.incarnation i ON i.id = j.incarnation
          LEFT JOIN paceline.runner r ON r.id = i.runner
         WHERE j.id = ANY ($1)$sql$, v_place) USING p_jobs, p_outcome, p_cause, p_errors, p_outputs;
END $$;
