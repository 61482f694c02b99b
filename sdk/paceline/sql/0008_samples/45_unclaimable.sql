-- Ready jobs that nobody could claim, lane by lane, and what stands in the way: the first thing that no sort of runner
-- has, in the order kind, tags, taints. A group without tags of its own is no word in the answer.
CREATE OR REPLACE FUNCTION paceline.unclaimable(p_pool text DEFAULT NULL)
RETURNS TABLE (pool text, kind text, tags text[], tolerations text[], jobs bigint, reason text, detail text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE v_pools constant integer[] := paceline.readable(p_pool);
BEGIN
    RETURN QUERY
    WITH sorts AS MATERIALIZED (
        SELECT s.* FROM paceline.sorts_of_runners(v_pools) s
    ), judged AS (
        SELECT l.id, l.pool, l.kind, l.tags, l.tolerations, k.name,
               count(s.grp) AS looked_at,
               coalesce(bool_or(f.kind), false) AS kind_found,
               coalesce(bool_or(f.kind AND f.tags), false) AS tags_found,
               coalesce(bool_or(f.kind AND f.tags AND f.taints), false) AS served,
               string_agg(DISTINCT array_to_string(s.tags, ','), ' or ')
                   FILTER (WHERE f.kind AND s.tags <> '{}') AS tags_there
          FROM paceline.lane l
          JOIN paceline.kind k ON k.id = l.kind
          LEFT JOIN sorts s ON s.pool = l.pool
         CROSS JOIN LATERAL (
            SELECT s.kinds IS NULL AND s.grp IS NOT NULL OR k.name = ANY (s.kinds) AS kind, l.tags <@ s.tags AS tags,
                   NOT s.barred AND (s.keys IS NULL OR paceline.tolerates_all(l.tolerations, s.keys, s.vals)) AS taints) f
         WHERE l.pool = ANY (v_pools)
         GROUP BY l.id, k.name
    )
    SELECT p.name, j.name, j.tags, j.tolerations, n.jobs, r.reason,
           CASE WHEN j.looked_at = 0 THEN format('no group and no runner serves pool "%s"', p.name)
                WHEN r.reason = 'kind' THEN format('no runner of pool "%s" has a handler for kind "%s"', p.name, j.name)
                WHEN r.reason = 'tags' THEN format('it needs the tag%s %s; runners with a handler for it have %s',
                                                   CASE WHEN cardinality(j.tags) > 1 THEN 's' ELSE '' END,
                                                   array_to_string(j.tags, ' and '), coalesce(j.tags_there, 'none'))
                WHEN t.taints IS NULL THEN 'the runners are drained, or none of them may lead'
                ELSE format('it does not tolerate %s', t.taints) END
      FROM judged j
      JOIN paceline.pool p ON p.id = j.pool
     CROSS JOIN LATERAL paceline.count_ready(ARRAY[j.id], 10000) n
     CROSS JOIN LATERAL (SELECT CASE WHEN NOT j.kind_found THEN 'kind' WHEN NOT j.tags_found THEN 'tags'
                                     ELSE 'taints' END AS reason) r
     CROSS JOIN LATERAL (
        SELECT string_agg(DISTINCT t.key || coalesce('=' || nullif(t.value, ''), '') || ':NoClaim', ' and ') AS taints
          FROM sorts s CROSS JOIN LATERAL unnest(s.keys, s.vals) t (key, value)
         WHERE s.pool = j.pool AND NOT paceline.tolerates(j.tolerations, t.key, t.value, 'NoClaim')) t
     WHERE NOT j.served AND n.jobs > 0
     ORDER BY n.jobs DESC, p.name, j.name;
END $$;
