-- What people and the operator ask for: groups, cancel, dead letters, cron, limits.

CREATE FUNCTION paceline.put_group(p_install text, p_namespace text, p_name text, p_pool text, p_leader boolean DEFAULT false,
                                   p_slots integer DEFAULT 1, p_tags text[] DEFAULT '{}', p_paused boolean DEFAULT false)
RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_pool paceline.pool; v_id integer := paceline.pool_for(p_pool);
BEGIN
    -- no stronger: a registration holds its group and then refers to the pool, and we go on to the group
    SELECT p.* INTO v_pool FROM paceline.pool p WHERE p.id = v_id FOR NO KEY UPDATE;
    PERFORM paceline.require(v_pool.id, 'operator');
    IF v_pool.namespace IS NULL THEN   -- whoever serves a pool first owns it
        UPDATE paceline.pool p SET install = p_install, namespace = p_namespace WHERE p.id = v_pool.id;
    ELSIF v_pool.namespace <> p_namespace
          AND NOT EXISTS (SELECT FROM paceline.pool_namespace n WHERE n.pool = v_pool.id AND n.namespace = p_namespace) THEN
        RAISE EXCEPTION 'pool "%" belongs to namespace "%"', p_pool, v_pool.namespace
            USING ERRCODE = 'PL007', HINT = format('run: paceline pool grant %s --namespace %s', p_pool, p_namespace);
    END IF;
    INSERT INTO paceline.runner_group AS g (install, namespace, name, pool, leader, slots, tags, paused)
    VALUES (p_install, p_namespace, p_name, v_pool.id, p_leader, p_slots, p_tags, p_paused)
    ON CONFLICT (install, namespace, name) DO UPDATE
       SET leader = excluded.leader, slots = excluded.slots, tags = excluded.tags, paused = excluded.paused
    RETURNING g.id INTO v_id;
    IF EXISTS (SELECT FROM paceline.runner_group g WHERE g.pool = v_pool.id AND g.id <> v_id AND g.namespace <> ''
                  AND (p_leader OR g.leader)) THEN
        RAISE EXCEPTION 'pool "%" is served by another group, and a group with dispatch: Leader must be the only one', p_pool
            USING ERRCODE = 'PL008', HINT = 'give the group a pool of its own';
    END IF;
    UPDATE paceline.pool p SET leader_group = CASE WHEN p_leader THEN v_id END
     WHERE p.id = v_pool.id AND p.leader_group IS DISTINCT FROM CASE WHEN p_leader THEN v_id END
       AND (p_leader OR p.leader_group = v_id);
    IF p_leader THEN
        INSERT INTO paceline.leader (grp) VALUES (v_id) ON CONFLICT DO NOTHING;
        PERFORM paceline.elect(v_id);
    ELSE
        DELETE FROM paceline.leader l WHERE l.grp = v_id;
    END IF;
    RETURN v_id;
END $$;

