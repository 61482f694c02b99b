-- The taints of a Runner from one source, by its name. One that has never registered gets its row, so that the taints are
-- there before it is.
CREATE FUNCTION paceline.taint_named(p_group integer, p_runner text, p_external boolean, p_source text, p_keys text[],
                                     p_values text[], p_effects text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_runner paceline.runner;
BEGIN
    PERFORM paceline.require_group(p_group);
    INSERT INTO paceline.runner (grp, install, namespace, name, external)
    SELECT g.id, g.install, g.namespace, p_runner, p_external FROM paceline.runner_group g WHERE g.id = p_group
    ON CONFLICT DO NOTHING;
    SELECT r.* INTO v_runner FROM paceline.runner r JOIN paceline.runner_group g ON g.id = p_group
     WHERE r.install = g.install AND r.namespace = g.namespace AND r.name = p_runner;
    IF v_runner.grp <> p_group THEN
        RAISE EXCEPTION 'a Runner called "%" belongs to group "%" here', p_runner,
              (SELECT g.name FROM paceline.runner_group g WHERE g.id = v_runner.grp)
            USING ERRCODE = 'PL006', HINT = 'delete the Runner that was made by hand';
    END IF;
    PERFORM paceline.taint_runner(v_runner.id, p_source, p_keys, p_values, p_effects);
END $$;
