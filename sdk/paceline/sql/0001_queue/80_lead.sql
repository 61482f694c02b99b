-- The leader of a group with dispatch: Leader. A database function, so that it works with the operator or the API
-- server away. The leader's row is what its claims hold FOR KEY SHARE: a new leader waits for them.

CREATE FUNCTION paceline.candidate(p_group integer, OUT runner bigint, OUT incarnation bigint)
LANGUAGE sql STABLE AS $$
    WITH eligible AS (
        SELECT r.id AS runner, i.id AS incarnation, r.created_at, i.registered_at, r.id = l.promoted AS promoted,
               i.id = l.incarnation AS leads
          FROM paceline.leader l
          JOIN paceline.runner r ON r.grp = l.grp
          JOIN paceline.incarnation i ON i.runner = r.id
         WHERE l.grp = p_group AND i.state = 'a' AND i.lease_until > clock_timestamp()
           AND NOT EXISTS (SELECT FROM paceline.effective_taints(r.id) t WHERE t.effect IN ('NoLead', 'NoClaim', 'Drain'))
    )
    -- the promoted one; else the oldest, but one that came back must have been active for 30 s to oust another
    SELECT e.runner, e.incarnation FROM eligible e
     WHERE e.promoted OR e.leads OR e.registered_at <= clock_timestamp() - interval '30 seconds'
        OR NOT EXISTS (SELECT FROM eligible o WHERE o.leads)
     ORDER BY e.promoted DESC NULLS LAST, e.created_at, e.runner LIMIT 1
$$;

-- p_wait false: inside housekeeping, where waiting for the old leader's claim could be a deadlock.
CREATE FUNCTION paceline.elect(p_group integer, p_wait boolean DEFAULT true) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE v_runner bigint; v_incarnation bigint;
BEGIN
    SELECT c.runner, c.incarnation INTO v_runner, v_incarnation FROM paceline.candidate(p_group) c;
    IF NOT EXISTS (SELECT FROM paceline.leader l WHERE l.grp = p_group AND l.incarnation IS DISTINCT FROM v_incarnation) THEN
        RETURN;   -- the usual case: no lock, no write
    END IF;
    IF p_wait THEN
        PERFORM FROM paceline.leader l WHERE l.grp = p_group FOR UPDATE;   -- waits for the old leader's claims
    ELSE
        PERFORM FROM paceline.leader l WHERE l.grp = p_group FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            RETURN;
        END IF;
    END IF;
    SELECT c.runner, c.incarnation INTO v_runner, v_incarnation FROM paceline.candidate(p_group) c;
    UPDATE paceline.leader l
       SET runner = v_runner, incarnation = v_incarnation, epoch = l.epoch + 1, since = clock_timestamp(),
           promoted = CASE WHEN l.promoted = v_runner THEN v_runner END   -- a promotion ends when its Runner cannot lead
     WHERE l.grp = p_group AND l.incarnation IS DISTINCT FROM v_incarnation;
    IF FOUND THEN
        PERFORM paceline.wake(ARRAY(SELECT g.pool FROM paceline.runner_group g WHERE g.id = p_group));
    END IF;
END $$;

-- Make a Runner the leader until it is not eligible any more; NULL ends a promotion. One that cannot lead now is not
-- promoted.
CREATE FUNCTION paceline.promote(p_group integer, p_runner bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM paceline.require((SELECT g.pool FROM paceline.runner_group g WHERE g.id = p_group), 'operator', 'gateway');
    UPDATE paceline.leader l SET promoted = p_runner WHERE l.grp = p_group;
    PERFORM paceline.elect(p_group);
    UPDATE paceline.leader l SET promoted = NULL WHERE l.grp = p_group AND l.promoted IS DISTINCT FROM l.runner;
END $$;
