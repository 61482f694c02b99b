-- Requests that carry a key of their own and are done once, however often they are sent: what the first one made is what the
-- others get. The row is made first, so a second one at the same time waits for the commit of the first.
CREATE TABLE paceline.once (
    pool    integer NOT NULL REFERENCES paceline.pool,
    key     text NOT NULL,
    request bytea NOT NULL,                 -- SHA-256: the same key must mean the same request
    jobs    bigint[] NOT NULL DEFAULT '{}',
    until   timestamptz NOT NULL,
    PRIMARY KEY (pool, key)
);
CREATE INDEX once_until ON paceline.once (until);

-- Jobs that somebody enqueued and waits for, and how long: then they are cancelled, also if whoever kept the time for him has
-- died meanwhile.
CREATE TABLE paceline.call (
    job   bigint PRIMARY KEY,
    until timestamptz NOT NULL
);
CREATE INDEX call_until ON paceline.call (until);

-- The jobs that a key has made; NULL if it is new, and from now on the caller's.
CREATE FUNCTION paceline.made_once(p_pool integer, p_key text, p_request bytea, p_seconds float8) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_old paceline.once;
BEGIN
    LOOP
        DELETE FROM paceline.once o WHERE o.pool = p_pool AND o.key = p_key AND o.until <= v_now;
        INSERT INTO paceline.once (pool, key, request, until)
        VALUES (p_pool, p_key, p_request, v_now + make_interval(secs => p_seconds)) ON CONFLICT DO NOTHING;
        IF FOUND THEN
            RETURN NULL;
        END IF;
        SELECT o.* INTO v_old FROM paceline.once o WHERE o.pool = p_pool AND o.key = p_key;
        EXIT WHEN FOUND;   -- else it was just forgotten
    END LOOP;
    IF v_old.request <> p_request THEN
        RAISE EXCEPTION 'idempotency key "%" was used for another request', p_key
            USING ERRCODE = 'PL010', HINT = 'give each request a key of its own, and repeat it unchanged';
    END IF;
    RETURN v_old.jobs;
END $$;

-- Enqueue for somebody who may say it twice (p_once) or who waits for so many seconds (p_wait, for each job). As
-- paceline.enqueue, whose arrays it takes; `created` is false for whoever comes later with a key.
CREATE FUNCTION paceline.enqueue_once(
    p_once text, p_request bytea, p_seconds float8, p_wait float8[], p_pool text, p_kind text[], p_payload jsonb[],
    p_priority smallint[] DEFAULT NULL, p_run_at timestamptz[] DEFAULT NULL, p_delay float8[] DEFAULT NULL,
    p_expires_at timestamptz[] DEFAULT NULL, p_ttl float8[] DEFAULT NULL,
    p_key text[] DEFAULT NULL, p_key_limit integer[] DEFAULT NULL, p_dedupe text[] DEFAULT NULL,
    p_tags text[] DEFAULT NULL, p_tolerations text[] DEFAULT NULL, p_max_tries smallint[] DEFAULT NULL,
    p_max_losses smallint[] DEFAULT NULL, p_timeout_ms integer[] DEFAULT NULL, p_trace text[] DEFAULT NULL
) RETURNS TABLE (id bigint, created boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_pool constant integer := paceline.pool_for(p_pool);
    v_now timestamptz;
    v_ids bigint[];
    v_created boolean[];
BEGIN
    PERFORM paceline.require(v_pool, 'producer', 'gateway');
    IF p_once IS NOT NULL THEN
        v_ids := paceline.made_once(v_pool, p_once, p_request, p_seconds);
    END IF;
    v_now := clock_timestamp();
    IF v_ids IS NOT NULL THEN   -- whoever waits longest decides when it is given up
        UPDATE paceline.call c SET until = greatest(c.until, v_now + make_interval(secs => w.seconds))
          FROM unnest(v_ids, p_wait) w (job, seconds) WHERE c.job = w.job AND w.seconds IS NOT NULL;
        RETURN QUERY SELECT u.job, false FROM unnest(v_ids) WITH ORDINALITY u (job, place) ORDER BY u.place;
        RETURN;
    END IF;
    SELECT array_agg(e.id ORDER BY e.place), array_agg(e.created ORDER BY e.place) INTO v_ids, v_created
      FROM paceline.enqueue(p_pool, p_kind, p_payload, p_priority, p_run_at, p_delay, p_expires_at, p_ttl, p_key, p_key_limit,
                            p_dedupe, p_tags, p_tolerations, p_max_tries, p_max_losses, p_timeout_ms, p_trace)
           WITH ORDINALITY e (id, created, place);
    UPDATE paceline.once o SET jobs = v_ids WHERE o.pool = v_pool AND o.key = p_once;
    IF p_wait IS NOT NULL THEN   -- one that was there before (dedupe) is somebody else's: it is not given up for this caller
        INSERT INTO paceline.call (job, until)
        SELECT w.job, v_now + make_interval(secs => w.seconds)
          FROM unnest(v_ids, v_created, p_wait) w (job, created, seconds) WHERE w.created;
        UPDATE paceline.job j SET awaited = true
         WHERE j.id = ANY (ARRAY(SELECT w.job FROM unnest(v_ids, v_created) w (job, created) WHERE w.created));
    END IF;
    RETURN QUERY SELECT u.job, u.created FROM unnest(v_ids, v_created) WITH ORDINALITY u (job, created, place) ORDER BY u.place;
END $$;

-- Calls whose time is over. What runs is cancelled, and its runner told; what does not is taken out. One that somebody else
-- is just writing about is left for the next time. A dead letter that was put back is nobody's call any more.
CREATE FUNCTION paceline.give_up_calls() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_id bigint;
    v_owner bigint;
    v_job paceline.job;
BEGIN
    DELETE FROM paceline.call c WHERE c.job = ANY (ARRAY(
        SELECT x.job FROM paceline.call x
         WHERE x.until <= v_now AND NOT EXISTS (SELECT FROM paceline.job j WHERE j.id = x.job AND j.awaited)
         LIMIT 10000 FOR UPDATE SKIP LOCKED));
    FOR v_id IN SELECT c.job FROM paceline.call c WHERE c.until <= v_now ORDER BY c.until LIMIT 100 FOR UPDATE SKIP LOCKED LOOP
        -- the runner's row first, as everybody does who takes jobs away from a runner
        v_owner := (SELECT j.incarnation FROM paceline.job j WHERE j.id = v_id);
        IF v_owner IS NOT NULL THEN
            PERFORM FROM paceline.incarnation i WHERE i.id = v_owner FOR NO KEY UPDATE SKIP LOCKED;
            CONTINUE WHEN NOT FOUND;
        END IF;
        SELECT j.* INTO v_job FROM paceline.job j WHERE j.id = v_id FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND OR v_job.incarnation IS DISTINCT FROM v_owner;
        IF v_job.state = 'x' THEN
            UPDATE paceline.job j SET cancel = true WHERE j.id = v_id;
            UPDATE paceline.incarnation i SET cancels = true WHERE i.id = v_owner;
            PERFORM paceline.wake(ARRAY(SELECT i.pool FROM paceline.incarnation i WHERE i.id = v_owner));
        ELSE
            PERFORM paceline.finish(ARRAY[v_id], 'c');
        END IF;
        DELETE FROM paceline.call c WHERE c.job = v_id;
    END LOOP;
END $$;
