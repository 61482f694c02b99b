-- Whoever changes a Runner locks its row, and no stronger than FOR NO KEY UPDATE: a transaction that writes a registration
-- twice (a step that finds new lanes while it does the housekeeping, a group that is told to drain) has its reference to
-- the Runner checked, and must not wait there for somebody who waits for the registration.

CREATE OR REPLACE FUNCTION paceline.register(
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
     WHERE r.install = v_group.install AND r.namespace = v_group.namespace AND r.name = p_name FOR NO KEY UPDATE;
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

-- The taints of a Runner from one source, all at once; other sources are not touched.
CREATE OR REPLACE FUNCTION paceline.taint_runner(p_runner bigint, p_source text, p_keys text[], p_values text[], p_effects text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_group integer; v_ids bigint[];
BEGIN
    SELECT r.grp INTO v_group FROM paceline.runner r WHERE r.id = p_runner FOR NO KEY UPDATE;
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
