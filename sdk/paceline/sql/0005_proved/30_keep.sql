-- What several groups remember, and what was decided about them. As before, but for the clock, which is read once: what is
-- older than a week is found by its index, where the whole table was read.
CREATE OR REPLACE FUNCTION paceline.keep_scaling(p_kept jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_pools constant integer[] := paceline.visible(NULL, 'operator');
    v_oldest constant timestamptz := clock_timestamp() - interval '7 days';
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
    DELETE FROM paceline.decision d WHERE d.at < v_oldest;
END $$;
