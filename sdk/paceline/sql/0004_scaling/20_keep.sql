-- How a group shares lanes with others; returns what its last operator remembered.
CREATE FUNCTION paceline.put_scaling(p_group integer, p_weight integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_state jsonb;
BEGIN
    PERFORM paceline.require_group(p_group);
    INSERT INTO paceline.scaling AS s (grp, weight) VALUES (p_group, p_weight)
    ON CONFLICT (grp) DO UPDATE SET weight = excluded.weight
    RETURNING s.state INTO v_state;
    RETURN v_state;
END $$;

-- What several groups remember, and what was decided about them, oldest first; kept for a week. A group that is gone
-- meanwhile is passed over.
CREATE FUNCTION paceline.keep_scaling(p_kept jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_pools constant integer[] := paceline.visible(NULL, 'operator');
BEGIN
    UPDATE paceline.scaling s SET state = k.state
      FROM jsonb_to_recordset(p_kept) k (grp integer, state jsonb), paceline.runner_group g
     WHERE s.grp = k.grp AND g.id = k.grp AND g.pool = ANY (v_pools) AND k.state IS NOT NULL;
    INSERT INTO paceline.decision (grp, at, was, replicas, reason, limited_by, inputs, proposals)
    SELECT g.id, d.at, d.was, d.replicas, d.reason, d.limited_by, d.inputs, d.proposals
      FROM jsonb_to_recordset(p_kept) k (grp integer, decisions jsonb)
      JOIN paceline.runner_group g ON g.id = k.grp AND g.pool = ANY (v_pools)
     CROSS JOIN LATERAL jsonb_to_recordset(k.decisions) d (
        at timestamptz, was integer, replicas integer, reason text, limited_by text, inputs jsonb, proposals jsonb);
    DELETE FROM paceline.decision d WHERE d.at < clock_timestamp() - interval '7 days';
END $$;

-- Why a group had the sizes that it had, the newest first.
CREATE FUNCTION paceline.list_decisions(p_install text, p_namespace text, p_name text, p_since interval, p_most integer)
RETURNS TABLE (at timestamptz, was integer, replicas integer, reason text, limited_by text, inputs jsonb, proposals jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_pools constant integer[] := paceline.readable(NULL);
BEGIN
    RETURN QUERY
    SELECT d.at, d.was, d.replicas, d.reason, d.limited_by, d.inputs, d.proposals
      FROM paceline.runner_group g JOIN paceline.decision d ON d.grp = g.id
     WHERE g.install = p_install AND g.namespace = p_namespace AND g.name = p_name AND g.pool = ANY (v_pools)
       AND d.at >= clock_timestamp() - p_since
     ORDER BY d.at DESC, d.id DESC LIMIT p_most;
END $$;
