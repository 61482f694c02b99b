-- Who could claim what: the live runners of a group as they are, and a new runner as it would be. A Runner's own taints
-- do not count against a new one; the group's do, unless the runner is outside the cluster.

-- What sorts of runners there are: few, however many runners. kinds NULL: every kind.
CREATE FUNCTION paceline.sorts_of_runners(p_pools integer[])
RETURNS TABLE (grp integer, pool integer, tags text[], kinds text[], keys text[], vals text[], barred boolean)
LANGUAGE sql STABLE AS $$
    WITH taints AS (   -- those that keep claims away; in a Leader group they also keep a runner from being elected
        SELECT t.grp, array_agg(t.key) FILTER (WHERE t.effect = 'NoClaim') AS keys,
               array_agg(t.value) FILTER (WHERE t.effect = 'NoClaim') AS vals,
               bool_or(t.effect = 'Drain' OR g.leader) AS barred
          FROM paceline.runner_group g JOIN paceline.group_taint t ON t.grp = g.id
         WHERE g.pool = ANY (p_pools) AND (t.effect IN ('NoClaim', 'Drain') OR g.leader AND t.effect = 'NoLead')
         GROUP BY t.grp
    ), own AS (
        SELECT t.runner, array_agg(t.key) FILTER (WHERE t.effect = 'NoClaim') AS keys,
               array_agg(t.value) FILTER (WHERE t.effect = 'NoClaim') AS vals,
               bool_or(t.effect = 'Drain' OR g.leader) AS barred
          FROM paceline.runner_group g JOIN paceline.runner r ON r.grp = g.id JOIN paceline.runner_taint t ON t.runner = r.id
         WHERE g.pool = ANY (p_pools) AND (t.effect IN ('NoClaim', 'Drain') OR g.leader AND t.effect = 'NoLead')
         GROUP BY t.runner
    ), sorts AS (
        SELECT g.id, g.pool, g.tags, (SELECT k.kinds FROM paceline.group_kinds k WHERE k.grp = g.id
                                       ORDER BY k.revision <> '' DESC, k.since DESC LIMIT 1) AS kinds,
               t.keys, t.vals, coalesce(t.barred, false) AS barred
          FROM paceline.runner_group g LEFT JOIN taints t ON t.grp = g.id
         WHERE g.pool = ANY (p_pools)
        UNION
        SELECT g.id, g.pool, i.tags, i.kinds, o.keys || t.keys, o.vals || t.vals,
               coalesce(o.barred, false) OR coalesce(t.barred, false)
          FROM paceline.incarnation i
          JOIN paceline.runner r ON r.id = i.runner
          JOIN paceline.runner_group g ON g.id = r.grp
          LEFT JOIN own o ON o.runner = r.id
          LEFT JOIN taints t ON t.grp = g.id AND NOT r.external
         WHERE i.state = 'a' AND i.lease_until > clock_timestamp() AND i.pool = ANY (p_pools)
    )
    -- in a pool that a Leader group owns nobody else claims
    SELECT s.id, s.pool, s.tags, CASE WHEN s.kinds <> '{*}' THEN s.kinds END, s.keys, s.vals,
           s.barred OR p.leader_group IS DISTINCT FROM s.id AND p.leader_group IS NOT NULL
      FROM sorts s JOIN paceline.pool p ON p.id = s.pool
$$;

CREATE FUNCTION paceline.tolerates_all(p_tolerations text[], p_keys text[], p_vals text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT NOT EXISTS (SELECT FROM unnest(p_keys, p_vals) t (key, value)
                        WHERE NOT paceline.tolerates(p_tolerations, t.key, t.value, 'NoClaim'))
$$;

-- The lanes that each group could claim from.
CREATE FUNCTION paceline.servable(p_pools integer[]) RETURNS TABLE (grp integer, pool integer, lanes integer[])
LANGUAGE sql STABLE AS $$
    SELECT s.grp, s.pool, array_agg(DISTINCT l.id)
      FROM paceline.sorts_of_runners(p_pools) s
      JOIN paceline.lane l ON l.pool = s.pool
      JOIN paceline.kind k ON k.id = l.kind
     WHERE NOT s.barred AND l.tags <@ s.tags AND (s.kinds IS NULL OR k.name = ANY (s.kinds))
       AND (s.keys IS NULL OR paceline.tolerates_all(l.tolerations, s.keys, s.vals))
     GROUP BY s.grp, s.pool
$$;
