-- The operator's one call in a second: the housekeeping if it is due, then how its groups stand.
--
-- registered: runners that are active and have their lease, in the cluster or outside; busy: those of them that hold a
-- job. draining: those that have their lease and claim nothing any more, busy or not. newest: the last registration of them
-- all, which tells that somebody has come although as many have gone. taints: those of the group itself.
CREATE FUNCTION paceline.observe(p_install text, p_cap bigint DEFAULT 10000)
RETURNS TABLE (
    id integer, install text, namespace text, name text, pool text, dispatch text, paused boolean,
    ready bigint, running bigint, scheduled bigint, blocked bigint, unclaimable bigint, dead bigint, capped boolean,
    oldest_seconds float8, service_seconds float8, arrival_rate float8, leader text, epoch bigint,
    registered bigint, busy bigint, draining bigint, newest bigint, taints text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_memoize = off AS $$
#variable_conflict use_column
DECLARE v_pools constant integer[] := paceline.visible(NULL, 'operator');
BEGIN
    IF EXISTS (SELECT FROM paceline.tick t WHERE t.next_at <= clock_timestamp()) THEN
        PERFORM paceline.tick_safely();
    END IF;
    RETURN QUERY
    WITH live AS MATERIALIZED (
        SELECT r.grp, count(*) FILTER (WHERE i.state = 'a') AS registered,
               count(*) FILTER (WHERE i.state = 'a' AND h.incarnation IS NOT NULL) AS busy,
               count(*) FILTER (WHERE i.state = 'd') AS draining, max(i.id) AS newest
          FROM paceline.incarnation i
          JOIN paceline.runner r ON r.id = i.runner
          LEFT JOIN (SELECT DISTINCT j.incarnation FROM paceline.job j WHERE j.state = 'x') h ON h.incarnation = i.id
         WHERE i.state <> 'z' AND i.lease_until > clock_timestamp()
         GROUP BY r.grp
    )
    SELECT s.*, coalesce(l.registered, 0), coalesce(l.busy, 0), coalesce(l.draining, 0), coalesce(l.newest, 0), coalesce((
               SELECT string_agg(o.key || coalesce('=' || nullif(o.value, ''), '') || ':' || o.effect, ',' ORDER BY o.key, o.value, o.effect)
                 FROM paceline.group_taint o WHERE o.grp = s.id), '')
      FROM paceline.snapshot(p_cap) s
      JOIN paceline.runner_group g ON g.id = s.id AND g.pool = ANY (v_pools)   -- a gateway's pools are not the operator's
      LEFT JOIN live l ON l.grp = s.id
     WHERE s.install = p_install AND s.namespace <> ''
     ORDER BY s.namespace, s.name;
END $$;
