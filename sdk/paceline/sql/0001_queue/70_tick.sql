-- Housekeeping: whoever finds it due does it, at most ten times a second for the whole database, inside a call that is
-- made anyway. Nothing here waits for a lock: what somebody else holds is done by him or next time.

-- Leases that have ended; where somebody suspected why, with that cause.
CREATE FUNCTION paceline.sweep() RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE v_ids bigint[]; v_causes text[]; v_cause text; v_jobs integer := 0;
BEGIN
    SELECT array_agg(x.id), array_agg(coalesce(x.suspect, 'LeaseExpired')) INTO v_ids, v_causes FROM (
        SELECT i.id, i.suspect FROM paceline.incarnation i WHERE i.state <> 'z' AND i.lease_until <= clock_timestamp()
         ORDER BY i.id LIMIT 100 FOR UPDATE SKIP LOCKED) x;
    FOR v_cause IN SELECT DISTINCT c FROM unnest(v_causes) c LOOP
        v_jobs := v_jobs + paceline.end_incarnations(
            ARRAY(SELECT x.id FROM unnest(v_ids, v_causes) x (id, cause) WHERE x.cause = v_cause), v_cause, false);
    END LOOP;
    RETURN v_jobs;
END $$;

-- Scheduled jobs that the caller has locked become ready in this order, or knock if they have a key; their pools.
CREATE FUNCTION paceline.become_due(p_ids bigint[]) RETURNS integer[]
LANGUAGE plpgsql AS $$
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_seqs constant bigint[] := ARRAY(SELECT nextval('paceline.seq') FROM unnest(p_ids));
    v_pools integer[];
BEGIN
    WITH due AS (
        UPDATE paceline.job j
           SET state = CASE WHEN j.key IS NULL THEN 'r' ELSE 'b' END::"char", run_at = NULL,
               seq = v_seqs[array_position(p_ids, j.id)], ready_at = CASE WHEN j.key IS NULL THEN v_now END
         WHERE j.id = ANY (p_ids)
        RETURNING j.lane, j.key
    ), knocks AS (
        INSERT INTO paceline.knock (key) SELECT DISTINCT due.key FROM due WHERE due.key IS NOT NULL
    )
    SELECT array_agg(DISTINCT l.pool) INTO v_pools FROM due JOIN paceline.lane l ON l.id = due.lane;
    RETURN coalesce(v_pools, '{}');
END $$;

-- Jobs whose time has come: the one that was due first comes first.
CREATE FUNCTION paceline.release() RETURNS integer[]
LANGUAGE plpgsql AS $$
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_low constant timestamptz := (SELECT t.release_low FROM paceline.tick t);
BEGIN
    RETURN paceline.become_due(ARRAY(
        SELECT s.id FROM paceline.job s WHERE s.state = 's' AND s.run_at <= v_now AND s.run_at >= v_low
         ORDER BY s.run_at, s.id LIMIT 1000 FOR UPDATE SKIP LOCKED));
END $$;

CREATE FUNCTION paceline.expire() RETURNS bigint[]
LANGUAGE sql AS $$
    SELECT paceline.finish(ARRAY(
        SELECT j.id FROM paceline.job j WHERE j.expires_at IS NOT NULL AND j.state <> 'x' AND j.expires_at <= clock_timestamp()
         ORDER BY j.expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED), 'e')
$$;

-- Keys that knocked, and keys that only time opens.
CREATE FUNCTION paceline.admit_knocking() RETURNS integer[]
LANGUAGE plpgsql AS $$
DECLARE v_keys bigint[]; v_low constant bigint := (SELECT t.knock_low FROM paceline.tick t);
BEGIN
    WITH knocked AS (
        DELETE FROM paceline.knock k WHERE k.seq = ANY (ARRAY(
            SELECT o.seq FROM paceline.knock o WHERE o.seq >= v_low ORDER BY o.seq LIMIT 1000 FOR UPDATE SKIP LOCKED))
        RETURNING k.key)
    SELECT array_agg(DISTINCT knocked.key) INTO v_keys FROM knocked;
    v_keys := coalesce(v_keys, '{}') || ARRAY(
        SELECT k.id FROM paceline.key k WHERE k.rate IS NOT NULL
           AND EXISTS (SELECT FROM paceline.job j WHERE j.state = 'b' AND j.key = k.id) LIMIT 1000);
    -- only keys that nobody holds now; the others knock again
    INSERT INTO paceline.knock (key) SELECT k FROM unnest(v_keys) k
     WHERE k NOT IN (SELECT x.id FROM paceline.key x WHERE x.id = ANY (v_keys) FOR NO KEY UPDATE SKIP LOCKED)
       AND EXISTS (SELECT FROM paceline.key x WHERE x.id = k);
    RETURN paceline.admit(ARRAY(SELECT x.id FROM paceline.key x WHERE x.id = ANY (v_keys) FOR NO KEY UPDATE SKIP LOCKED));
