-- Numbers for new Runners of a group, from the one that is returned on. None is given twice, so no Runner ever has the
-- name of one that is gone: its history, its taints and its late registrations stay its own.
CREATE FUNCTION paceline.number_runners(p_group integer, p_count integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_last bigint;
BEGIN
    PERFORM paceline.require_group(p_group);
    UPDATE paceline.runner_group g SET numbered = g.numbered + p_count WHERE g.id = p_group RETURNING g.numbered INTO v_last;
    RETURN v_last - p_count + 1;
END $$;
