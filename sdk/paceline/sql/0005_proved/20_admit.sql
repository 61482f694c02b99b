-- Make blocked jobs of these keys ready, as far as their limits allow. As before, but for OFFSET 0: each of a key's few lanes
-- is looked up by its id. Joined in one go, all lanes of the database were read for each key (28,850 rows in an ack of 50).
-- A job that somebody else has, who cancels it, is passed by: housekeeping waits for nobody, and his transaction may be long.
CREATE OR REPLACE FUNCTION paceline.admit(p_keys bigint[]) RETURNS integer[]
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_room integer;
    v_pools integer[] := '{}';
    v_ids bigint[];
    v_seqs bigint[];
    k paceline.key;
BEGIN
    PERFORM pg_current_xact_id();
    FOR k IN SELECT x.* FROM paceline.key x WHERE x.id = ANY (p_keys) ORDER BY x.id FOR NO KEY UPDATE LOOP
        SELECT least(coalesce(k.max_running - count(*), 2147483647),
                     CASE WHEN k.rate IS NOT NULL
                          THEN floor(paceline.available(k.rate, k.burst, k.permits, k.refilled))::integer
                               - count(*) FILTER (WHERE j.state = 'r') END,
                     1000)
          INTO v_room FROM paceline.job j WHERE j.key = k.id AND j.state IN ('r', 'x');
        CONTINUE WHEN v_room <= 0;
        WITH RECURSIVE lanes AS (   -- the few lanes that this key has blocked jobs in, by one index probe each
            (SELECT j.lane FROM paceline.job j WHERE j.state = 'b' AND j.key = k.id ORDER BY j.lane LIMIT 1)
            UNION ALL
            SELECT (SELECT j.lane FROM paceline.job j WHERE j.state = 'b' AND j.key = k.id AND j.lane > lanes.lane
                     ORDER BY j.lane LIMIT 1)
              FROM lanes WHERE lanes.lane IS NOT NULL
        ), next AS (   -- lanes that a live runner serves come first: others would hold the permit for nothing
            SELECT h.id FROM lanes
            CROSS JOIN LATERAL (SELECT x.id, x.served FROM paceline.lane x WHERE x.id = lanes.lane OFFSET 0) l
            CROSS JOIN LATERAL (
                SELECT j.id, j.priority, j.seq FROM paceline.job j
                 WHERE j.state = 'b' AND j.key = k.id AND j.lane = l.id ORDER BY j.priority DESC, j.seq LIMIT v_room
                   FOR UPDATE SKIP LOCKED) h
            ORDER BY l.served DESC, h.priority DESC, h.seq LIMIT v_room)
        SELECT array_agg(next.id), array_agg(nextval('paceline.seq')) INTO v_ids, v_seqs FROM next;
        UPDATE paceline.job j SET state = 'r', seq = v_seqs[array_position(v_ids, j.id)], ready_at = v_now
         WHERE j.id = ANY (v_ids) AND j.state = 'b';
        IF FOUND THEN
            v_pools := v_pools || k.pool;
        END IF;
    END LOOP;
    RETURN v_pools;
END $$;
