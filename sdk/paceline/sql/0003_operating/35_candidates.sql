-- Who could lead a group: one row for each Runner of the groups whose leader the login may choose, and one for a group
-- that has none. Each part may be NULL, which means any; the group is a name, or namespace/name. `taints` are those that
-- keep it from leading; `state` is that of a live registration, the newest if there are two.
CREATE FUNCTION paceline.list_candidates(p_install text, p_group text, p_runner text)
RETURNS TABLE (
    grp integer, install text, namespace text, "group" text, dispatch text, runner bigint, name text, state text,
    taints text[], leads boolean, promoted boolean, leader text, epoch bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_pools constant integer[] := paceline.visible(NULL, 'operator', 'gateway');
BEGIN
    RETURN QUERY
    SELECT g.id, g.install, g.namespace, g.name, CASE WHEN g.leader THEN 'Leader' ELSE 'Shared' END, r.id, r.name,
           CASE i.state WHEN 'a' THEN 'active' WHEN 'd' THEN 'draining' END,
           ARRAY(SELECT t.key || coalesce('=' || nullif(t.value, ''), '') || ':' || t.effect
                   FROM paceline.effective_taints(r.id) t
                  WHERE t.effect IN ('NoLead', 'NoClaim', 'Drain') ORDER BY 1),
           coalesce(l.incarnation = i.id, false), coalesce(l.promoted = r.id, false), head.name, l.epoch
      FROM paceline.runner_group g
      LEFT JOIN paceline.runner r ON r.grp = g.id AND (p_runner IS NULL OR r.name = p_runner)
      LEFT JOIN LATERAL (
        SELECT o.id, o.state FROM paceline.incarnation o
         WHERE o.runner = r.id AND o.state <> 'z' AND o.lease_until > clock_timestamp() ORDER BY o.id DESC LIMIT 1) i ON true
      LEFT JOIN paceline.leader l ON l.grp = g.id
      LEFT JOIN paceline.runner head ON head.id = l.runner AND l.incarnation IS NOT NULL
     WHERE g.pool = ANY (v_pools) AND (p_install IS NULL OR g.install = p_install)
       AND (p_group IS NULL OR p_group IN (g.name, g.namespace || '/' || g.name))
       AND (p_runner IS NULL OR r.id IS NOT NULL)
     ORDER BY g.install, g.namespace, g.name, r.name;
END $$;
