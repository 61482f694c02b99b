-- A group as its plan needs it; as before, and with the job that has run for longest, which an update may wait for.
DROP FUNCTION paceline.look_at_group(integer);
CREATE FUNCTION paceline.look_at_group(p_group integer)
RETURNS TABLE (
    runner text, external boolean, retiring boolean, created_seconds float8, seen_seconds float8, incarnation bigint,
    state text, leased boolean, pod_uid text, hostname text, revision text, slots integer, registered_seconds float8,
    idle_seconds float8, held integer, oldest_job_seconds float8, taints text,
    declared text, leads boolean, oldest_job bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_memoize = off AS $$
#variable_conflict use_column
DECLARE v_now constant timestamptz := clock_timestamp();
BEGIN
    PERFORM paceline.require_group(p_group);
    RETURN QUERY
    WITH crew AS MATERIALIZED (
        SELECT r.* FROM paceline.runner r WHERE r.grp = p_group
    ), tainted AS MATERIALIZED (
        SELECT t.runner, string_agg(t.key || coalesce('=' || nullif(t.value, ''), '') || ':' || t.effect, ','
                                    ORDER BY t.key, t.value, t.effect) AS taints
          FROM (SELECT o.runner, o.key, o.value, o.effect FROM crew r JOIN paceline.runner_taint o ON o.runner = r.id
                UNION
                SELECT r.id, o.key, o.value, o.effect FROM crew r JOIN paceline.group_taint o ON o.grp = p_group
                 WHERE NOT r.external) t
         GROUP BY t.runner
    ), declared AS MATERIALIZED (
        SELECT o.runner, string_agg(o.source || ' ' || o.key || coalesce('=' || nullif(o.value, ''), '') || ':' || o.effect, ','
                                    ORDER BY o.source, o.key, o.value, o.effect) AS taints
          FROM crew r JOIN paceline.runner_taint o ON o.runner = r.id AND o.source IN ('annotation', 'spec')
         GROUP BY o.runner
    )
    SELECT r.name, r.external, r.retiring, date_part('epoch', v_now - r.created_at),
           date_part('epoch', v_now - greatest(r.seen_at, i.lease_until - i.lease, gone.heard_at)), i.id,
           CASE i.state WHEN 'a' THEN 'active' WHEN 'd' THEN 'draining' END, coalesce(i.lease_until > v_now, false),
           i.pod_uid, i.hostname, i.revision, i.slots, date_part('epoch', v_now - i.registered_at),
           CASE WHEN h.jobs = 0 THEN date_part('epoch', v_now - i.idle_since) END,
           h.jobs, date_part('epoch', v_now - h.since), coalesce(t.taints, ''), coalesce(d.taints, ''), l.grp IS NOT NULL, h.job
      FROM crew r
      LEFT JOIN LATERAL (   -- OFFSET 0: by the index for each; a join in one go could read those of all groups
        SELECT o.* FROM paceline.incarnation o WHERE o.runner = r.id AND o.state <> 'z' OFFSET 0) i ON true
     CROSS JOIN LATERAL (
        SELECT count(*)::integer AS jobs, min(j.claimed_at) AS since,
               (array_agg(j.id ORDER BY j.claimed_at, j.id))[1] AS job
          FROM paceline.job j WHERE j.incarnation = i.id AND j.state = 'x') h
      LEFT JOIN LATERAL (   -- when a Runner without a registration was last heard of
        SELECT o.lease_until - o.lease AS heard_at FROM paceline.incarnation o
         WHERE o.runner = r.id AND i.id IS NULL ORDER BY o.id DESC LIMIT 1) gone ON true
      LEFT JOIN tainted t ON t.runner = r.id
      LEFT JOIN declared d ON d.runner = r.id
      LEFT JOIN paceline.leader l ON l.grp = p_group AND l.incarnation = i.id
     ORDER BY r.name, i.id;
END $$;
