-- Runners and their registrations. Whoever takes something away from an incarnation locks its row FOR UPDATE first and
-- looks at its jobs in a later statement: a claim in flight holds the row FOR KEY SHARE to its commit, so it is either
-- over and seen, or has not begun.

-- Jobs of incarnations that are gone: claimable again at once; one loss charged, no try.
CREATE FUNCTION paceline.lose_jobs(p_incarnations bigint[], p_cause text) RETURNS integer
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
             WHERE j.incarnation = ANY (p_incarnations) AND j.state = 'x' ORDER BY j.id FOR UPDATE) x;
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

-- The end of incarnations whose rows the caller has locked FOR UPDATE.
CREATE FUNCTION paceline.end_incarnations(p_incarnations bigint[], p_cause text, p_wait boolean DEFAULT true) RETURNS integer
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE v_groups integer[];
BEGIN
    IF coalesce(cardinality(p_incarnations), 0) = 0 THEN
        RETURN 0;
    END IF;
    UPDATE paceline.incarnation i SET state = 'z', ended_at = clock_timestamp(), cause = p_cause
     WHERE i.id = ANY (p_incarnations) AND i.state <> 'z';
    SELECT array_agg(l.grp) INTO v_groups FROM paceline.leader l WHERE l.incarnation = ANY (p_incarnations);
    PERFORM paceline.elect(g, p_wait) FROM unnest(v_groups) g;
    RETURN paceline.lose_jobs(p_incarnations, p_cause);
END $$;

