-- What the operator asks once a second: how its groups stand, and what scaling needs besides.
--
-- share: of `ready` what is this group's. Where several groups serve a lane, its jobs are split by their weights, to
-- the last one. elsewhere: of `running` what runners outside the cluster hold, and those that leave. tainted: active Runners in the cluster with a NoClaim taint of their own; tainted_running: the jobs
-- they hold; tolerating: ready jobs that they could claim, at most as many as they have free slots. cron_due: a cron
-- entry of the pool waits for somebody to fire it.

CREATE FUNCTION paceline.shares(p_pools integer[], p_most bigint) RETURNS TABLE (grp integer, jobs bigint)
LANGUAGE sql STABLE AS $$
    WITH serves AS MATERIALIZED (
        SELECT s.grp, l.lane, coalesce(w.weight, 1) AS weight
          FROM paceline.servable(p_pools) s
         CROSS JOIN LATERAL unnest(s.lanes) l (lane)
          LEFT JOIN paceline.scaling w ON w.grp = s.grp
    ), waiting AS (
        SELECT l.lane, n.jobs FROM (SELECT DISTINCT s.lane FROM serves s) l
         CROSS JOIN LATERAL paceline.count_ready(ARRAY[l.lane], p_most) n
         WHERE n.jobs > 0
    ), edges AS (
        SELECT s.grp, n.jobs, s.weight, sum(s.weight) OVER (PARTITION BY s.lane ORDER BY s.grp) AS upto,
               nullif(sum(s.weight) OVER (PARTITION BY s.lane), 0) AS total
          FROM serves s JOIN waiting n ON n.lane = s.lane
    )
    SELECT e.grp, sum(e.jobs * e.upto / e.total - e.jobs * (e.upto - e.weight) / e.total)::bigint FROM edges e GROUP BY e.grp
$$;

CREATE FUNCTION paceline.held_elsewhere(p_pools integer[]) RETURNS TABLE (grp integer, jobs bigint)
LANGUAGE sql STABLE AS $$
    SELECT r.grp, count(*)
      FROM paceline.incarnation i
      JOIN paceline.runner r ON r.id = i.runner
      JOIN paceline.job j ON j.incarnation = i.id AND j.state = 'x'
     WHERE i.pool = ANY (p_pools) AND (i.state = 'd' OR i.state = 'a' AND r.external)
     GROUP BY r.grp
$$;

CREATE FUNCTION paceline.tainted(p_pools integer[], p_most bigint)
RETURNS TABLE (grp integer, runners bigint, running bigint, tolerating bigint)
LANGUAGE sql STABLE AS $$
    WITH barred AS MATERIALIZED (
        SELECT g.id AS grp, g.pool, i.slots, i.tags, i.kinds, array_agg(t.key) AS keys, array_agg(t.value) AS vals,
               (SELECT count(*) FROM paceline.job j WHERE j.incarnation = i.id AND j.state = 'x') AS held
          FROM paceline.runner_taint t
          JOIN paceline.runner r ON r.id = t.runner AND NOT r.external AND NOT r.retiring
          JOIN paceline.runner_group g ON g.id = r.grp AND g.pool = ANY (p_pools)
          JOIN paceline.incarnation i ON i.runner = r.id AND i.state = 'a' AND i.lease_until > clock_timestamp()
         WHERE t.effect = 'NoClaim'
         GROUP BY g.id, i.id
    ), reach AS (
        SELECT b.grp, array_agg(DISTINCT l.id) AS lanes
          FROM barred b JOIN paceline.lane l ON l.pool = b.pool JOIN paceline.kind k ON k.id = l.kind
         WHERE l.tags <@ b.tags AND ('*' = ANY (b.kinds) OR k.name = ANY (b.kinds))
           AND paceline.tolerates_all(l.tolerations, b.keys, b.vals)
         GROUP BY b.grp
    )
    SELECT b.grp, count(*), sum(b.held)::bigint,
           least(sum(greatest(0, b.slots - b.held))::bigint, coalesce((SELECT n.jobs FROM reach r
               CROSS JOIN LATERAL paceline.count_ready(r.lanes, p_most) n WHERE r.grp = b.grp), 0))
      FROM barred b GROUP BY b.grp
$$;

CREATE FUNCTION paceline.survey(p_install text, p_asleep integer[] DEFAULT '{}', p_cap bigint DEFAULT 10000)
RETURNS TABLE (
    id integer, install text, namespace text, name text, pool text, dispatch text, paused boolean,
    ready bigint, running bigint, scheduled bigint, blocked bigint, unclaimable bigint, dead bigint, capped boolean,
    oldest_seconds float8, service_seconds float8, arrival_rate float8, leader text, epoch bigint,
    registered bigint, busy bigint, draining bigint, newest bigint, taints text,
    share bigint, elsewhere bigint, tainted bigint, tainted_running bigint, tolerating bigint, cron_due boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_memoize = off AS $$
#variable_conflict use_column
DECLARE
    v_pools constant integer[] := paceline.visible(NULL, 'operator');
    v_crowded constant integer[] := ARRAY(
        SELECT g.pool FROM paceline.runner_group g WHERE g.pool = ANY (v_pools) GROUP BY g.pool HAVING count(*) > 1);
BEGIN
    IF p_asleep <> '{}' THEN
        PERFORM paceline.sleep_until_work(ARRAY(
            SELECT g.pool FROM paceline.runner_group g WHERE g.id = ANY (p_asleep) AND g.pool = ANY (v_pools)));
    END IF;
    RETURN QUERY
    SELECT o.*,
           CASE WHEN g.pool = ANY (v_crowded) THEN least(coalesce(s.jobs, 0), o.ready) ELSE o.ready END,
           coalesce(e.jobs, 0), coalesce(t.runners, 0), coalesce(t.running, 0), coalesce(t.tolerating, 0),
           EXISTS (SELECT FROM paceline.cron c WHERE NOT c.paused AND c.next_at <= clock_timestamp() AND c.pool = g.pool)
      FROM paceline.observe(p_install, p_cap) o
      JOIN paceline.runner_group g ON g.id = o.id
      LEFT JOIN paceline.shares(v_crowded, p_cap + 1) s ON s.grp = o.id
      LEFT JOIN paceline.held_elsewhere(v_pools) e ON e.grp = o.id
      LEFT JOIN paceline.tainted(v_pools, p_cap + 1) t ON t.grp = o.id
     ORDER BY o.namespace, o.name;
END $$;
