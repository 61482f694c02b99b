-- Mark those of these that hold no job; rank_idle has chosen them. One whose row somebody has is skipped: a claim in
-- flight makes it busy. Its own row first and its registrations next, as whoever taints it does, and no stronger than he. A
-- name without a row gets one: what registers in it later, drains.
CREATE OR REPLACE FUNCTION paceline.retire_idle(p_group integer, p_names text[]) RETURNS text[]
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE v_runners bigint[]; v_locked bigint[]; v_idle bigint[]; v_marked text[];
BEGIN
    INSERT INTO paceline.runner (grp, install, namespace, name)
    SELECT g.id, g.install, g.namespace, n.name FROM paceline.runner_group g CROSS JOIN unnest(p_names) n (name)
     WHERE g.id = p_group AND NOT EXISTS (
        SELECT FROM paceline.runner r WHERE r.install = g.install AND r.namespace = g.namespace AND r.name = n.name)
     ORDER BY n.name ON CONFLICT DO NOTHING;
    v_runners := ARRAY(
        SELECT r.id FROM paceline.runner r WHERE r.grp = p_group AND r.name = ANY (p_names)
         ORDER BY r.id FOR NO KEY UPDATE SKIP LOCKED);
    v_locked := ARRAY(
        SELECT i.id FROM paceline.incarnation i WHERE i.runner = ANY (v_runners) AND i.state <> 'z'
         ORDER BY i.id FOR UPDATE SKIP LOCKED);
    -- in a later statement than the locks: what was claimed before them is seen
    v_idle := ARRAY(
        SELECT r.id FROM unnest(v_runners) r (id) WHERE NOT EXISTS (
            SELECT FROM paceline.incarnation i WHERE i.runner = r.id AND i.state <> 'z'
               AND (i.id <> ALL (v_locked)
                    OR EXISTS (SELECT FROM paceline.job j WHERE j.incarnation = i.id AND j.state = 'x'))));
    UPDATE paceline.incarnation i SET state = 'd' WHERE i.runner = ANY (v_idle) AND i.state = 'a';
    WITH marked AS (UPDATE paceline.runner r SET retiring = true WHERE r.id = ANY (v_idle) RETURNING r.name)
    SELECT array_agg(m.name ORDER BY array_position(p_names, m.name)) INTO v_marked FROM marked m;
    RETURN coalesce(v_marked, '{}');
END $$;