CREATE FUNCTION paceline.register(
    p_name text, p_pool text, p_kinds text[], p_tags text[] DEFAULT '{}', p_slots integer DEFAULT 1,
    p_lease float8 DEFAULT 30, p_install text DEFAULT NULL, p_namespace text DEFAULT '', p_group text DEFAULT NULL,
    p_external boolean DEFAULT true, p_hostname text DEFAULT '', p_pod_uid text DEFAULT NULL, p_revision text DEFAULT NULL
) RETURNS TABLE (incarnation bigint, runner bigint, grp integer, pool integer, state "char", lease_until timestamptz,
                 pool_name text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_group paceline.runner_group;
    v_runner paceline.runner;
    v_old bigint[];
    v_id bigint;
BEGIN
    IF p_group IS NULL THEN   -- no operator: the pool is its own group
        v_group.pool := paceline.pool_for(p_pool);
        PERFORM paceline.require(v_group.pool, 'runner', 'gateway');
        INSERT INTO paceline.runner_group (name, pool) VALUES (p_pool, v_group.pool) ON CONFLICT DO NOTHING;
        SELECT g.* INTO STRICT v_group FROM paceline.runner_group g
         WHERE g.install = '' AND g.namespace = '' AND g.name = p_pool FOR SHARE;
    ELSE
        IF (SELECT count(*) FROM paceline.runner_group g WHERE g.namespace = p_namespace AND g.name = p_group) > 1
           AND p_install IS NULL THEN
            RAISE EXCEPTION 'several installations have a RunnerGroup %/% in this database', p_namespace, p_group
                USING ERRCODE = 'PL006', HINT = 'say which one with --install (PACELINE_INSTALL)';
        END IF;
        SELECT g.* INTO v_group FROM paceline.runner_group g
         WHERE g.install = coalesce(p_install, g.install) AND g.namespace = p_namespace AND g.name = p_group FOR SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'there is no RunnerGroup %/% in this database', p_namespace, p_group
                USING ERRCODE = 'PL005', HINT = 'apply it first, or serve a pool with --pool';
        END IF;
        PERFORM paceline.require(v_group.pool, 'runner', 'gateway');
    END IF;
    INSERT INTO paceline.runner (grp, install, namespace, name, external)
    VALUES (v_group.id, v_group.install, v_group.namespace, p_name, p_external) ON CONFLICT DO NOTHING;
    SELECT r.* INTO STRICT v_runner FROM paceline.runner r
     WHERE r.install = v_group.install AND r.namespace = v_group.namespace AND r.name = p_name FOR UPDATE;
    IF v_runner.grp <> v_group.id THEN
        RAISE EXCEPTION 'a Runner called "%" belongs to group "%" here', p_name,
              (SELECT g.name FROM paceline.runner_group g WHERE g.id = v_runner.grp)
            USING ERRCODE = 'PL006', HINT = 'choose another name (--name, PACELINE_NODE_ID)';
    END IF;
    IF v_runner.external <> p_external THEN
        RAISE EXCEPTION 'a Runner called "%" lives % the cluster', p_name, CASE WHEN v_runner.external THEN 'outside' ELSE 'in' END
            USING ERRCODE = 'PL006', HINT = 'choose another name (--name, PACELINE_NODE_ID)';
    END IF;
    UPDATE paceline.runner r SET seen_at = clock_timestamp() WHERE r.id = v_runner.id;
    -- the newest registration wins: a live predecessor is fenced, a draining one finishes
    SELECT array_agg(x.id) INTO v_old FROM (
        SELECT i.id FROM paceline.incarnation i WHERE i.runner = v_runner.id AND i.state = 'a' ORDER BY i.id FOR UPDATE) x;
    INSERT INTO paceline.incarnation AS i (runner, pool, login, state, lease, lease_until, hostname, pod_uid, revision,
                                           slots, kinds, tags)
    SELECT v_runner.id, v_group.pool, session_user,
           CASE WHEN v_runner.retiring
                     OR EXISTS (SELECT FROM paceline.effective_taints(v_runner.id) t WHERE t.effect = 'Drain')
                THEN 'd' ELSE 'a' END::"char",
           make_interval(secs => p_lease), clock_timestamp() + make_interval(secs => p_lease), p_hostname, p_pod_uid,
           p_revision, p_slots, p_kinds, p_tags
    RETURNING i.id INTO v_id;
    PERFORM paceline.end_incarnations(v_old, 'Replaced');
    PERFORM paceline.refresh_lanes(ARRAY[v_id]);
    PERFORM paceline.elect(v_group.id) WHERE v_group.leader;
    RETURN QUERY SELECT i.id, i.runner, v_group.id, i.pool, i.state, i.lease_until, p.name
                   FROM paceline.incarnation i JOIN paceline.pool p ON p.id = i.pool WHERE i.id = v_id;
END $$;

-- An incarnation of the caller's own, or the error that says whose it is not. One that is forgotten is nobody's, and
-- there is nothing left that could be done to it.
CREATE FUNCTION paceline.own(p_incarnation bigint) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE v_login text; v_pool integer;
BEGIN
    SELECT i.login, i.pool INTO v_login, v_pool FROM paceline.incarnation i WHERE i.id = p_incarnation;
    IF FOUND AND v_login <> session_user THEN
        PERFORM paceline.require(v_pool, 'gateway', 'operator');
    END IF;
END $$;

-- One update on a row of its own page: heartbeats never wait for a claim. A lease that has ended is not revived; `cause`
-- says by whom. `leave`: it is tainted to drain, so its jobs go back at the drain's timeout; else it may take its time.
-- It also notes since when it has held nothing, in the same update: work that began and ended between two heartbeats is
-- not seen.
CREATE FUNCTION paceline.heartbeat(p_incarnation bigint)
RETURNS TABLE (verdict text, lease_until timestamptz, cancelled bigint[], cause text, leave boolean, held integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v paceline.incarnation;
    v_held constant integer := (SELECT count(*) FROM paceline.job j WHERE j.incarnation = p_incarnation AND j.state = 'x');
BEGIN
    PERFORM paceline.own(p_incarnation);
    UPDATE paceline.incarnation i
       SET lease_until = clock_timestamp() + i.lease,
           idle_since = CASE WHEN v_held = 0 THEN coalesce(i.idle_since, clock_timestamp()) END
     WHERE i.id = p_incarnation AND i.state <> 'z' AND i.lease_until > clock_timestamp()
    RETURNING i.* INTO v;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'fenced', NULL::timestamptz, NULL::bigint[],
            coalesce((SELECT i.cause FROM paceline.incarnation i WHERE i.id = p_incarnation), 'LeaseExpired'), false, 0;
    ELSE
        RETURN QUERY SELECT
            CASE v.state WHEN 'd' THEN 'draining' ELSE 'ok' END, v.lease_until,
            CASE WHEN v.cancels THEN paceline.cancelled(p_incarnation) END, NULL,
            v.state = 'd' AND EXISTS (SELECT FROM paceline.effective_taints(v.runner) t WHERE t.effect = 'Drain'), v_held;
    END IF;
END $$;

-- What an incarnation holds, for a runner that did not hear the answer to a claim. The lock waits for a claim in flight.
CREATE FUNCTION paceline.held(p_incarnation bigint) RETURNS TABLE (id bigint, fence bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM paceline.own(p_incarnation);
    PERFORM FROM paceline.incarnation i WHERE i.id = p_incarnation FOR UPDATE;
    RETURN QUERY SELECT j.id, j.fence FROM paceline.job j WHERE j.incarnation = p_incarnation AND j.state = 'x';
END $$;

CREATE FUNCTION paceline.cancelled(p_incarnation bigint) RETURNS bigint[]
LANGUAGE sql STABLE AS $$
    SELECT array_agg(j.id) FROM paceline.job j WHERE j.incarnation = p_incarnation AND j.state = 'x' AND j.cancel
$$;

-- After this has committed the incarnation claims nothing; returns how many jobs it still holds.
CREATE FUNCTION paceline.drain(p_incarnation bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM paceline.own(p_incarnation);
    PERFORM FROM paceline.incarnation i WHERE i.id = p_incarnation FOR UPDATE;
    UPDATE paceline.incarnation i SET state = 'd' WHERE i.id = p_incarnation AND i.state = 'a';
    PERFORM paceline.elect(l.grp) FROM paceline.leader l WHERE l.incarnation = p_incarnation;
    RETURN (SELECT count(*) FROM paceline.job j WHERE j.incarnation = p_incarnation AND j.state = 'x');
END $$;

-- The end of a process that nobody will hear from again; what it held is claimable with this commit.
CREATE FUNCTION paceline.fence_incarnation(p_incarnation bigint, p_cause text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM paceline.own(p_incarnation);
    PERFORM FROM paceline.incarnation i WHERE i.id = p_incarnation AND i.state <> 'z' FOR UPDATE;
    RETURN CASE WHEN FOUND THEN paceline.end_incarnations(ARRAY[p_incarnation], p_cause) ELSE 0 END;
END $$;

-- A clean goodbye: whatever is still held goes back without a charge.
CREATE FUNCTION paceline.deregister(p_incarnation bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_ids bigint[]; v_fences bigint[];
BEGIN
    PERFORM paceline.own(p_incarnation);
    PERFORM FROM paceline.incarnation i WHERE i.id = p_incarnation AND i.state <> 'z' FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    SELECT array_agg(j.id), array_agg(j.fence) INTO v_ids, v_fences
      FROM paceline.job j WHERE j.incarnation = p_incarnation AND j.state = 'x';
    PERFORM paceline.hand_back(p_incarnation, v_ids, v_fences, 'Deregistered');
    PERFORM paceline.end_incarnations(ARRAY[p_incarnation], 'Deregistered');
    RETURN coalesce(cardinality(v_ids), 0);
END $$;

-- What a change of taints means for incarnations whose rows the caller has locked FOR UPDATE.
CREATE FUNCTION paceline.apply_taints(p_incarnations bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM paceline.refresh_lanes(p_incarnations);
    UPDATE paceline.incarnation i SET state = 'd'
     WHERE i.id = ANY (p_incarnations) AND i.state = 'a'
       AND EXISTS (SELECT FROM paceline.effective_taints(i.runner) t WHERE t.effect = 'Drain');
END $$;

-- The taints of a Runner from one source, all at once; other sources are not touched.
CREATE FUNCTION paceline.taint_runner(p_runner bigint, p_source text, p_keys text[], p_values text[], p_effects text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_group integer; v_ids bigint[];
BEGIN
    SELECT r.grp INTO v_group FROM paceline.runner r WHERE r.id = p_runner FOR UPDATE;
    IF p_source <> 'cli' OR NOT EXISTS (SELECT FROM paceline.incarnation i   -- a runner may taint itself
                                         WHERE i.runner = p_runner AND i.state <> 'z' AND i.login = session_user) THEN
        PERFORM paceline.require((SELECT g.pool FROM paceline.runner_group g WHERE g.id = v_group), 'operator', 'gateway');
    END IF;
    SELECT array_agg(x.id) INTO v_ids FROM (
        SELECT i.id FROM paceline.incarnation i WHERE i.runner = p_runner AND i.state <> 'z' ORDER BY i.id FOR UPDATE) x;
    DELETE FROM paceline.runner_taint t WHERE t.runner = p_runner AND t.source = p_source;
    INSERT INTO paceline.runner_taint (runner, source, key, value, effect)
    SELECT p_runner, p_source, t.key, t.value, t.effect FROM unnest(p_keys, p_values, p_effects) t (key, value, effect)
    ON CONFLICT (runner, source, key, effect) DO UPDATE SET value = excluded.value;
    PERFORM paceline.apply_taints(v_ids);
    PERFORM paceline.elect(v_group);
    PERFORM paceline.wake(ARRAY(SELECT g.pool FROM paceline.runner_group g WHERE g.id = v_group));   -- who may claim more now
END $$;

CREATE FUNCTION paceline.taint_group(p_group integer, p_source text, p_keys text[], p_values text[], p_effects text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_ids bigint[];
BEGIN
    PERFORM FROM paceline.runner_group g WHERE g.id = p_group FOR UPDATE;   -- a registration holds it FOR SHARE
    PERFORM paceline.require((SELECT g.pool FROM paceline.runner_group g WHERE g.id = p_group), 'operator', 'gateway');
    SELECT array_agg(x.id) INTO v_ids FROM (
        SELECT i.id FROM paceline.incarnation i JOIN paceline.runner r ON r.id = i.runner
         WHERE r.grp = p_group AND i.state <> 'z' ORDER BY i.id FOR UPDATE OF i) x;
    DELETE FROM paceline.group_taint t WHERE t.grp = p_group AND t.source = p_source;
    INSERT INTO paceline.group_taint (grp, source, key, value, effect)
    SELECT p_group, p_source, t.key, t.value, t.effect FROM unnest(p_keys, p_values, p_effects) t (key, value, effect)
    ON CONFLICT (grp, source, key, effect) DO UPDATE SET value = excluded.value;
    PERFORM paceline.apply_taints(v_ids);
    PERFORM paceline.elect(p_group);
    PERFORM paceline.wake(ARRAY(SELECT g.pool FROM paceline.runner_group g WHERE g.id = p_group));
END $$;
