-- Whose attempts ended, and how many of them failed: a new revision is judged by that. The row is written anyway.
ALTER TABLE paceline.flow ADD COLUMN incarnation bigint, ADD COLUMN failed integer NOT NULL DEFAULT 0;

-- Attempts that failed: again later, or dead. p_retry_in NULL means never again. As before, but for flow.
CREATE OR REPLACE FUNCTION paceline.fail(
    p_incarnation bigint, p_ids bigint[], p_fences bigint[], p_errors text[], p_retry_in float8[],
    p_cause text DEFAULT 'Failed', p_outputs text[] DEFAULT NULL
) RETURNS bigint[]   -- refused
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz;
    v_mine bigint[];
    v_keys bigint[];
    v_dead bigint[];
    v_cancelled bigint[];
    v_rows paceline.job[];
    v_id bigint;
BEGIN
    PERFORM pg_current_xact_id();
    v_now := clock_timestamp();
    PERFORM paceline.own(p_incarnation);
    PERFORM FROM paceline.incarnation i WHERE i.id = p_incarnation FOR KEY SHARE;
    SELECT array_agg(x.id), array_agg(DISTINCT x.key) FILTER (WHERE x.key IS NOT NULL),
           array_agg(x.id) FILTER (WHERE x.cancel),
           array_agg(x.id) FILTER (WHERE NOT x.cancel AND (x.tries + 1 >= x.max_tries
                                                           OR p_retry_in[array_position(p_ids, x.id)] IS NULL)),
           array_agg(x)
      INTO v_mine, v_keys, v_cancelled, v_dead, v_rows
      FROM (SELECT j.* FROM paceline.job j
             WHERE j.id = ANY (p_ids) AND j.incarnation = p_incarnation AND j.fence = p_fences[array_position(p_ids, j.id)]
             ORDER BY j.id FOR UPDATE) x;
    PERFORM paceline.note_attempts(ARRAY(SELECT i FROM unnest(p_ids) i WHERE i = ANY (v_mine)), 'f', p_cause,
                                   ARRAY(SELECT e FROM unnest(p_ids, p_errors) g (i, e) WHERE i = ANY (v_mine)),
                                   ARRAY(SELECT o FROM unnest(p_ids, p_outputs) g (i, o) WHERE i = ANY (v_mine)));
    PERFORM paceline.finish(v_cancelled, 'c');
    FOREACH v_id IN ARRAY coalesce(v_dead, '{}') LOOP
        PERFORM paceline.bury(ARRAY[v_id], p_cause, p_errors[array_position(p_ids, v_id)], 1, 0);
    END LOOP;
    INSERT INTO paceline.flow (at, lane, done, busy_ms, incarnation, failed)
    SELECT v_now, x.lane, 1, extract(epoch FROM v_now - x.claimed_at) * 1000, p_incarnation, 1 FROM unnest(v_rows) x;
    UPDATE paceline.job j
       SET state = 's', incarnation = NULL, claimed_at = NULL, ready_at = NULL, tries = j.tries + 1,
           run_at = v_now + make_interval(secs => greatest(0, p_retry_in[array_position(p_ids, j.id)]))
     WHERE j.id = ANY (v_mine);
    PERFORM paceline.wake(paceline.admit(v_keys)) WHERE v_keys IS NOT NULL;
    RETURN paceline.refused(p_ids, v_mine);
END $$;
