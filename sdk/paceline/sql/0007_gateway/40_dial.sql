-- Runners that dial out: they come with a token, and a gateway claims, beats and writes for them. Everything passes the same
-- functions as for runners with a login of their own; what is here is what only they need. Locks are taken as everywhere: the
-- row of the incarnation first, then what is offered to it, then its jobs.

-- Register the runner that a token is for; with p_socket its first connection is there already. The lease is 30 s, or two and
-- a half heartbeats. The token is held to the commit: a revocation sees this registration, or this sees the revocation. Its group
-- is locked before it, as by whoever deletes a group, and its tokens with it.
CREATE FUNCTION paceline.dial(
    p_token text, p_kinds text[], p_tags text[] DEFAULT '{}', p_slots integer DEFAULT 1, p_heartbeat float8 DEFAULT 10,
    p_hostname text DEFAULT '', p_revision text DEFAULT NULL, p_socket boolean DEFAULT false
) RETURNS TABLE (incarnation bigint, name text, pool integer, pool_name text, state "char", slots integer, lease float8,
                 session bigint, refused bigint[], undelivered integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_token paceline.token;
    v_group paceline.runner_group;
BEGIN
    PERFORM FROM paceline.runner_group g WHERE g.id = (SELECT t.grp FROM paceline.token t WHERE t.id = p_token) FOR SHARE;
    SELECT t.* INTO v_token FROM paceline.token t WHERE t.id = p_token AND t.kind = 'rk' FOR SHARE;
    PERFORM paceline.require(v_token.pool, 'gateway');
    IF v_token.id IS NULL OR v_token.revoked_at IS NOT NULL OR v_token.expires_at <= clock_timestamp() THEN
        RAISE EXCEPTION 'token "%" is not good any more', p_token USING ERRCODE = 'PL001', HINT = 'make a new one: paceline token create';
    END IF;
    SELECT g.* INTO v_group FROM paceline.runner_group g WHERE g.id = v_token.grp;
    SELECT r.incarnation INTO incarnation FROM paceline.register(
        v_token.runner, (SELECT p.name FROM paceline.pool p WHERE p.id = v_token.pool), p_kinds, p_tags, p_slots,
        greatest(30, 2.5 * p_heartbeat), v_group.install, coalesce(v_group.namespace, ''), v_group.name, true, p_hostname,
        NULL, p_revision) r;
    UPDATE paceline.incarnation i
       SET token = p_token, session = CASE WHEN p_socket THEN nextval('paceline.session') END
     WHERE i.id = incarnation;
    RETURN QUERY SELECT d.*, '{}'::bigint[], 0 FROM paceline.dialled_as(incarnation) d;
END $$;

-- What a runner is told of its registration.
CREATE FUNCTION paceline.dialled_as(p_incarnation bigint)
RETURNS TABLE (incarnation bigint, name text, pool integer, pool_name text, state "char", slots integer, lease float8,
               session bigint)
LANGUAGE sql STABLE AS $$
    SELECT i.id, r.name, i.pool, p.name, i.state, i.slots, date_part('epoch', i.lease), i.session
      FROM paceline.incarnation i JOIN paceline.runner r ON r.id = i.runner JOIN paceline.pool p ON p.id = i.pool
     WHERE i.id = p_incarnation
$$;

-- A registration of this token, or the error that it is none. Neither pool nor slots ever change.
CREATE FUNCTION paceline.dialled(p_token text, p_incarnation bigint, OUT pool integer, OUT slots integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    SELECT i.pool, i.slots INTO pool, slots FROM paceline.incarnation i WHERE i.id = p_incarnation AND i.token = p_token;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'registration % is not one of this token', p_incarnation
            USING ERRCODE = 'PL005', HINT = 'register, and use the number that you get';
    END IF;
    PERFORM paceline.require(pool, 'gateway');
END $$;

-- A socket is there for a registration of this token, and from now on it is the only one. What the end of the last one had
-- begun is over. The lock waits for a claim that is under way for the last one; what was offered to it and is not named here
-- never arrived, and goes back (`undelivered`: how many). `refused`: runs that are named and not its own any more. No row: the
-- registration has ended.
CREATE FUNCTION paceline.resume(p_token text, p_incarnation bigint, p_jobs bigint[] DEFAULT '{}', p_fences bigint[] DEFAULT '{}')
RETURNS TABLE (incarnation bigint, name text, pool integer, pool_name text, state "char", slots integer, lease float8,
               session bigint, refused bigint[], undelivered integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_jobs bigint[];
    v_fences bigint[];
    v_back bigint[];
BEGIN
    PERFORM paceline.dialled(p_token, p_incarnation);
    PERFORM pg_current_xact_id();
    PERFORM FROM paceline.incarnation i
      WHERE i.id = p_incarnation AND i.state <> 'z' AND i.lease_until > clock_timestamp() FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    UPDATE paceline.incarnation i
       SET session = nextval('paceline.session'), lease_until = clock_timestamp() + i.lease, suspect = NULL, lapsed = false
     WHERE i.id = p_incarnation;
    SELECT array_agg(o.job), array_agg(o.fence) INTO v_jobs, v_fences FROM paceline.offer o
     WHERE o.incarnation = p_incarnation
       AND NOT EXISTS (SELECT FROM unnest(p_jobs, p_fences) n (job, fence) WHERE n.job = o.job AND n.fence = o.fence);
    v_back := paceline.take_back(p_incarnation, v_jobs, v_fences, 'Undelivered');
    DELETE FROM paceline.offer o   -- one that is passed by is left to the sweep
     WHERE o.incarnation = p_incarnation AND (o.job = ANY (v_back) OR o.job <> ALL (coalesce(v_jobs, '{}')));
    RETURN QUERY SELECT d.*, paceline.not_held(p_incarnation, p_jobs, p_fences), cardinality(v_back)
                   FROM paceline.dialled_as(p_incarnation) d;
END $$;

-- The socket of a registration has gone. If it is still the current one, the runner has so many seconds to come back; then the
-- sweep finds it. Jobs whose caller waits are lost at once. Returns whether it was.
CREATE FUNCTION paceline.drop_dialled(p_incarnation bigint, p_session bigint, p_seconds float8) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM paceline.own(p_incarnation);
    PERFORM FROM paceline.incarnation i WHERE i.id = p_incarnation AND i.state <> 'z' AND i.session = p_session FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE paceline.incarnation i   -- a heartbeat of that socket that is still on its way counts no more
       SET session = NULL, suspect = 'Disconnected',
           lease_until = least(i.lease_until, clock_timestamp() + make_interval(secs => p_seconds))
     WHERE i.id = p_incarnation;
    PERFORM paceline.lose_jobs(ARRAY[p_incarnation], 'Disconnected', true);
    RETURN true;
END $$;

-- Jobs of incarnations that are gone: claimable again at once; one loss charged, no try. Or (p_calls) only those of callers,
-- of an incarnation that may come back; whoever merely follows a job can wait for that.
DROP FUNCTION paceline.lose_jobs(bigint[], text);
CREATE FUNCTION paceline.lose_jobs(p_incarnations bigint[], p_cause text, p_calls boolean DEFAULT false) RETURNS integer
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_jobs bigint[];
    v_poison bigint[];
    v_cancelled bigint[];
    v_pools integer[];
BEGIN
    PERFORM pg_current_xact_id();
    SELECT array_agg(x.id), array_agg(x.id) FILTER (WHERE x.losses >= x.max_losses AND NOT x.cancel),
           array_agg(x.id) FILTER (WHERE x.cancel)
      INTO v_jobs, v_poison, v_cancelled
      FROM (SELECT j.id, j.losses, j.max_losses, j.cancel FROM paceline.job j
             WHERE j.incarnation = ANY (p_incarnations) AND j.state = 'x'
               AND (NOT p_calls OR j.awaited AND EXISTS (SELECT FROM paceline.call c WHERE c.job = j.id))
             ORDER BY j.id FOR UPDATE) x;
    IF v_jobs IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM paceline.note_attempts(v_jobs, 'l', p_cause, NULL, NULL);
    PERFORM paceline.finish(v_cancelled, 'c');
    PERFORM paceline.bury(v_poison, 'Poison',
                          'its runner was lost more often than max_losses allows; last cause: ' || p_cause, 0, 1);
    WITH back AS (
        UPDATE paceline.job j
           SET state = 'r', incarnation = NULL, claimed_at = NULL, losses = j.losses + 1,
               seq = nextval('paceline.seq'), ready_at = v_now
         WHERE j.id = ANY (v_jobs) RETURNING j.lane)
    SELECT array_agg(DISTINCT l.pool) INTO v_pools FROM back JOIN paceline.lane l ON l.id = back.lane;
    PERFORM paceline.wake(v_pools);
    RETURN cardinality(v_jobs);
END $$;