-- The group's runners, taints and leader go; its jobs, history and dead letters never do.
CREATE FUNCTION paceline.delete_group(p_group integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_ids bigint[]; v_pool integer;
BEGIN
    SELECT g.pool INTO v_pool FROM paceline.runner_group g WHERE g.id = p_group FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM paceline.require(v_pool, 'operator');
    SELECT array_agg(x.id) INTO v_ids FROM (
        SELECT i.id FROM paceline.incarnation i JOIN paceline.runner r ON r.id = i.runner
         WHERE r.grp = p_group AND i.state <> 'z' ORDER BY i.id FOR UPDATE OF i) x;
    PERFORM paceline.end_incarnations(v_ids, 'GroupDeleted');
    UPDATE paceline.pool p SET leader_group = NULL WHERE p.leader_group = p_group;
    DELETE FROM paceline.runner_group g WHERE g.id = p_group;
    DELETE FROM paceline.waiter w WHERE w.pool = v_pool
       AND NOT EXISTS (SELECT FROM paceline.runner_group g WHERE g.pool = v_pool);
END $$;

-- Of a job that is not live: 'finished', or 'unknown' also where the login has no business with its pool.
CREATE FUNCTION paceline.ended(p_job bigint) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN EXISTS (
        SELECT FROM (SELECT h.kind FROM paceline.history h WHERE h.id = p_job
                     UNION ALL SELECT h.kind FROM paceline.history_late h WHERE h.id = p_job
                     UNION ALL SELECT d.kind FROM paceline.dead d WHERE d.id = p_job) f
          JOIN paceline.kind k ON k.id = f.kind
         WHERE paceline.may(k.pool, 'producer', 'gateway', 'operator')) THEN 'finished' ELSE 'unknown' END
$$;

-- 'cancelled', 'cancelling' (its runner is told), 'finished' or 'unknown'. The runner's row is locked before the job's,
-- as everybody does who takes jobs away from a runner.
CREATE FUNCTION paceline.cancel(p_job bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_job paceline.job; v_pool integer; v_incarnation bigint;
BEGIN
    SELECT l.pool INTO v_pool FROM paceline.job j JOIN paceline.lane l ON l.id = j.lane WHERE j.id = p_job;
    IF FOUND THEN
        PERFORM paceline.require(v_pool, 'producer', 'gateway', 'operator');
    END IF;
    LOOP
        SELECT j.incarnation INTO v_incarnation FROM paceline.job j WHERE j.id = p_job;
        PERFORM FROM paceline.incarnation i WHERE i.id = v_incarnation FOR NO KEY UPDATE;
        SELECT j.* INTO v_job FROM paceline.job j WHERE j.id = p_job FOR UPDATE;
        EXIT WHEN v_job.incarnation IS NOT DISTINCT FROM v_incarnation;   -- else it was claimed or given back meanwhile
    END LOOP;
    IF v_job.id IS NULL THEN
        RETURN paceline.ended(p_job);
    ELSIF v_job.state = 'x' THEN
        UPDATE paceline.job j SET cancel = true WHERE j.id = p_job;
        UPDATE paceline.incarnation i SET cancels = true WHERE i.id = v_incarnation;
        PERFORM paceline.wake(ARRAY[v_pool]);
        RETURN 'cancelling';
    END IF;
    PERFORM paceline.finish(ARRAY[p_job], 'c');
    RETURN 'cancelled';
END $$;

-- Dead letters back into the queue, as new as on their first day; one whose dedupe key is taken again stays dead.
CREATE FUNCTION paceline.redrive(p_jobs bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_pools integer[]; v_back bigint[]; v_pool integer;
BEGIN
    PERFORM pg_current_xact_id();
    FOR v_pool IN SELECT DISTINCT l.pool FROM paceline.dead d JOIN paceline.lane l ON l.id = d.lane WHERE d.id = ANY (p_jobs) LOOP
        PERFORM paceline.require(v_pool, 'gateway', 'operator', 'producer');
        v_pools := v_pools || v_pool;
    END LOOP;
    WITH chosen AS (
        SELECT d.* FROM paceline.dead d WHERE d.id = ANY (p_jobs) ORDER BY d.id FOR UPDATE SKIP LOCKED
    ), made AS (
        INSERT INTO paceline.job AS j (id, seq, lane, kind, priority, state, ready_at, enqueued_at, key, dedupe, max_tries,
                                       max_losses, timeout_ms, trace, payload)
        SELECT d.id, nextval('paceline.seq'), d.lane, d.kind, d.priority, CASE WHEN d.key IS NULL THEN 'r' ELSE 'b' END::"char",
               CASE WHEN d.key IS NULL THEN clock_timestamp() END, d.enqueued_at, d.key, d.dedupe, d.max_tries, d.max_losses,
               d.timeout_ms, d.trace, d.payload
          FROM chosen d ON CONFLICT DO NOTHING RETURNING j.id, j.key
    ), gone AS (
        DELETE FROM paceline.dead d USING made WHERE d.id = made.id
    ), knocks AS (
        INSERT INTO paceline.knock (key) SELECT DISTINCT made.key FROM made WHERE made.key IS NOT NULL
    )
    SELECT array_agg(made.id) INTO v_back FROM made;
    PERFORM paceline.wake(v_pools);
    RETURN coalesce(v_back, '{}');
END $$;

CREATE FUNCTION paceline.purge(p_jobs bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_gone bigint[]; v_pool integer;
BEGIN
    FOR v_pool IN SELECT DISTINCT l.pool FROM paceline.dead d JOIN paceline.lane l ON l.id = d.lane WHERE d.id = ANY (p_jobs) LOOP
        PERFORM paceline.require(v_pool, 'gateway', 'operator');
    END LOOP;
    WITH gone AS (DELETE FROM paceline.dead d WHERE d.id = ANY (p_jobs) RETURNING d.id)
    SELECT array_agg(gone.id) INTO v_gone FROM gone;
    RETURN coalesce(v_gone, '{}');
END $$;

-- Try a job again now: a dead one comes back, a scheduled one is due. 'retried', or why not: 'waiting', 'running',
-- 'duplicate' (another of its dedupe key is live), 'finished', 'unknown'.
CREATE FUNCTION paceline.retry(p_job bigint) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_job paceline.job; v_pool integer;
BEGIN
    PERFORM pg_current_xact_id();
    SELECT j.* INTO v_job FROM paceline.job j WHERE j.id = p_job FOR UPDATE;
    IF FOUND THEN
        SELECT l.pool INTO v_pool FROM paceline.lane l WHERE l.id = v_job.lane;
        PERFORM paceline.require(v_pool, 'producer', 'gateway', 'operator');
        IF v_job.state = 's' THEN
            PERFORM paceline.wake(paceline.become_due(ARRAY[p_job]));
            RETURN 'retried';
        END IF;
        RETURN CASE v_job.state WHEN 'x' THEN 'running' ELSE 'waiting' END;
    ELSIF EXISTS (SELECT FROM paceline.dead d JOIN paceline.kind k ON k.id = d.kind
                   WHERE d.id = p_job AND paceline.may(k.pool, 'producer', 'gateway', 'operator')) THEN
        RETURN CASE WHEN paceline.redrive(ARRAY[p_job]) = '{}' THEN 'duplicate' ELSE 'retried' END;
    END IF;
    RETURN paceline.ended(p_job);
END $$;

-- The burst of a bucket that has that rate (negative or NULL: none); at least one permit, or nothing would ever start.
CREATE FUNCTION paceline.burst_for(p_rate float8, p_burst float8) RETURNS float8
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE most constant float8 := 1e9;   -- permits are counted in 32 bits
BEGIN
    IF p_rate > most OR p_burst NOT BETWEEN 1 AND most THEN   -- NaN is above everything
        RAISE EXCEPTION 'rate % with burst % is out of range', p_rate, p_burst
            USING ERRCODE = 'PL002', HINT = 'give a rate of at most 1e9 a second, and a burst of 1 to 1e9';
    END IF;
    RETURN CASE WHEN p_rate >= 0 THEN coalesce(p_burst, greatest(1, p_rate)) END;
END $$;

-- Limits of a pool; NULL leaves one as it is, a negative number takes it away.
CREATE FUNCTION paceline.set_pool(p_pool text, p_paused boolean DEFAULT NULL, p_max_depth bigint DEFAULT NULL,
                                  p_rate float8 DEFAULT NULL, p_burst float8 DEFAULT NULL)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_pool constant integer := paceline.pool_for(p_pool);
    v_burst constant float8 := paceline.burst_for(p_rate, p_burst);
BEGIN
    PERFORM paceline.require(v_pool, 'operator', 'gateway');
    UPDATE paceline.pool p
       SET paused = coalesce(p_paused, p.paused),
           max_depth = CASE WHEN p_max_depth < 0 THEN NULL ELSE coalesce(p_max_depth, p.max_depth) END,
           rate = CASE WHEN p_rate < 0 THEN NULL ELSE coalesce(p_rate, p.rate) END,
           burst = CASE WHEN p_rate < 0 THEN NULL ELSE coalesce(v_burst, p_burst, p.burst) END,
           permits = CASE WHEN p_rate >= 0 AND p.rate IS NULL THEN v_burst ELSE p.permits END,
           refilled = CASE WHEN p_rate >= 0 AND p.rate IS NULL THEN clock_timestamp() ELSE p.refilled END
     WHERE p.id = v_pool;
    PERFORM paceline.wake(ARRAY[v_pool]);
END $$;

CREATE FUNCTION paceline.set_kind(p_pool text, p_kind text, p_rate float8, p_burst float8 DEFAULT NULL)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_pool constant integer := paceline.pool_for(p_pool);
    v_burst constant float8 := paceline.burst_for(p_rate, p_burst);
BEGIN
    PERFORM paceline.require(v_pool, 'operator', 'gateway');
    UPDATE paceline.pool p SET lane_version = p.lane_version + 1 WHERE p.id = v_pool;
    INSERT INTO paceline.kind AS k (pool, name, rate, burst, permits)
    VALUES (v_pool, p_kind, CASE WHEN p_rate >= 0 THEN p_rate END, v_burst, coalesce(v_burst, 0))
    ON CONFLICT (pool, name) DO UPDATE
       SET rate = excluded.rate, burst = excluded.burst,
           permits = CASE WHEN k.rate IS NULL THEN excluded.permits ELSE k.permits END,
           refilled = CASE WHEN k.rate IS NULL THEN clock_timestamp() ELSE k.refilled END;
END $$;

CREATE FUNCTION paceline.set_key(p_pool text, p_key text, p_max_running integer, p_rate float8 DEFAULT NULL, p_burst float8 DEFAULT NULL)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_pool constant integer := paceline.pool_for(p_pool);
    v_burst constant float8 := paceline.burst_for(p_rate, p_burst);
    v_key bigint;
BEGIN
    PERFORM paceline.require(v_pool, 'operator', 'gateway', 'producer');
    INSERT INTO paceline.key AS k (pool, name, max_running, rate, burst, permits)
    VALUES (v_pool, p_key, p_max_running, CASE WHEN p_rate >= 0 THEN p_rate END, v_burst, coalesce(v_burst, 0))
    ON CONFLICT (pool, name) DO UPDATE
       SET max_running = excluded.max_running, rate = excluded.rate, burst = excluded.burst, retired = NULL,
           permits = CASE WHEN k.rate IS NULL THEN excluded.permits ELSE k.permits END,
           refilled = CASE WHEN k.rate IS NULL THEN clock_timestamp() ELSE k.refilled END
    RETURNING k.id INTO v_key;
    INSERT INTO paceline.knock (key) VALUES (v_key);
END $$;

-- Ask to be woken by NOTIFY when the pool has work; lasts as long as somebody keeps asking.
CREATE FUNCTION paceline.await_work(p_pool integer, p_seconds float8) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM paceline.require(p_pool, 'runner', 'gateway', 'operator');
    INSERT INTO paceline.waiter AS w (pool, until) VALUES (p_pool, clock_timestamp() + make_interval(secs => p_seconds))
    ON CONFLICT (pool) DO UPDATE SET until = excluded.until WHERE w.until < excluded.until - interval '1 second';
    RETURN 'paceline_' || p_pool;
END $$;
