-- The hot path: ack what is finished, then claim, in one round trip and one transaction.

-- Make blocked jobs of these keys ready, as far as their limits allow. Lock, then count in a later statement: a single
-- one would count by a snapshot from before the lock. Permits are counted from rows, so none can leak.
CREATE FUNCTION paceline.admit(p_keys bigint[]) RETURNS integer[]
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
            SELECT h.id FROM lanes JOIN paceline.lane l ON l.id = lanes.lane
            CROSS JOIN LATERAL (
                SELECT j.id, j.priority, j.seq FROM paceline.job j
                 WHERE j.state = 'b' AND j.key = k.id AND j.lane = l.id ORDER BY j.priority DESC, j.seq LIMIT v_room) h
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

-- Of the jobs that a runner writes about, those that are its own by the fence of its claim; locked.
CREATE FUNCTION paceline.mine(p_incarnation bigint, p_ids bigint[], p_fences bigint[]) RETURNS bigint[]
LANGUAGE sql AS $$
    SELECT array_agg(x.id) FROM (
        SELECT j.id FROM paceline.job j
         WHERE j.id = ANY (p_ids) AND j.incarnation = p_incarnation AND j.fence = p_fences[array_position(p_ids, j.id)]
         ORDER BY j.id FOR UPDATE) x
$$;

-- Finished jobs leave. A pair of id and fence that is not this incarnation's current claim changes nothing.
-- No join with unnest() and no state in the condition: both made the generic plan quadratic (3 to 50 us a job at 500).
CREATE FUNCTION paceline.ack(p_incarnation bigint, p_ids bigint[], p_fences bigint[], p_results jsonb[], p_outputs text[],
                             p_partition boolean) RETURNS bigint[]
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_one constant boolean := p_fences[1] = ALL (p_fences);   -- usually all are of one claim; a search for each is slower
    v_done bigint[];
    v_keys bigint[];
BEGIN
    IF p_outputs IS NOT NULL THEN
        v_done := paceline.mine(p_incarnation, p_ids, p_fences);
        v_done := ARRAY(SELECT d FROM unnest(v_done) d WHERE p_outputs[array_position(p_ids, d)] IS NOT NULL);
        PERFORM paceline.note_attempts(v_done, 'd', NULL, NULL,
                                       ARRAY(SELECT p_outputs[array_position(p_ids, d)] FROM unnest(v_done) d));
    END IF;
    IF p_partition THEN
        WITH gone AS (
            DELETE FROM paceline.job j
             WHERE j.id = ANY (p_ids) AND j.incarnation = p_incarnation
               AND j.fence = CASE WHEN v_one THEN p_fences[1] ELSE p_fences[array_position(p_ids, j.id)] END
            RETURNING j.id, j.enqueued_at, j.claimed_at, j.fence, j.lane, j.kind, j.priority, j.tries, j.losses, j.key
        ), kept AS (
            INSERT INTO paceline.history (id, finished_at, enqueued_at, claimed_at, fence, incarnation, lane, kind, priority,
                                          tries, losses, outcome, result)
            SELECT g.id, v_now, g.enqueued_at, g.claimed_at, g.fence, p_incarnation, g.lane, g.kind, g.priority,
                   g.tries, g.losses, 'd', CASE WHEN p_results IS NOT NULL THEN p_results[array_position(p_ids, g.id)] END
              FROM gone g
        ), counted AS (
            INSERT INTO paceline.flow (at, lane, done, busy_ms)
            SELECT v_now, g.lane, count(*), (date_part('epoch', sum(v_now - g.claimed_at)) * 1000)::bigint FROM gone g GROUP BY g.lane
        )
        SELECT array_agg(g.id), array_agg(g.key) FILTER (WHERE g.key IS NOT NULL) INTO v_done, v_keys FROM gone g;
    ELSE
        v_done := paceline.mine(p_incarnation, p_ids, p_fences);
        SELECT array_agg(DISTINCT j.key) INTO v_keys FROM paceline.job j WHERE j.id = ANY (v_done) AND j.key IS NOT NULL;
        v_done := paceline.finish(v_done, 'd');
        UPDATE paceline.history_late h SET result = p_results[array_position(p_ids, h.id)]
         WHERE h.id = ANY (v_done) AND p_results IS NOT NULL;
    END IF;
    IF v_keys IS NOT NULL THEN
        PERFORM paceline.wake(paceline.admit(v_keys));
    END IF;
    RETURN v_done;
