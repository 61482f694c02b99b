-- What is left when objects are gone from the cluster.

-- Runners that nobody needs any more, with their taints; one that lives stays. Returns those that went.
CREATE FUNCTION paceline.forget_runners(p_group integer, p_names text[]) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_gone text[];
BEGIN
    PERFORM paceline.require_group(p_group);
    PERFORM FROM paceline.runner_group g WHERE g.id = p_group FOR NO KEY UPDATE;   -- no registration is under way
    WITH gone AS (
        DELETE FROM paceline.runner r WHERE r.grp = p_group AND r.name = ANY (p_names)
           AND NOT EXISTS (SELECT FROM paceline.incarnation i WHERE i.runner = r.id AND i.state <> 'z')
        RETURNING r.name)
    SELECT array_agg(g.name ORDER BY g.name) INTO v_gone FROM gone g;
    RETURN coalesce(v_gone, '{}');
END $$;

-- The groups of an installation, to find those whose RunnerGroup is gone. Groups that runners without an operator made
-- for themselves have no namespace: they are nobody's orphans.
CREATE FUNCTION paceline.list_groups(p_install text)
RETURNS TABLE (id integer, namespace text, name text, pool text, leader boolean, paused boolean, slots integer, tags text[],
               created_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_pools constant integer[] := paceline.visible(NULL, 'operator');
BEGIN
    RETURN QUERY
    SELECT g.id, g.namespace, g.name, p.name, g.leader, g.paused, g.slots, g.tags, g.created_at
      FROM paceline.runner_group g JOIN paceline.pool p ON p.id = g.pool
     WHERE g.install = p_install AND g.namespace <> '' AND g.pool = ANY (v_pools)
     ORDER BY g.namespace, g.name;
END $$;
