-- What a run says while it goes on. A row for each time, so that a line costs a line and not the whole; `till` counts the
-- characters so far, and rows that are wholly before the last 64 Ki go. It becomes the output of the attempt, where that ends
-- without one of its own.
CREATE TABLE paceline.live_output (
    job   bigint NOT NULL,
    fence bigint NOT NULL,
    till  bigint NOT NULL,
    text  text NOT NULL,
    PRIMARY KEY (job, fence, till)
);

-- NULL: nothing.
CREATE FUNCTION paceline.output_so_far(p_job bigint, p_fence bigint) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT right(string_agg(o.text, '' ORDER BY o.till), 65536) FROM paceline.live_output o
     WHERE o.job = p_job AND o.fence = p_fence
$$;

-- More of it; whether the run is still the incarnation's.
CREATE FUNCTION paceline.append_output(p_incarnation bigint, p_job bigint, p_fence bigint, p_text text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_till bigint;
BEGIN
    PERFORM paceline.confirm(p_incarnation, p_job, p_fence);
    IF paceline.mine(p_incarnation, ARRAY[p_job], ARRAY[p_fence]) IS NULL THEN
        RETURN false;
    END IF;
    IF p_text <> '' THEN
        INSERT INTO paceline.live_output AS o (job, fence, till, text)
        SELECT p_job, p_fence, coalesce(max(x.till), 0) + length(p_text), right(p_text, 65536)
          FROM paceline.live_output x WHERE x.job = p_job AND x.fence = p_fence
        RETURNING o.till INTO v_till;
        DELETE FROM paceline.live_output o WHERE o.job = p_job AND o.fence = p_fence AND o.till <= v_till - 65536;
    END IF;
    RETURN true;
END $$;

-- A run is done, in one call; whether that counts.
CREATE FUNCTION paceline.complete(p_incarnation bigint, p_job bigint, p_fence bigint, p_result jsonb, p_output text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_output text;
    v_refused bigint[];
BEGIN
    IF paceline.confirm(p_incarnation, p_job, p_fence) IS NULL THEN
        RETURN false;
    END IF;
    v_output := coalesce(p_output, paceline.output_so_far(p_job, p_fence));
    SELECT s.refused INTO v_refused FROM paceline.step(
        p_incarnation, 0, ARRAY[p_job], ARRAY[p_fence], CASE WHEN p_result IS NOT NULL THEN ARRAY[p_result] END,
        CASE WHEN v_output IS NOT NULL THEN ARRAY[v_output] END) s;
    DELETE FROM paceline.live_output o WHERE o.job = p_job;
    RETURN v_refused IS NULL;
END $$;

-- What became of attempts that did not simply succeed, or that left output; as before, but for what they said meanwhile.
CREATE OR REPLACE FUNCTION paceline.note_attempts(p_jobs bigint[], p_outcome "char", p_cause text, p_errors text[], p_outputs text[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_place text := CASE WHEN paceline.has_partition() THEN 'attempt' ELSE 'attempt_late' END;
BEGIN
    EXECUTE format($sql$
        INSERT INTO paceline.%I (job, fence, started_at, incarnation, runner, revision, outcome, cause, error, output)
        SELECT j.id, j.fence, j.claimed_at, j.incarnation, r.name, i.revision, $2, $3,
               ($4)[array_position($1, j.id)],
               coalesce(right(($5)[array_position($1, j.id)], 65536), paceline.output_so_far(j.id, j.fence))
          FROM paceline.job j
          LEFT JOIN paceline.incarnation i ON i.id = j.incarnation
          LEFT JOIN paceline.runner r ON r.id = i.runner
         WHERE j.id = ANY ($1)$sql$, v_place) USING p_jobs, p_outcome, p_cause, p_errors, p_outputs;
END $$;

-- The attempts that are on record, newest first; as before, but one that runs is on record too if it has said something.
CREATE OR REPLACE FUNCTION paceline.job_attempts(p_id bigint)
RETURNS TABLE (
    fence bigint, started_at timestamptz, ended_at timestamptz, runner text, revision text, outcome text, cause text,
    error text, output text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF NOT EXISTS (SELECT FROM paceline.job_detail(p_id)) THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM paceline.live_output o WHERE o.job = p_id) THEN
        RETURN QUERY
        SELECT j.fence, j.claimed_at, NULL::timestamptz, r.name, i.revision, 'running', NULL::text, NULL::text, o.text
          FROM paceline.job j CROSS JOIN LATERAL (SELECT paceline.output_so_far(j.id, j.fence) AS text) o
          LEFT JOIN paceline.incarnation i ON i.id = j.incarnation
          LEFT JOIN paceline.runner r ON r.id = i.runner
         WHERE j.id = p_id AND j.state = 'x' AND o.text IS NOT NULL;
    END IF;
    RETURN QUERY
    SELECT a.fence, a.started_at, a.ended_at, a.runner, a.revision,
           CASE a.outcome WHEN 'd' THEN 'done' WHEN 'f' THEN 'failed' WHEN 'l' THEN 'lost' WHEN 'h' THEN 'handed_back'
                          WHEN 'c' THEN 'cancelled' END,
           a.cause, a.error, a.output
      FROM (SELECT * FROM paceline.attempt UNION ALL SELECT * FROM paceline.attempt_late) a
     WHERE a.job = p_id ORDER BY a.ended_at DESC, a.fence DESC;
END $$;
