-- Heartbeats of several runners in one call, each with the runs that it has: naming one confirms it. One that comes by a socket
-- counts only while that is the current one (`moved` if not); one that comes by a request shows that the runner is there, also
-- when it has just lost its socket. `refused`: those of its runs that are not its own any more.
CREATE FUNCTION paceline.beat(p_incarnations bigint[], p_sessions bigint[], p_owners bigint[] DEFAULT '{}',
                              p_jobs bigint[] DEFAULT '{}', p_fences bigint[] DEFAULT '{}')
RETURNS TABLE (incarnation bigint, session bigint, verdict text, cancelled bigint[], refused bigint[], cause text, leave boolean,
               lease float8)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v paceline.incarnation;
    v_id bigint;
    v_jobs bigint[];
    v_fences bigint[];
BEGIN
    FOR v_id, session IN SELECT a.id, a.session FROM unnest(p_incarnations, p_sessions) a (id, session) ORDER BY 1 LOOP
        SELECT i.* INTO v FROM paceline.incarnation i WHERE i.id = v_id FOR NO KEY UPDATE;
        incarnation := v_id; refused := NULL; lease := date_part('epoch', v.lease);
        IF v.state <> 'z' AND session IS NOT NULL AND v.session IS DISTINCT FROM session THEN
            PERFORM paceline.own(v_id);
            verdict := 'moved'; cancelled := NULL; cause := NULL; leave := false;
        ELSE
            SELECT h.verdict, h.cancelled, h.cause, h.leave INTO verdict, cancelled, cause, leave
              FROM paceline.heartbeat(v_id) h;
            IF v.suspect = 'Disconnected' AND verdict <> 'fenced' THEN
                UPDATE paceline.incarnation i SET suspect = NULL WHERE i.id = v_id;
            END IF;
            SELECT array_agg(n.job), array_agg(n.fence) INTO v_jobs, v_fences
              FROM unnest(p_owners, p_jobs, p_fences) n (owner, job, fence) WHERE n.owner = v_id;
            DELETE FROM paceline.offer o USING unnest(v_jobs, v_fences) n (job, fence)
             WHERE o.job = n.job AND o.fence = n.fence AND o.incarnation = v_id;
            refused := paceline.not_held(v_id, v_jobs, v_fences);
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;

-- Of runners that a gateway holds a connection of (`session` as in an offer): those that have something to be told. A job to be
-- cancelled, a drain, an end (that of its token too, before the housekeeping has found it); or that its registration has `moved`
-- to another socket.
CREATE FUNCTION paceline.news(p_incarnations bigint[], p_sessions bigint[])
RETURNS TABLE (incarnation bigint, verdict text, cancelled bigint[], cause text, leave boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_pools constant integer[] := paceline.visible(NULL, 'gateway');
BEGIN
    RETURN QUERY
    SELECT n.* FROM (
        SELECT a.id, CASE WHEN i.id IS NULL OR i.state = 'z' OR i.lease_until <= v_now THEN 'fenced'
                          WHEN a.session IS NOT NULL AND i.session IS DISTINCT FROM a.session THEN 'moved'
                          WHEN t.expires_at <= v_now THEN 'fenced'
                          WHEN i.state = 'd' THEN 'draining' ELSE 'ok' END AS verdict,
               CASE WHEN i.cancels THEN paceline.cancelled(i.id) END AS cancelled,
               CASE WHEN i.state = 'z' THEN i.cause WHEN i.lease_until <= v_now THEN coalesce(i.suspect, 'LeaseExpired')
                    WHEN t.expires_at <= v_now THEN 'Revoked' END,
               i.state = 'd' AND EXISTS (SELECT FROM paceline.effective_taints(i.runner) x WHERE x.effect = 'Drain')
          FROM unnest(p_incarnations, p_sessions) a (id, session)
          LEFT JOIN paceline.incarnation i ON i.id = a.id AND i.pool = ANY (v_pools)
          LEFT JOIN paceline.token t ON t.id = i.token) n
     WHERE n.verdict <> 'ok' OR n.cancelled IS NOT NULL;
END $$;
