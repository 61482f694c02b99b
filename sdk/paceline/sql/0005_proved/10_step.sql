-- The claim looks again at who is claiming after the housekeeping that it did on the way. Before, a runner whose lease
-- ended between gate and tick swept itself and then claimed: a job held by somebody who is gone is never looked for. And
-- a leader that elected another by its own tick claimed once more with the commit of the new epoch.

-- Ack, then claim at most p_want jobs, in one row: the verdict, what was refused, what is to be cancelled, and the jobs
-- as arrays in (priority, ready) order (50 jobs as rows cost the client a third more). After the acks nothing raises.
-- With p_listen, enqueue notifies for so many seconds if there was less than wanted.
CREATE OR REPLACE FUNCTION paceline.step(
    p_incarnation bigint, p_want integer,
    p_done bigint[] DEFAULT '{}', p_fences bigint[] DEFAULT '{}', p_results jsonb[] DEFAULT NULL,
    p_outputs text[] DEFAULT NULL, p_listen float8 DEFAULT NULL,
    OUT verdict text, OUT refused bigint[], OUT cancelled bigint[],
    OUT fence bigint, OUT ids bigint[], OUT kinds text[], OUT payloads jsonb[], OUT priorities smallint[],
    OUT tries smallint[], OUT losses smallint[], OUT timeouts_ms integer[], OUT traces text[], OUT waited float8[],
    OUT listening boolean, OUT runners integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
-- one plan for each connection, by the indexes, whatever the tables held when it was made (planning was 13 % of a step)
SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v record;
    v_done bigint[];
    v_ids bigint[];
    v_now timestamptz;
BEGIN
    PERFORM pg_current_xact_id();
    -- The gate. The lock is held to the commit: whoever drains, taints or fences waits for it or is seen by it.
    SELECT i.state, i.lease_until, i.login, i.lanes, i.special, i.late, i.cancels, i.pool, i.lane_version,
           p.lane_version AS newest, p.paused OR g.paused AS paused, p.leader_group, p.runners, p.rate IS NOT NULL AS rated,
           t.next_at <= clock_timestamp() AS tick_due, t.history_until > clock_timestamp() AS has_partition
      INTO v
      FROM paceline.incarnation i
      JOIN paceline.pool p ON p.id = i.pool
      JOIN paceline.runner r ON r.id = i.runner
      JOIN paceline.runner_group g ON g.id = r.grp
      CROSS JOIN paceline.tick t
     WHERE i.id = p_incarnation FOR KEY SHARE OF i;
    IF FOUND AND v.login <> session_user THEN
        PERFORM paceline.require(v.pool, 'gateway');
    END IF;
    IF p_done <> '{}' THEN
        v_done := paceline.ack(p_incarnation, p_done, p_fences, p_results, p_outputs,
                               coalesce(v.has_partition, paceline.has_partition()));
        refused := paceline.refused(p_done, v_done);
    END IF;
    verdict := 'ok';
    runners := v.runners;
    IF v.state IS NULL OR v.state = 'z' OR v.lease_until <= clock_timestamp() THEN
        verdict := 'fenced';
        RETURN;
    ELSIF v.state = 'd' THEN
        verdict := 'draining';
    ELSIF v.paused THEN
        verdict := 'paused';
    ELSIF v.leader_group IS NOT NULL THEN   -- only the leader of the group that owns the pool claims
        PERFORM FROM paceline.leader l
          WHERE l.grp = v.leader_group AND l.incarnation = p_incarnation FOR KEY SHARE;
        IF NOT FOUND THEN
            verdict := 'standby';
        END IF;
    END IF;
    IF v.cancels THEN
        cancelled := paceline.cancelled(p_incarnation);
    END IF;
    IF v.tick_due THEN   -- before the claim: what becomes ready now can be taken now
        PERFORM paceline.tick_safely();
        -- it may have ended the caller itself or elected another: its own locks do not keep a transaction out
        IF EXISTS (SELECT FROM paceline.incarnation i WHERE i.id = p_incarnation AND i.state = 'z') THEN
            verdict := 'fenced';
            RETURN;
        ELSIF verdict = 'ok' AND v.leader_group IS NOT NULL
              AND NOT EXISTS (SELECT FROM paceline.leader l WHERE l.grp = v.leader_group AND l.incarnation = p_incarnation) THEN
            verdict := 'standby';
        END IF;
    END IF;
    IF verdict <> 'ok' OR p_want < 1 THEN
        IF p_listen IS NOT NULL THEN   -- for the end of a pause, another leader, a cancel
            listening := paceline.listen(v.pool, p_listen);
        END IF;
        RETURN;
    END IF;
    IF v.lane_version <> v.newest THEN
        PERFORM paceline.refresh_lanes(ARRAY[p_incarnation]);
        SELECT i.lanes, i.special, i.late INTO v.lanes, v.special, v.late
          FROM paceline.incarnation i WHERE i.id = p_incarnation;
    END IF;
    v_ids := paceline.choose(v.pool, v.rated, v.lanes, v.special, v.late, p_want);
    IF p_listen IS NOT NULL AND coalesce(cardinality(v_ids), 0) < p_want THEN
        listening := paceline.listen(v.pool, p_listen);
    END IF;
    IF v_ids IS NULL THEN
        RETURN;
    END IF;
    fence := nextval('paceline.fence');
    v_now := clock_timestamp();
    WITH claimed AS (
        UPDATE paceline.job j
           SET state = 'x', incarnation = p_incarnation, fence = step.fence, claimed_at = v_now, deadline = NULL, progress = NULL
         WHERE j.id = ANY (v_ids)
        RETURNING j.id, j.kind, j.payload, j.priority, j.tries, j.losses, j.timeout_ms, j.trace, j.ready_at, j.seq)
    SELECT array_agg(c.id), array_agg(c.name), array_agg(c.payload), array_agg(c.priority), array_agg(c.tries),
           array_agg(c.losses), CASE WHEN count(c.timeout_ms) > 0 THEN array_agg(c.timeout_ms) END,
           CASE WHEN count(c.trace) > 0 THEN array_agg(c.trace) END,
           array_agg(date_part('epoch', v_now - c.ready_at))   -- extract() would count in numeric
      INTO ids, kinds, payloads, priorities, tries, losses, timeouts_ms, traces, waited
      FROM (SELECT c.*, k.name FROM claimed c JOIN paceline.kind k ON k.id = c.kind ORDER BY c.priority DESC, c.seq) c;
END $$;
