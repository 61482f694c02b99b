-- What a gateway has claimed for a runner that has not said yet that it has it. A gateway that dies between claim and send, or
-- a runner that never gets what was sent, loses nothing: what is not confirmed in time goes back. Direct runners have no rows here.
CREATE TABLE paceline.offer (
    job         bigint PRIMARY KEY,
    fence       bigint NOT NULL,
    incarnation bigint NOT NULL,
    until       timestamptz NOT NULL
);
CREATE INDEX offer_until ON paceline.offer (until);

-- Runs that nobody confirmed in time, until a gateway has counted them.
CREATE TABLE paceline.unconfirmed (
    pool integer NOT NULL REFERENCES paceline.pool,
    runs integer NOT NULL
);

-- Claim for several runners of a pool, one after the other, in one call. Each is a connection: its incarnation, the session of
-- its socket (NULL: a poll), and how many it wants. Where one found less than it wanted its lanes are dry, and whoever could
-- claim from no other lanes is not tried: a wake-up for a thousand that wait costs two claims. A lane that was late to it
-- (it leaves what is younger than 5 s to others) is dry only for those to whom it is late too.
--
-- Nobody is waited for: whoever is just being drained, tainted or ended is passed by. He who does that wakes the pool or ends it.
--
-- A row for each that was looked at. Verdict `moved`: another socket has the registration now; `lapsed`: a run that was claimed for
-- it went back unconfirmed, and it gets nothing. That is said once: whoever asks again has heard of it. The last row is about the
-- pool and has no incarnation: verdict `more` if there is ready work in lanes that nobody here has found dry; `listening` as of
-- a step.
CREATE FUNCTION paceline.offer(
    p_pool integer, p_incarnations bigint[], p_sessions bigint[], p_wants integer[], p_seconds float8, p_listen float8 DEFAULT NULL)
