-- Lists for people, newest first. A list without a pool shows the pools that the login may read; one that names a pool
-- of somebody else is an error. The next page is asked for by the last row of this one.

CREATE FUNCTION paceline.list_pools(p_cap bigint DEFAULT 10000)
RETURNS TABLE (
    name text, install text, namespace text, paused boolean, max_depth bigint, rate float8, burst float8, groups bigint,
    runners bigint, ready bigint, running bigint, scheduled bigint, blocked bigint, unclaimable bigint, dead bigint,
    capped boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_memoize = off AS $$
#variable_conflict use_column
DECLARE
    v_pools constant integer[] := paceline.readable(NULL);
    v_served constant integer[] := ARRAY(SELECT unnest(s.lanes) FROM paceline.servable(v_pools) s);
BEGIN
    RETURN QUERY
    SELECT p.name, p.install, p.namespace, p.paused, p.max_depth, p.rate, p.burst,
           (SELECT count(*) FROM paceline.runner_group g WHERE g.pool = p.id),
           coalesce(h.runners, 0), least(n.jobs, p_cap), least(coalesce(h.jobs, 0), p_cap)::bigint,
           least(d.scheduled, p_cap), least(d.blocked, p_cap), least(d.unclaimable, p_cap), least(d.dead, p_cap),
           greatest(n.jobs, h.jobs, d.scheduled, d.blocked, d.unclaimable, d.dead) > p_cap
      FROM paceline.pool_depth(v_pools, v_served, p_cap + 1) d
      JOIN paceline.pool p ON p.id = d.pool
     CROSS JOIN LATERAL paceline.count_ready(d.lanes, p_cap + 1) n
      LEFT JOIN (
        SELECT i.pool, count(*) AS runners, sum(x.n) AS jobs FROM paceline.incarnation i
         CROSS JOIN LATERAL (SELECT count(*) AS n FROM paceline.job j WHERE j.incarnation = i.id AND j.state = 'x') x
         WHERE i.state <> 'z' AND i.lease_until > clock_timestamp() GROUP BY i.pool) h ON h.pool = p.id
     ORDER BY p.name;
END $$;

-- One row for each registration that lives, and one for each Runner that was lost and has not come back. `state`:
-- active, draining, or stale (its lease has ended). A Runner that said goodbye is in no list.
CREATE FUNCTION paceline.list_runners(p_pool text DEFAULT NULL, p_group text DEFAULT NULL)
RETURNS TABLE (
    id text, hostname text, started_at timestamptz, last_heartbeat timestamptz, state text, instances_claimed bigint,
    pool text, install text, namespace text, "group" text, external boolean, slots integer, revision text,
    kinds text[], tags text[], taints text[], leader boolean, incarnation bigint, runner bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_pools constant integer[] := paceline.readable(p_pool);
BEGIN
    RETURN QUERY
    SELECT r.name, i.hostname, i.registered_at, greatest(i.registered_at, i.lease_until - i.lease),
           CASE WHEN i.state = 'z' OR i.lease_until <= clock_timestamp() THEN 'stale'
                WHEN i.state = 'd' THEN 'draining' ELSE 'active' END,
           (SELECT count(*) FROM paceline.job j WHERE j.incarnation = i.id AND j.state = 'x'),
           p.name, g.install, g.namespace, g.name, r.external, i.slots, i.revision, i.kinds, i.tags,
           ARRAY(SELECT t.key || coalesce('=' || nullif(t.value, ''), '') || ':' || t.effect
                   FROM paceline.effective_taints(r.id) t ORDER BY 1),
           coalesce(l.incarnation = i.id, false), i.id, r.id
      FROM paceline.runner_group g
      JOIN paceline.pool p ON p.id = g.pool
      JOIN paceline.runner r ON r.grp = g.id
      JOIN paceline.incarnation i ON i.runner = r.id
      LEFT JOIN paceline.leader l ON l.grp = g.id
     WHERE g.pool = ANY (v_pools) AND (p_group IS NULL OR p_group IN (g.name, g.namespace || '/' || g.name))
       AND (i.state <> 'z' OR i.cause IN ('LeaseExpired', i.suspect)
            AND NOT EXISTS (SELECT FROM paceline.incarnation o WHERE o.runner = r.id AND o.id > i.id))
     ORDER BY i.id DESC;
END $$;

-- Live jobs. p_before: the id of the last row of the page before.
CREATE FUNCTION paceline.list_jobs(p_pool text DEFAULT NULL, p_state text DEFAULT NULL, p_kind text DEFAULT NULL,
                                   p_before bigint DEFAULT NULL, p_limit integer DEFAULT 100)
RETURNS TABLE (
    id bigint, pool text, kind text, state text, priority smallint, tags text[], tolerations text[], key text, dedupe text,
    enqueued_at timestamptz, ready_at timestamptz, run_at timestamptz, claimed_at timestamptz, expires_at timestamptz,
    tries smallint, max_tries smallint, losses smallint, max_losses smallint, runner text, cancelling boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET jit = off SET plan_cache_mode = force_custom_plan AS $$   -- the best plan depends on how full the pool is
#variable_conflict use_column
DECLARE
    v_pools constant integer[] := paceline.readable(p_pool);
    v_before constant bigint := coalesce(p_before, 9223372036854775807);
    v_limit constant integer := paceline.page(p_limit);
    v_lanes constant integer[] := ARRAY(
        SELECT l.id FROM paceline.lane l JOIN paceline.kind k ON k.id = l.kind
         WHERE l.pool = ANY (v_pools) AND (p_kind IS NULL OR k.name = p_kind));
BEGIN
    IF p_state NOT IN ('scheduled', 'blocked', 'ready', 'running') THEN
        RAISE EXCEPTION 'state "%" is not one of a live job', p_state
            USING ERRCODE = 'PL002', HINT = 'use scheduled, blocked, ready or running';
    END IF;
    RETURN QUERY
    WITH found AS (   -- running ones by their incarnations; others by their lanes or backwards by id, as the planner finds
        (SELECT j.id FROM paceline.job j
          WHERE j.state = 'r' AND j.lane = ANY (v_lanes) AND j.id < v_before AND coalesce(p_state, 'ready') = 'ready'
          ORDER BY j.id DESC LIMIT v_limit)
        UNION ALL
        (SELECT j.id FROM paceline.job j
          WHERE j.state IN ('s', 'b') AND j.lane = ANY (v_lanes) AND j.id < v_before
            AND CASE p_state WHEN 'scheduled' THEN j.state = 's' WHEN 'blocked' THEN j.state = 'b' ELSE p_state IS NULL END
          ORDER BY j.id DESC LIMIT v_limit)
        UNION ALL
        (SELECT j.id FROM paceline.incarnation i JOIN paceline.job j ON j.incarnation = i.id AND j.state = 'x'
          WHERE i.state <> 'z' AND i.pool = ANY (v_pools) AND j.lane = ANY (v_lanes) AND j.id < v_before
            AND coalesce(p_state, 'running') = 'running'
          ORDER BY j.id DESC LIMIT v_limit)
    )
    SELECT j.id, p.name, k.name, paceline.state_word(j.state), j.priority, l.tags, l.tolerations, c.name, j.dedupe,
           j.enqueued_at, j.ready_at, j.run_at, j.claimed_at, j.expires_at,
           j.tries, j.max_tries, j.losses, j.max_losses, r.name, j.cancel
      FROM paceline.job j
      JOIN paceline.kind k ON k.id = j.kind
      JOIN paceline.pool p ON p.id = k.pool
      JOIN paceline.lane l ON l.id = j.lane
      LEFT JOIN paceline.key c ON c.id = j.key
      LEFT JOIN paceline.incarnation i ON i.id = j.incarnation
      LEFT JOIN paceline.runner r ON r.id = i.runner
     WHERE j.id = ANY (ARRAY(SELECT f.id FROM found f ORDER BY f.id DESC LIMIT v_limit))
     ORDER BY j.id DESC;
END $$;

-- Dead letters, the latest death first. For the next page: p_until and p_before are died_at and id of the last row.
CREATE FUNCTION paceline.list_dead(p_pool text DEFAULT NULL, p_kind text DEFAULT NULL, p_cause text DEFAULT NULL,
                                   p_since timestamptz DEFAULT NULL, p_until timestamptz DEFAULT NULL,
                                   p_before bigint DEFAULT NULL, p_limit integer DEFAULT 100)
RETURNS TABLE (
    id bigint, pool text, kind text, died_at timestamptz, cause text, error text, enqueued_at timestamptz, priority smallint,
    tags text[], tolerations text[], key text, dedupe text, tries smallint, max_tries smallint, losses smallint,
    max_losses smallint, payload jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_pools constant integer[] := paceline.readable(p_pool);
    v_until constant timestamptz := coalesce(p_until, 'infinity');
    v_limit constant integer := paceline.page(p_limit);
BEGIN
    IF p_before IS NOT NULL AND p_until IS NULL THEN
        RAISE EXCEPTION 'p_before is given without p_until'
            USING ERRCODE = 'PL002', HINT = 'give both: died_at and id of the last row of the page before';
    END IF;
    RETURN QUERY
    SELECT d.id, p.name, k.name, d.died_at, d.cause, d.error, d.enqueued_at, d.priority, l.tags, l.tolerations, c.name,
           d.dedupe, d.tries, d.max_tries, d.losses, d.max_losses, d.payload
      FROM paceline.kind k
      JOIN paceline.pool p ON p.id = k.pool
     CROSS JOIN LATERAL (   -- each kind by its index
        SELECT x.* FROM paceline.dead x
         WHERE x.kind = k.id AND x.died_at >= coalesce(p_since, '-infinity') AND x.died_at <= v_until
           AND (x.died_at < v_until OR x.id < coalesce(p_before, 9223372036854775807))
           AND (p_cause IS NULL OR x.cause = p_cause)
         ORDER BY x.died_at DESC, x.id DESC LIMIT v_limit) d
      JOIN paceline.lane l ON l.id = d.lane
      LEFT JOIN paceline.key c ON c.id = d.key
     WHERE k.pool = ANY (v_pools) AND (p_kind IS NULL OR k.name = p_kind)
     ORDER BY d.died_at DESC, d.id DESC LIMIT v_limit;
END $$;

-- Who may do what: logins with their roles, and namespaces besides a pool's owner. The schema's owner sees everything, an
-- operator its pools, others what is said of themselves. A grant on every pool has none.
CREATE FUNCTION paceline.list_grants(p_pool text DEFAULT NULL)
RETURNS TABLE (pool text, login text, role text, namespace text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM paceline.readable(p_pool);
    RETURN QUERY
    SELECT p.name, l.name, l.role, NULL::text FROM paceline.login l LEFT JOIN paceline.pool p ON p.id = l.pool
     WHERE (p_pool IS NULL OR p.name = p_pool OR l.pool IS NULL)
       AND (l.name = session_user OR paceline.may(l.pool, 'operator'))
    UNION ALL
    SELECT p.name, NULL, NULL, n.namespace
      FROM paceline.pool_namespace n JOIN paceline.pool p ON p.id = n.pool
     WHERE (p_pool IS NULL OR p.name = p_pool) AND paceline.may(n.pool, 'operator')
     ORDER BY 1 NULLS FIRST, 2, 3, 4;
END $$;
