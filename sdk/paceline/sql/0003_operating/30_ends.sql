-- Runners that shall go, and pods that are gone. The protocol is that of drain and fence_incarnation, for many at once.

-- These Runners claim nothing any more, finish what they have, however long it takes, and leave. What registers in their
-- names later works as usual. Returns those that were active.
CREATE FUNCTION paceline.drain_runners(p_group integer, p_names text[]) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_ids bigint[];
BEGIN
    PERFORM paceline.require_group(p_group);
    v_ids := ARRAY(
        SELECT i.id FROM paceline.incarnation i JOIN paceline.runner r ON r.id = i.runner
         WHERE r.grp = p_group AND r.name = ANY (p_names) AND i.state = 'a' ORDER BY i.id FOR UPDATE OF i);
    UPDATE paceline.incarnation i SET state = 'd' WHERE i.id = ANY (v_ids);
    PERFORM paceline.elect(p_group);
    RETURN ARRAY(SELECT r.name FROM paceline.incarnation i JOIN paceline.runner r ON r.id = i.runner
                  WHERE i.id = ANY (v_ids) ORDER BY r.name);
END $$;

-- Nobody works in these pods any more; each has its cause. A row for each registration that ended by this, with the
-- number of jobs that it held and that are claimable now (poison is not).
CREATE FUNCTION paceline.fence_pods(p_group integer, p_uids text[], p_causes text[])
RETURNS TABLE (pod_uid text, runner text, cause text, jobs integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_ids bigint[]; v_jobs bigint[]; v_holders bigint[]; v_cause text;
BEGIN
    PERFORM paceline.require_group(p_group);
    IF cardinality(p_uids) <> cardinality(p_causes) OR array_position(p_causes, NULL) IS NOT NULL THEN
        RAISE EXCEPTION '% pods were given with % causes', cardinality(p_uids), cardinality(array_remove(p_causes, NULL))
            USING ERRCODE = 'PL002', HINT = 'give a cause for each pod';
    END IF;
    v_ids := ARRAY(
        SELECT i.id FROM paceline.incarnation i JOIN paceline.runner r ON r.id = i.runner
         WHERE i.pod_uid = ANY (p_uids) AND i.state <> 'z' AND r.grp = p_group ORDER BY i.id FOR UPDATE OF i);
    SELECT array_agg(j.id), array_agg(j.incarnation) INTO v_jobs, v_holders
      FROM paceline.job j WHERE j.incarnation = ANY (v_ids) AND j.state = 'x';
    FOR v_cause IN SELECT DISTINCT c FROM unnest(p_causes) c LOOP
        PERFORM paceline.end_incarnations(ARRAY(
            SELECT i.id FROM paceline.incarnation i
             WHERE i.id = ANY (v_ids) AND p_causes[array_position(p_uids, i.pod_uid)] = v_cause), v_cause);
    END LOOP;
    RETURN QUERY
    SELECT i.pod_uid, r.name, i.cause, (
        SELECT count(*)::integer FROM unnest(v_jobs, v_holders) h (job, holder)
          JOIN paceline.job j ON j.id = h.job WHERE h.holder = i.id)
      FROM paceline.incarnation i JOIN paceline.runner r ON r.id = i.runner WHERE i.id = ANY (v_ids) ORDER BY i.id;
END $$;

-- The nodes of these pods do not answer, and those of all others of the group do. That ends nobody; but should a lease
-- end now, the tick knows the cause. Only rows that change are written.
CREATE FUNCTION paceline.suspect_pods(p_group integer, p_uids text[], p_cause text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM paceline.require_group(p_group);
    UPDATE paceline.incarnation i SET suspect = CASE WHEN i.pod_uid = ANY (p_uids) THEN p_cause END
     WHERE i.id = ANY (ARRAY(
        SELECT x.id FROM paceline.incarnation x JOIN paceline.runner r ON r.id = x.runner
         WHERE r.grp = p_group AND x.state <> 'z'
           AND x.suspect IS DISTINCT FROM CASE WHEN x.pod_uid = ANY (p_uids) THEN p_cause END
         ORDER BY x.id FOR NO KEY UPDATE OF x));
END $$;
