-- How the attempts of a group's runners ended in the last seconds, by the revision of the runner. Jobs that were lost with
-- their runner are not here: that is the runner's failure, which its pod shows.
CREATE FUNCTION paceline.revision_outcomes(p_group integer, p_seconds float8)
RETURNS TABLE (revision text, ended bigint, failed bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE v_since constant timestamptz := clock_timestamp() - make_interval(secs => p_seconds);
BEGIN
    PERFORM paceline.require_group(p_group);
    RETURN QUERY
    SELECT i.revision, sum(f.done)::bigint, sum(f.failed)::bigint
      FROM (SELECT x.incarnation, sum(x.done) AS done, sum(x.failed) AS failed
              FROM paceline.flow x WHERE x.at > v_since GROUP BY x.incarnation) f
      JOIN paceline.incarnation i ON i.id = f.incarnation
      JOIN paceline.runner r ON r.id = i.runner
     WHERE r.grp = p_group AND NOT r.external AND i.revision IS NOT NULL
     GROUP BY i.revision;
END $$;
