-- The same between a group and its leader, whose row a promotion may write twice: who taints the group does not keep others
-- from referring to it, and who promotes has the group, which somebody may delete, before the leader.

CREATE OR REPLACE FUNCTION paceline.taint_group(p_group integer, p_source text, p_keys text[], p_values text[], p_effects text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_ids bigint[];
BEGIN
    PERFORM FROM paceline.runner_group g WHERE g.id = p_group FOR NO KEY UPDATE;   -- a registration holds it FOR SHARE
    PERFORM paceline.require((SELECT g.pool FROM paceline.runner_group g WHERE g.id = p_group), 'operator', 'gateway');
    SELECT array_agg(x.id) INTO v_ids FROM (
        SELECT i.id FROM paceline.incarnation i JOIN paceline.runner r ON r.id = i.runner
         WHERE r.grp = p_group AND i.state <> 'z' ORDER BY i.id FOR UPDATE OF i) x;
    DELETE FROM paceline.group_taint t WHERE t.grp = p_group AND t.source = p_source;
    INSERT INTO paceline.group_taint (grp, source, key, value, effect)
    SELECT p_group, p_source, t.key, t.value, t.effect FROM unnest(p_keys, p_values, p_effects) t (key, value, effect)
    ON CONFLICT (grp, source, key, effect) DO UPDATE SET value = excluded.value;
    PERFORM paceline.apply_taints(v_ids);
    PERFORM paceline.elect(p_group);
    PERFORM paceline.wake(ARRAY(SELECT g.pool FROM paceline.runner_group g WHERE g.id = p_group));
END $$;

-- Make a Runner the leader until it is not eligible any more; NULL ends a promotion. One that cannot lead now is not
-- promoted.
CREATE OR REPLACE FUNCTION paceline.promote(p_group integer, p_runner bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM paceline.require((SELECT g.pool FROM paceline.runner_group g WHERE g.id = p_group), 'operator', 'gateway');
    PERFORM FROM paceline.runner_group g WHERE g.id = p_group FOR KEY SHARE;
    UPDATE paceline.leader l SET promoted = p_runner WHERE l.grp = p_group;
    PERFORM paceline.elect(p_group);
    UPDATE paceline.leader l SET promoted = NULL WHERE l.grp = p_group AND l.promoted IS DISTINCT FROM l.runner;
END $$;