END $$;

-- The ids that a runner wrote about and that were not its own any more.
CREATE FUNCTION paceline.refused(p_asked bigint[], p_accepted bigint[]) RETURNS bigint[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN coalesce(cardinality(p_asked), 0) = coalesce(cardinality(p_accepted), 0) THEN NULL
                ELSE (SELECT array_agg(a) FROM unnest(p_asked) a WHERE a <> ALL (coalesce(p_accepted, '{}'))) END
$$;

-- Candidates from all lanes where some are rated or late. Rows that are locked here and not taken are free at commit.
CREATE FUNCTION paceline.pick_special(p_lanes integer[], p_special integer[], p_late integer[], p_want integer,
                                      p_kinds integer[], p_caps integer[], p_salt integer)
RETURNS TABLE (id bigint, key bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_old constant timestamptz := clock_timestamp() - interval '5 seconds';
BEGIN
    RETURN QUERY
    WITH plain AS (
        SELECT c.* FROM (SELECT b.lane, b.priority, b.low FROM paceline.band b WHERE b.lane = ANY (p_lanes)
                          ORDER BY b.priority DESC, hashint4(b.lane # p_salt)) b
        CROSS JOIN LATERAL (
            SELECT j.id, j.key, j.priority, j.lane, j.seq FROM paceline.job j
             WHERE j.state = 'r' AND j.lane = b.lane AND j.priority = b.priority AND j.seq >= b.low
               AND (j.expires_at IS NULL OR j.expires_at > clock_timestamp())
             ORDER BY j.seq LIMIT p_want FOR UPDATE SKIP LOCKED) c
        LIMIT p_want
    ), close AS (
        SELECT c.*, l.kind, cap.most
          FROM paceline.lane l
          LEFT JOIN unnest(p_kinds, p_caps) cap (kind, most) ON cap.kind = l.kind
          JOIN paceline.band b ON b.lane = l.id
         CROSS JOIN LATERAL (
            SELECT j.id, j.key, j.priority, j.lane, j.seq, j.ready_at FROM paceline.job j
             WHERE j.state = 'r' AND j.lane = b.lane AND j.priority = b.priority AND j.seq >= b.low
               AND (j.expires_at IS NULL OR j.expires_at > clock_timestamp())
             ORDER BY j.seq LIMIT least(p_want, coalesce(cap.most, p_want)) FOR UPDATE SKIP LOCKED) c
         WHERE l.id = ANY (p_special) AND coalesce(cap.most, 1) > 0
           AND (l.id <> ALL (p_late) OR c.ready_at < v_old)   -- the oldest come first, so none is behind a younger one
    ), within AS (
        SELECT close.*, row_number() OVER (PARTITION BY close.kind ORDER BY close.priority DESC, close.seq) AS place FROM close
    )
    SELECT u.id, u.key FROM (
        SELECT plain.id, plain.key, plain.priority, plain.lane, plain.seq FROM plain
        UNION ALL
        SELECT w.id, w.key, w.priority, w.lane, w.seq FROM within w WHERE w.most IS NULL OR w.place <= w.most) u
     ORDER BY u.priority DESC, hashint4(u.lane # p_salt), u.seq LIMIT p_want;
END $$;

-- Of the candidates, those whose keys' rates allow it; charges them. A key that another claim is charging is left out:
-- waiting for it here, with locks on other keys in hand, could be a deadlock.
CREATE FUNCTION paceline.charge_keys(p_ids bigint[], p_keys bigint[]) RETURNS bigint[]
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_keys bigint[];
    v_room integer[];
    v_kept bigint[];
BEGIN
    IF NOT EXISTS (SELECT FROM paceline.key k WHERE k.id = ANY (p_keys) AND k.rate IS NOT NULL) THEN
        RETURN p_ids;
    END IF;
    SELECT array_agg(x.id), array_agg(floor(paceline.available(x.rate, x.burst, x.permits, x.refilled))::integer)
      INTO v_keys, v_room
      FROM (SELECT k.* FROM paceline.key k WHERE k.id = ANY (p_keys) AND k.rate IS NOT NULL
             ORDER BY k.id FOR NO KEY UPDATE SKIP LOCKED) x;
    WITH given AS (
        SELECT g.id, g.key, g.place, k.rate IS NOT NULL AS rated,
               row_number() OVER (PARTITION BY g.key ORDER BY g.place) AS nth
          FROM unnest(p_ids, p_keys) WITH ORDINALITY g (id, key, place) LEFT JOIN paceline.key k ON k.id = g.key
    ), kept AS (
        SELECT g.* FROM given g WHERE g.key IS NULL OR NOT g.rated
            OR g.nth <= coalesce(v_room[array_position(v_keys, g.key)], 0)
    ), charged AS (
        UPDATE paceline.key k
           SET permits = paceline.available(k.rate, k.burst, k.permits, k.refilled) - c.n, refilled = clock_timestamp()
          FROM (SELECT kept.key, count(*) AS n FROM kept WHERE kept.rated GROUP BY kept.key) c WHERE k.id = c.key)
    SELECT array_agg(kept.id ORDER BY kept.place) INTO v_kept FROM kept;
    RETURN v_kept;
END $$;

-- The jobs to claim, with every bucket charged for them.
CREATE FUNCTION paceline.choose(p_pool integer, p_rated boolean, p_lanes integer[], p_special integer[], p_late integer[],
                                p_want integer)
RETURNS bigint[] LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_want integer := p_want;
    v_salt constant integer := (random() * 1000000)::integer;
    v_room float8;
    v_kinds integer[];
    v_caps integer[];
    v_ids bigint[];
    v_keys bigint[];
BEGIN
    IF p_rated THEN   -- SKIP LOCKED: another claim has the bucket now; come back later instead of queueing up
        SELECT paceline.available(p.rate, p.burst, p.permits, p.refilled) INTO v_room
          FROM paceline.pool p WHERE p.id = p_pool FOR NO KEY UPDATE SKIP LOCKED;
        v_want := least(v_want, floor(coalesce(v_room, 0))::integer);
    END IF;
    IF v_want < 1 THEN
        RETURN NULL;
    END IF;
    IF p_special = '{}' THEN   -- the common case, and the hot statement of the whole product
        -- Strict priority; within one the lanes in an order that changes with every claim, so that none starves.
        SELECT array_agg(c.id), array_agg(c.key) INTO v_ids, v_keys FROM (
            SELECT c.id, c.key
              FROM (SELECT b.lane, b.priority, b.low FROM paceline.band b WHERE b.lane = ANY (p_lanes)
                     ORDER BY b.priority DESC, hashint4(b.lane # v_salt)) b
             CROSS JOIN LATERAL (
                SELECT j.id, j.key FROM paceline.job j
                 WHERE j.state = 'r' AND j.lane = b.lane AND j.priority = b.priority AND j.seq >= b.low
                   AND (j.expires_at IS NULL OR j.expires_at > clock_timestamp())
                 ORDER BY j.seq LIMIT v_want FOR UPDATE SKIP LOCKED) c
             LIMIT v_want) c;
    ELSE
        SELECT array_agg(k.id), array_agg(CASE WHEN b.id IS NULL THEN 0 ELSE b.room END) INTO v_kinds, v_caps
          FROM (SELECT DISTINCT k.id FROM paceline.lane l JOIN paceline.kind k ON k.id = l.kind
                 WHERE l.id = ANY (p_special) AND k.rate IS NOT NULL) k
          LEFT JOIN (SELECT x.id, floor(paceline.available(x.rate, x.burst, x.permits, x.refilled))::integer AS room
                       FROM paceline.kind x
                      WHERE x.rate IS NOT NULL AND x.id IN (SELECT l.kind FROM paceline.lane l WHERE l.id = ANY (p_special))
                        FOR NO KEY UPDATE SKIP LOCKED) b ON b.id = k.id;
        SELECT array_agg(c.id), array_agg(c.key) INTO v_ids, v_keys
          FROM paceline.pick_special(p_lanes, p_special, p_late, v_want, v_kinds, v_caps, v_salt) c;
    END IF;
    IF v_ids IS NULL THEN
        RETURN NULL;
    END IF;
    IF array_remove(v_keys, NULL) <> '{}' THEN
        v_ids := paceline.charge_keys(v_ids, v_keys);
    END IF;
    IF v_kinds IS NOT NULL THEN
        UPDATE paceline.kind k
           SET permits = paceline.available(k.rate, k.burst, k.permits, k.refilled) - c.n, refilled = clock_timestamp()
          FROM (SELECT j.kind, count(*) AS n FROM paceline.job j WHERE j.id = ANY (v_ids) AND j.kind = ANY (v_kinds)
                 GROUP BY j.kind) c
         WHERE k.id = c.kind;
    END IF;
    IF p_rated THEN
        UPDATE paceline.pool p SET permits = v_room - coalesce(cardinality(v_ids), 0), refilled = clock_timestamp()
         WHERE p.id = p_pool;
    END IF;
    RETURN v_ids;
END $$;

-- Let enqueue notify for some time. Whether it did so already before: only then can nothing have come in between unseen,
-- else the caller looks once more. Never waits: whoever holds the row does the same.
CREATE FUNCTION paceline.listen(p_pool integer, p_seconds float8) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_until constant timestamptz := (SELECT w.until FROM paceline.waiter w WHERE w.pool = p_pool);
BEGIN
    IF v_until IS NULL THEN
        INSERT INTO paceline.waiter (pool, until) VALUES (p_pool, v_now + make_interval(secs => p_seconds)) ON CONFLICT DO NOTHING;
    ELSIF v_until < v_now + make_interval(secs => p_seconds / 2) THEN
        UPDATE paceline.waiter w SET until = v_now + make_interval(secs => p_seconds)
         WHERE w.pool = ANY (ARRAY(SELECT x.pool FROM paceline.waiter x WHERE x.pool = p_pool FOR UPDATE SKIP LOCKED));
    END IF;
    RETURN coalesce(v_until > v_now, false);
END $$;

-- Ack, then claim at most p_want jobs, in one row: the verdict, what was refused, what is to be cancelled, and the jobs
-- as arrays in (priority, ready) order (50 jobs as rows cost the client a third more). After the acks nothing raises.
-- With p_listen, enqueue notifies for so many seconds if there was less than wanted.
CREATE FUNCTION paceline.step(
    p_incarnation bigint, p_want integer,
    p_done bigint[] DEFAULT '{}', p_fences bigint[] DEFAULT '{}', p_results jsonb[] DEFAULT NULL,
    p_outputs text[] DEFAULT NULL, p_listen float8 DEFAULT NULL,
    OUT verdict text, OUT refused bigint[], OUT cancelled bigint[],
    OUT fence bigint, OUT ids bigint[], OUT kinds text[], OUT payloads jsonb[], OUT priorities smallint[],
    OUT tries smallint[], OUT losses smallint[], OUT timeouts_ms integer[], OUT traces text[], OUT waited float8[],
    OUT listening boolean, OUT runners integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
-- one plan for each connection, by the indexes, whatever the tables held when it was made (planning was 13 % of a step)
SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v record;
    v_done bigint[];
    v_ids bigint[];
    v_now timestamptz;
BEGIN
    PERFORM pg_current_xact_id();
    -- The gate. The lock is held to the commit: whoever drains, taints or fences waits for it or is seen by it.
    SELECT i.state, i.lease_until, i.login, i.lanes, i.special, i.late, i.cancels, i.pool, i.lane_version,
           p.lane_version AS newest, p.paused OR g.paused AS paused, p.leader_group, p.runners, p.rate IS NOT NULL AS rated,
           t.next_at <= clock_timestamp() AS tick_due, t.history_until > clock_timestamp() AS has_partition
      INTO v
      FROM paceline.incarnation i
      JOIN paceline.pool p ON p.id = i.pool
      JOIN paceline.runner r ON r.id = i.runner
      JOIN paceline.runner_group g ON g.id = r.grp
      CROSS JOIN paceline.tick t
     WHERE i.id = p_incarnation FOR KEY SHARE OF i;
    IF FOUND AND v.login <> session_user THEN
        PERFORM paceline.require(v.pool, 'gateway');
    END IF;
    IF p_done <> '{}' THEN
        v_done := paceline.ack(p_incarnation, p_done, p_fences, p_results, p_outputs,
                               coalesce(v.has_partition, paceline.has_partition()));
        refused := paceline.refused(p_done, v_done);
    END IF;
    verdict := 'ok';
    runners := v.runners;
    IF v.state IS NULL OR v.state = 'z' OR v.lease_until <= clock_timestamp() THEN
        verdict := 'fenced';
        RETURN;
    ELSIF v.state = 'd' THEN
        verdict := 'draining';
    ELSIF v.paused THEN
        verdict := 'paused';
    ELSIF v.leader_group IS NOT NULL THEN   -- only the leader of the group that owns the pool claims
        PERFORM FROM paceline.leader l
          WHERE l.grp = v.leader_group AND l.incarnation = p_incarnation FOR KEY SHARE;
        IF NOT FOUND THEN
            verdict := 'standby';
        END IF;
    END IF;
    IF v.cancels THEN
        cancelled := paceline.cancelled(p_incarnation);
    END IF;
    IF v.tick_due THEN   -- before the claim: what becomes ready now can be taken now
        PERFORM paceline.tick_safely();
    END IF;
    IF verdict <> 'ok' OR p_want < 1 THEN
        IF p_listen IS NOT NULL THEN   -- for the end of a pause, another leader, a cancel
            listening := paceline.listen(v.pool, p_listen);
        END IF;
        RETURN;
    END IF;
    IF v.lane_version <> v.newest THEN
        PERFORM paceline.refresh_lanes(ARRAY[p_incarnation]);
        SELECT i.lanes, i.special, i.late INTO v.lanes, v.special, v.late
          FROM paceline.incarnation i WHERE i.id = p_incarnation;
    END IF;
    v_ids := paceline.choose(v.pool, v.rated, v.lanes, v.special, v.late, p_want);
    IF p_listen IS NOT NULL AND coalesce(cardinality(v_ids), 0) < p_want THEN
        listening := paceline.listen(v.pool, p_listen);
    END IF;
    IF v_ids IS NULL THEN
        RETURN;
    END IF;
    fence := nextval('paceline.fence');
    v_now := clock_timestamp();
    WITH claimed AS (
        UPDATE paceline.job j
           SET state = 'x', incarnation = p_incarnation, fence = step.fence, claimed_at = v_now, deadline = NULL, progress = NULL
         WHERE j.id = ANY (v_ids)
        RETURNING j.id, j.kind, j.payload, j.priority, j.tries, j.losses, j.timeout_ms, j.trace, j.ready_at, j.seq)
    SELECT array_agg(c.id), array_agg(c.name), array_agg(c.payload), array_agg(c.priority), array_agg(c.tries),
           array_agg(c.losses), CASE WHEN count(c.timeout_ms) > 0 THEN array_agg(c.timeout_ms) END,
           CASE WHEN count(c.trace) > 0 THEN array_agg(c.trace) END,
           array_agg(date_part('epoch', v_now - c.ready_at))   -- extract() would count in numeric
      INTO ids, kinds, payloads, priorities, tries, losses, timeouts_ms, traces, waited
      FROM (SELECT c.*, k.name FROM claimed c JOIN paceline.kind k ON k.id = c.kind ORDER BY c.priority DESC, c.seq) c;
END $$;

-- Attempts that failed: again later, or dead. p_retry_in NULL means never again.
CREATE FUNCTION paceline.fail(
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
    INSERT INTO paceline.flow (at, lane, done, busy_ms)
    SELECT v_now, x.lane, 1, extract(epoch FROM v_now - x.claimed_at) * 1000 FROM unnest(v_rows) x;
    UPDATE paceline.job j
       SET state = 's', incarnation = NULL, claimed_at = NULL, ready_at = NULL, tries = j.tries + 1,
           run_at = v_now + make_interval(secs => greatest(0, p_retry_in[array_position(p_ids, j.id)]))
     WHERE j.id = ANY (v_mine);
    PERFORM paceline.wake(paceline.admit(v_keys)) WHERE v_keys IS NOT NULL;
    RETURN paceline.refused(p_ids, v_mine);
END $$;

-- Unfinished jobs of a runner that leaves: ready again at once, nothing charged.
CREATE FUNCTION paceline.hand_back(p_incarnation bigint, p_ids bigint[], p_fences bigint[], p_cause text DEFAULT 'HandedBack')
RETURNS bigint[]   -- refused
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_mine bigint[];
    v_cancelled bigint[];
    v_pool integer;
BEGIN
    PERFORM pg_current_xact_id();
    PERFORM paceline.own(p_incarnation);
    v_mine := paceline.mine(p_incarnation, p_ids, p_fences);
    SELECT array_agg(j.id) INTO v_cancelled FROM paceline.job j WHERE j.id = ANY (v_mine) AND j.cancel;
    PERFORM paceline.note_attempts(v_mine, 'h', p_cause, NULL, NULL) WHERE v_mine IS NOT NULL;
    PERFORM paceline.finish(v_cancelled, 'c');
    UPDATE paceline.job j
       SET state = 'r', incarnation = NULL, claimed_at = NULL, seq = nextval('paceline.seq'), ready_at = clock_timestamp()
     WHERE j.id = ANY (v_mine);
    SELECT i.pool INTO v_pool FROM paceline.incarnation i WHERE i.id = p_incarnation;
    PERFORM paceline.wake(ARRAY[v_pool]);
    RETURN paceline.refused(p_ids, v_mine);
END $$;

-- More time for attempts that run: each ends p_seconds from now, whatever its timeout was. The runner watches the clock;
-- here it is kept for those who look, and a runner that has lost the job is told.
CREATE FUNCTION paceline.extend(p_incarnation bigint, p_ids bigint[], p_fences bigint[], p_seconds float8[])
RETURNS bigint[]   -- refused
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_mine bigint[];
BEGIN
    PERFORM paceline.own(p_incarnation);
    v_mine := paceline.mine(p_incarnation, p_ids, p_fences);
    UPDATE paceline.job j SET deadline = clock_timestamp() + make_interval(secs => p_seconds[array_position(p_ids, j.id)])
     WHERE j.id = ANY (v_mine);
    RETURN paceline.refused(p_ids, v_mine);
END $$;

-- How far attempts that run have come, as their handlers say.
CREATE FUNCTION paceline.set_progress(p_incarnation bigint, p_ids bigint[], p_fences bigint[], p_progress jsonb[])
RETURNS bigint[]   -- refused
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_mine bigint[];
BEGIN
    PERFORM paceline.own(p_incarnation);
    v_mine := paceline.mine(p_incarnation, p_ids, p_fences);
    UPDATE paceline.job j SET progress = p_progress[array_position(p_ids, j.id)] WHERE j.id = ANY (v_mine);
    RETURN paceline.refused(p_ids, v_mine);
END $$;
