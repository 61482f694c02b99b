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

-- Groups by a name, or by namespace/name, in the pools that may be read.
CREATE FUNCTION paceline.find_groups(p_install text, p_group text)
RETURNS TABLE (id integer, install text, namespace text, name text, pool text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_pools constant integer[] := paceline.readable(NULL);
BEGIN
    RETURN QUERY
    SELECT g.id, g.install, g.namespace, g.name, p.name
      FROM paceline.runner_group g JOIN paceline.pool p ON p.id = g.pool
     WHERE g.pool = ANY (v_pools) AND (p_install IS NULL OR g.install = p_install)
       AND (p_group IS NULL OR g.name = p_group OR g.namespace || '/' || g.name = p_group)
     ORDER BY g.install, g.namespace, g.name;
END $$;

-- Why a group had the sizes that it had, the newest first.
CREATE FUNCTION paceline.list_decisions(p_group integer, p_since interval, p_most integer)
RETURNS TABLE (at timestamptz, was integer, replicas integer, reason text, limited_by text, inputs jsonb, proposals jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_pools constant integer[] := paceline.readable(NULL);
BEGIN
    RETURN QUERY
    SELECT d.at, d.was, d.replicas, d.reason, d.limited_by, d.inputs, d.proposals
      FROM paceline.runner_group g JOIN paceline.decision d ON d.grp = g.id
     WHERE g.id = p_group AND g.pool = ANY (v_pools) AND d.at >= clock_timestamp() - p_since
     ORDER BY d.at DESC, d.id DESC LIMIT p_most;
END $$;

-- When the jobs of a pool came, and how long each took, as far as the history goes: what a simulation plays again.
-- A try that failed is not told of.
CREATE FUNCTION paceline.list_arrivals(p_pool text, p_since timestamptz, p_until timestamptz, p_most integer)
RETURNS TABLE (enqueued_at timestamptz, seconds float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_pools constant integer[] := paceline.readable(p_pool);
BEGIN
    RETURN QUERY
    SELECT h.enqueued_at, date_part('epoch', h.finished_at - h.claimed_at)
      FROM paceline.history h
      JOIN paceline.kind k ON k.id = h.kind AND k.pool = ANY (v_pools)
     WHERE h.finished_at >= p_since AND h.enqueued_at >= p_since AND h.enqueued_at < p_until
       AND h.claimed_at IS NOT NULL AND h.outcome = 'd'
     ORDER BY h.enqueued_at LIMIT p_most;
END $$;