RETURNS TABLE (
    incarnation bigint, verdict text, cancelled bigint[], fence bigint, ids bigint[], kinds text[], payloads jsonb[],
    priorities smallint[], tries smallint[], losses smallint[], timeouts_ms integer[], traces text[], waited float8[],
    listening boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_dry integer[] := '{}';
    v_dry_if_late integer[] := '{}';
    v_tried boolean := false;
    v_listening boolean;
    v_session bigint;
    v_lapsed boolean;
    v record;
    s record;
BEGIN
    PERFORM paceline.require(p_pool, 'gateway');
    PERFORM pg_current_xact_id();
    PERFORM paceline.refresh_lanes(ARRAY(   -- all at once, and before any job is locked
        SELECT i.id FROM paceline.incarnation i JOIN paceline.pool p ON p.id = i.pool
         WHERE i.id = ANY (p_incarnations) AND i.pool = p_pool AND i.state = 'a' AND i.lane_version <> p.lane_version
         ORDER BY i.id FOR NO KEY UPDATE OF i SKIP LOCKED));
    IF (SELECT t.next_at <= v_now FROM paceline.tick t) THEN   -- not by a step: it may find that one of these let a run lapse
        PERFORM paceline.tick_safely();
    END IF;
    FOR v IN
        SELECT a.id, a.session, a.want, i.cancels, i.late,
               CASE WHEN i.lane_version = p.lane_version AND i.late = '{}' THEN i.lanes || i.special
                    WHEN i.lane_version = p.lane_version
                    THEN i.lanes || ARRAY(SELECT x FROM unnest(i.special) x WHERE x <> ALL (i.late)) END AS lanes,
               CASE WHEN i.id IS NULL OR i.state = 'z' OR i.lease_until <= v_now THEN 'fenced'
                    WHEN i.state = 'd' THEN 'draining'
                    WHEN p.paused OR g.paused THEN 'paused'
                    WHEN p.leader_group IS NOT NULL AND l.incarnation IS DISTINCT FROM i.id THEN 'standby' END AS closed
          FROM unnest(p_incarnations, p_sessions, p_wants) WITH ORDINALITY a (id, session, want, place)
          LEFT JOIN paceline.incarnation i ON i.id = a.id AND i.pool = p_pool
          LEFT JOIN paceline.pool p ON p.id = i.pool
          LEFT JOIN paceline.runner r ON r.id = i.runner
          LEFT JOIN paceline.runner_group g ON g.id = r.grp
          LEFT JOIN paceline.leader l ON l.grp = p.leader_group
         ORDER BY a.place
    LOOP
        CONTINUE WHEN v.closed IS NULL AND v_tried AND NOT v.cancels
                      AND v.lanes <@ v_dry AND v.late <@ (v_dry || v_dry_if_late);
        incarnation := v.id; verdict := v.closed; cancelled := NULL; ids := NULL;
        IF v.closed IS NULL THEN
            SELECT i.session, i.lapsed INTO v_session, v_lapsed
              FROM paceline.incarnation i WHERE i.id = v.id FOR KEY SHARE SKIP LOCKED;
            CONTINUE WHEN NOT FOUND;
            IF v.session IS NOT NULL AND v_session IS DISTINCT FROM v.session THEN
                verdict := 'moved';
            ELSIF v_lapsed THEN
                PERFORM FROM paceline.incarnation i WHERE i.id = v.id FOR NO KEY UPDATE SKIP LOCKED;
                CONTINUE WHEN NOT FOUND;   -- it is just saying something
                UPDATE paceline.incarnation i SET lapsed = false WHERE i.id = v.id;
                verdict := 'lapsed';
            ELSE
                SELECT x.* INTO s FROM paceline.step(v.id, v.want, p_listen => p_listen) x;
                verdict := s.verdict; cancelled := s.cancelled; fence := s.fence; ids := s.ids; kinds := s.kinds;
                payloads := s.payloads; priorities := s.priorities; tries := s.tries; losses := s.losses;
                timeouts_ms := s.timeouts_ms; traces := s.traces; waited := s.waited;
                v_listening := coalesce(v_listening AND s.listening, s.listening, v_listening);
                INSERT INTO paceline.offer AS o (job, fence, incarnation, until)
                SELECT j, s.fence, v.id, clock_timestamp() + make_interval(secs => p_seconds) FROM unnest(s.ids) j
                ON CONFLICT (job) DO UPDATE SET fence = excluded.fence, incarnation = excluded.incarnation, until = excluded.until;
                IF s.verdict = 'ok' AND coalesce(cardinality(s.ids), 0) < v.want THEN
                    v_tried := true;
                    v_dry := v_dry || v.lanes;
                    v_dry_if_late := v_dry_if_late || v.late;
                END IF;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
    incarnation := NULL; cancelled := NULL; ids := NULL;
    listening := CASE WHEN p_listen IS NOT NULL THEN coalesce(v_listening, paceline.listen(p_pool, p_listen)) END;
    verdict := CASE WHEN EXISTS (
        SELECT FROM paceline.lane l JOIN paceline.band b ON b.lane = l.id
         WHERE l.pool = p_pool AND l.id <> ALL (v_dry) AND EXISTS (
            SELECT FROM paceline.job j
             WHERE j.state = 'r' AND j.lane = b.lane AND j.priority = b.priority AND j.seq >= b.low)) THEN 'more' ELSE 'ok' END;
    RETURN NEXT;
END $$;

-- Jobs that were claimed for an incarnation and did not reach it: ready again at once, nothing charged. The caller has locked
-- its row FOR UPDATE. Housekeeping waits for nobody, so a job that somebody else holds is passed by; returns those that went.
CREATE FUNCTION paceline.take_back(p_incarnation bigint, p_jobs bigint[], p_fences bigint[], p_cause text) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    v_mine bigint[];
    v_cancelled bigint[];
BEGIN
    SELECT array_agg(x.id), array_agg(x.id) FILTER (WHERE x.cancel) INTO v_mine, v_cancelled FROM (
        SELECT j.id, j.cancel FROM paceline.job j
         WHERE j.id = ANY (p_jobs) AND j.incarnation = p_incarnation AND j.fence = p_fences[array_position(p_jobs, j.id)]
         ORDER BY j.id FOR UPDATE SKIP LOCKED) x;
    IF v_mine IS NULL THEN
        RETURN '{}';
    END IF;
    PERFORM paceline.note_attempts(v_mine, 'h', p_cause, NULL, NULL);
    PERFORM paceline.finish(v_cancelled, 'c');
    UPDATE paceline.job j
       SET state = 'r', incarnation = NULL, claimed_at = NULL, seq = nextval('paceline.seq'), ready_at = clock_timestamp()
     WHERE j.id = ANY (v_mine);
    PERFORM paceline.wake(ARRAY(SELECT i.pool FROM paceline.incarnation i WHERE i.id = p_incarnation));
    RETURN v_mine;
END $$;

-- What was offered and not confirmed in time goes back. A runner that is just claimed for, or that is saying something, is
-- passed by and looked at again with the next tick: what it says may be the confirmation.
CREATE FUNCTION paceline.sweep_offers() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_owner bigint;
    v_jobs bigint[];
    v_fences bigint[];
    v_back bigint[];
BEGIN
    FOR v_owner IN SELECT DISTINCT o.incarnation FROM paceline.offer o WHERE o.until <= v_now ORDER BY 1 LIMIT 100 LOOP
        PERFORM FROM paceline.incarnation i WHERE i.id = v_owner FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND AND EXISTS (SELECT FROM paceline.incarnation i WHERE i.id = v_owner);
        SELECT array_agg(o.job), array_agg(o.fence) INTO v_jobs, v_fences
          FROM paceline.offer o WHERE o.incarnation = v_owner AND o.until <= v_now;
        v_back := paceline.take_back(v_owner, v_jobs, v_fences, 'Unconfirmed');
        UPDATE paceline.incarnation i SET lapsed = true WHERE i.id = v_owner AND v_back <> '{}';
        INSERT INTO paceline.unconfirmed (pool, runs)
        SELECT i.pool, cardinality(v_back) FROM paceline.incarnation i WHERE i.id = v_owner AND v_back <> '{}';
        DELETE FROM paceline.offer o
         WHERE o.job = ANY (v_jobs) AND o.incarnation = v_owner AND (o.job = ANY (v_back) OR NOT EXISTS (
            SELECT FROM paceline.job j WHERE j.id = o.job AND j.incarnation = o.incarnation AND j.fence = o.fence));
    END LOOP;
END $$;

-- How many runs nobody confirmed in time, in the pools of this gateway. Whoever asks counts them, so each is counted once.
CREATE FUNCTION paceline.take_unconfirmed() RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH counted AS (
        DELETE FROM paceline.unconfirmed u WHERE u.pool = ANY (paceline.visible(NULL, 'gateway')) RETURNING u.runs)
    SELECT coalesce(sum(c.runs), 0) FROM counted c
$$;

-- Of runs that an incarnation names, those that are not its own any more.
CREATE FUNCTION paceline.not_held(p_incarnation bigint, p_jobs bigint[], p_fences bigint[]) RETURNS bigint[]
LANGUAGE sql STABLE AS $$
    SELECT ARRAY(SELECT n.job FROM unnest(p_jobs, p_fences) n (job, fence) WHERE NOT EXISTS (
        SELECT FROM paceline.job j WHERE j.id = n.job AND j.incarnation = p_incarnation AND j.fence = n.fence))
$$;

-- Whatever is said of a run shows that it has arrived. Returns its tries so far; NULL: it is not the incarnation's any more.
CREATE FUNCTION paceline.confirm(p_incarnation bigint, p_job bigint, p_fence bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM paceline.own(p_incarnation);
    PERFORM FROM paceline.incarnation i WHERE i.id = p_incarnation FOR KEY SHARE;
    DELETE FROM paceline.offer o WHERE o.job = p_job AND o.fence = p_fence AND o.incarnation = p_incarnation;
    RETURN (SELECT j.tries FROM paceline.job j WHERE j.id = p_job AND j.incarnation = p_incarnation AND j.fence = p_fence);
END $$;