END $$;

-- Which lanes a live runner serves now; a lane that somebody else has locked keeps its mark until next time. A runner
-- whose slots are all busy does not look at new lanes itself: that is done here, for some at a time.
CREATE FUNCTION paceline.review_lanes() RETURNS void
LANGUAGE sql AS $$
    SELECT paceline.refresh_lanes(ARRAY(
        SELECT i.id FROM paceline.incarnation i JOIN paceline.pool p ON p.id = i.pool
         WHERE i.state = 'a' AND i.lane_version <> p.lane_version LIMIT 100 FOR NO KEY UPDATE OF i SKIP LOCKED));
    WITH served AS (
        SELECT DISTINCT unnest(i.lanes || i.special) AS lane FROM paceline.incarnation i
         WHERE i.state = 'a' AND i.lease_until > clock_timestamp())
    UPDATE paceline.lane l SET served = NOT l.served
     WHERE l.id = ANY (ARRAY(
        SELECT x.id FROM paceline.lane x WHERE x.served <> (x.id IN (SELECT s.lane FROM served s))
           FOR NO KEY UPDATE SKIP LOCKED))
$$;

CREATE FUNCTION paceline.count_runners() RETURNS void
LANGUAGE sql AS $$
    WITH live AS (
        SELECT i.pool, count(*) AS runners FROM paceline.incarnation i
         WHERE i.state <> 'z' AND i.lease_until > clock_timestamp() GROUP BY i.pool
    ), changed AS MATERIALIZED (
        SELECT p.id FROM paceline.pool p WHERE p.runners <> coalesce((SELECT l.runners FROM live l WHERE l.pool = p.id), 0)
           FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE paceline.pool p SET runners = coalesce((SELECT l.runners FROM live l WHERE l.pool = p.id), 0)
      FROM changed WHERE p.id = changed.id
$$;

-- Keys with blocked jobs, some at a time: a ready job that no live runner can claim gives its permit back to one that
-- somebody can; and whatever else was missed is admitted here.
CREATE FUNCTION paceline.review_keys() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE v_keys bigint[]; v_from bigint;
BEGIN
    SELECT t.reviewed INTO v_from FROM paceline.tick t;
    WITH RECURSIVE blocked AS (
        (SELECT j.key FROM paceline.job j WHERE j.state = 'b' AND j.key > v_from ORDER BY j.key LIMIT 1)
        UNION ALL
        SELECT (SELECT j.key FROM paceline.job j WHERE j.state = 'b' AND j.key > b.key ORDER BY j.key LIMIT 1)
          FROM blocked b WHERE b.key IS NOT NULL)
    SELECT array_agg(x.key) INTO v_keys FROM (SELECT b.key FROM blocked b WHERE b.key IS NOT NULL LIMIT 200) x;
    UPDATE paceline.tick SET reviewed = CASE WHEN cardinality(v_keys) = 200 THEN v_keys[200] ELSE 0 END;
    UPDATE paceline.job j SET state = 'b', ready_at = NULL
     WHERE j.id = ANY (ARRAY(
        SELECT r.id FROM paceline.job r JOIN paceline.lane l ON l.id = r.lane
         WHERE r.key = ANY (v_keys) AND r.state = 'r' AND NOT l.served
           AND EXISTS (SELECT FROM paceline.lane bl JOIN paceline.job b ON b.lane = bl.id AND b.key = r.key AND b.state = 'b'
                        WHERE bl.pool = l.pool AND bl.served)
           FOR UPDATE OF r SKIP LOCKED));
    INSERT INTO paceline.knock (key) SELECT k FROM unnest(v_keys) k;
END $$;

-- The low-water marks. A position is safe to skip to once every transaction that could have taken a lower one is over:
-- read the sequence and the clock, then note the next transaction id; each writer takes its id before its first position
-- and its first look at the clock. Only lanes where jobs were finished lately have dead index entries to skip.
CREATE FUNCTION paceline.advance_marks() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE v_safe bigint; v_time timestamptz; v_last bigint;
BEGIN
    SELECT max(m.seq), max(m.at) INTO v_safe, v_time
      FROM paceline.mark m WHERE m.xid <= pg_snapshot_xmin(pg_current_snapshot());
    IF v_safe IS NOT NULL THEN
        UPDATE paceline.tick t SET
            knock_low = least(v_safe + 1, (SELECT k.seq FROM paceline.knock k WHERE k.seq >= t.knock_low ORDER BY k.seq LIMIT 1)),
            release_low = least(v_time, (SELECT j.run_at FROM paceline.job j WHERE j.state = 's' AND j.run_at >= t.release_low
                                          ORDER BY j.run_at LIMIT 1));
        DELETE FROM paceline.mark m WHERE m.seq <= v_safe;
        UPDATE paceline.band b SET low = n.low
          FROM (SELECT x.lane, x.priority, least(v_safe + 1,
                    (SELECT j.seq FROM paceline.job j WHERE j.state = 'r' AND j.lane = x.lane AND j.priority = x.priority
                        AND j.seq >= x.low ORDER BY j.seq LIMIT 1)) AS low
                  FROM paceline.band x
                 WHERE x.lane IN (SELECT f.lane FROM paceline.flow f WHERE f.at > clock_timestamp() - interval '5 seconds')) n
         WHERE b.lane = n.lane AND b.priority = n.priority AND n.low > b.low;
    END IF;
    SELECT s.last_value INTO v_last FROM paceline.seq s;
    v_time := clock_timestamp();
    INSERT INTO paceline.mark (seq, at, xid)
    SELECT v_last, v_time, pg_snapshot_xmax(pg_current_snapshot())
     WHERE (SELECT count(*) < 20 AND coalesce(max(m.seq), 0) < v_last FROM paceline.mark m);
END $$;

-- Partitions for the next days, made apart and attached, which does not stop readers or writers; and for the days of
-- rows that came too late for theirs.
CREATE FUNCTION paceline.make_partitions(p_days integer DEFAULT 8) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_today constant timestamp := date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC');
    v_late constant timestamp := least(
        (SELECT date_trunc('day', min(h.finished_at) AT TIME ZONE 'UTC') FROM paceline.history_late h),
        (SELECT date_trunc('day', min(a.ended_at) AT TIME ZONE 'UTC') FROM paceline.attempt_late a), v_today);
    v_from timestamp;
    v_name text;
    v_table text;
BEGIN
    FOREACH v_table IN ARRAY ARRAY['history', 'attempt'] LOOP
        FOR v_from IN SELECT generate_series(v_late, v_today + make_interval(days => p_days), interval '1 day') LOOP
            v_name := format('%s_%s', v_table, to_char(v_from, 'YYYYMMDD'));
            CONTINUE WHEN to_regclass(format('paceline.%I', v_name)) IS NOT NULL;
            EXECUTE format('CREATE TABLE paceline.%I (LIKE paceline.%I INCLUDING ALL)', v_name, v_table);
            EXECUTE format('ALTER TABLE paceline.%I ATTACH PARTITION paceline.%I FOR VALUES FROM (%L) TO (%L)',
                           v_table, v_name, v_from AT TIME ZONE 'UTC', (v_from + interval '1 day') AT TIME ZONE 'UTC');
        END LOOP;
    END LOOP;
    UPDATE paceline.tick SET history_until = (v_today + make_interval(days => p_days + 1)) AT TIME ZONE 'UTC';
END $$;

CREATE FUNCTION paceline.retire_partitions() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_oldest text;
    v_name text;
BEGIN
    WITH late AS (DELETE FROM paceline.history_late RETURNING *) INSERT INTO paceline.history SELECT * FROM late;
    WITH late AS (DELETE FROM paceline.attempt_late RETURNING *) INSERT INTO paceline.attempt SELECT * FROM late;
    SELECT to_char((clock_timestamp() AT TIME ZONE 'UTC') - make_interval(days => t.history_days), 'YYYYMMDD') INTO v_oldest
      FROM paceline.tick t;
    FOR v_name IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                   WHERE i.inhparent IN ('paceline.history'::regclass, 'paceline.attempt'::regclass)
                     AND right(c.relname, 8) < v_oldest
    LOOP
        EXECUTE format('DROP TABLE paceline.%I', v_name);
    END LOOP;
END $$;

-- Lanes and keys that nobody has used for a day go in two steps: first no new job may enter; then, when every
-- transaction that may not have seen that is over and no job is left, the row is deleted.
CREATE FUNCTION paceline.forget_unused() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE v_horizon constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
BEGIN
    DELETE FROM paceline.lane l WHERE l.retired < v_horizon
       AND NOT EXISTS (SELECT FROM paceline.job j WHERE j.lane = l.id)
       AND NOT EXISTS (SELECT FROM paceline.dead d WHERE d.lane = l.id);
    DELETE FROM paceline.key k WHERE k.retired < v_horizon
       AND NOT EXISTS (SELECT FROM paceline.job j WHERE j.key = k.id)
       AND NOT EXISTS (SELECT FROM paceline.dead d WHERE d.key = k.id);
    UPDATE paceline.lane l SET retired = pg_current_xact_id()
     WHERE l.retired IS NULL AND l.used_at < clock_timestamp() - interval '1 day'
       AND NOT EXISTS (SELECT FROM paceline.job j WHERE j.lane = l.id)
       AND NOT EXISTS (SELECT FROM paceline.dead d WHERE d.lane = l.id);
    UPDATE paceline.key k SET retired = pg_current_xact_id()
     WHERE k.retired IS NULL AND k.rate IS NULL AND k.used_at < clock_timestamp() - interval '1 day'
       AND NOT EXISTS (SELECT FROM paceline.job j WHERE j.key = k.id)
       AND NOT EXISTS (SELECT FROM paceline.dead d WHERE d.key = k.id);
    DELETE FROM paceline.flow f WHERE f.at < clock_timestamp() - interval '1 hour';
    DELETE FROM paceline.incarnation i USING paceline.tick t   -- history names runners by them
     WHERE i.state = 'z' AND i.ended_at < clock_timestamp() - make_interval(days => t.history_days + 1)
       AND NOT EXISTS (SELECT FROM paceline.job j WHERE j.incarnation = i.id AND j.state = 'x');
END $$;

CREATE FUNCTION paceline.tick_slowly() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', '200ms', true);   -- a long reader of history must not hold up the queue
    PERFORM paceline.make_partitions();
    PERFORM paceline.retire_partitions();
    PERFORM paceline.forget_unused();
    PERFORM set_config('lock_timeout', '0', true);
END $$;

-- The whole of it. Returns whether it was due.
CREATE FUNCTION paceline.do_tick() RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE t paceline.tick; v_now constant timestamptz := clock_timestamp();
BEGIN
    SELECT x.* INTO t FROM paceline.tick x WHERE x.next_at <= v_now FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM pg_current_xact_id();
    UPDATE paceline.tick SET
        next_at = v_now + interval '100 milliseconds',
        mark_at = CASE WHEN t.mark_at <= v_now THEN v_now + interval '250 milliseconds' ELSE t.mark_at END,
        review_at = CASE WHEN t.review_at <= v_now THEN v_now + interval '1 second' ELSE t.review_at END,
        slow_at = CASE WHEN t.slow_at <= v_now THEN v_now + interval '10 minutes' ELSE t.slow_at END;
    PERFORM paceline.sweep();
    PERFORM paceline.wake(paceline.release());
    PERFORM paceline.expire();
    IF t.review_at <= v_now THEN
        PERFORM paceline.review_lanes();
        PERFORM paceline.count_runners();
        PERFORM paceline.review_keys();
        UPDATE paceline.pool p SET depth = paceline.waiting(p.id, p.max_depth + 1)
         WHERE p.id = ANY (ARRAY(SELECT x.id FROM paceline.pool x WHERE x.max_depth > 10000 FOR NO KEY UPDATE SKIP LOCKED));
    END IF;
    PERFORM paceline.wake(paceline.admit_knocking());
    PERFORM paceline.elect(g.id, false) FROM paceline.runner_group g WHERE g.leader;
    IF t.mark_at <= v_now THEN
        PERFORM paceline.advance_marks();
    END IF;
    IF t.slow_at <= v_now THEN
        BEGIN
            PERFORM paceline.tick_slowly();
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING 'paceline: slow housekeeping: %', SQLERRM;
        END;
    END IF;
    RETURN true;
END $$;

-- Inside somebody's step: never an error of his.
CREATE FUNCTION paceline.tick_safely() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM paceline.do_tick();
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING 'paceline: housekeeping: %', SQLERRM;
END $$;

CREATE FUNCTION paceline.tick() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM paceline.login l WHERE l.name = session_user AND l.role <> 'reader' AND l.role <> 'producer') THEN
        PERFORM paceline.require(NULL, 'operator');
    END IF;
    RETURN paceline.do_tick();
END $$;
