-- Whoever waits for a job is told when it has left the live table, by whatever way: done, dead, cancelled, expired, lost for
-- good. There are three ways out, and each of them tells it. A trigger would be one place for all, but cost jobs that nobody
-- waits for 1.5 us each, a tenth of an ack.
CREATE FUNCTION paceline.tell_ended(p_ids bigint[]) RETURNS void
LANGUAGE sql AS $$ SELECT pg_notify('paceline_ended', i::text) FROM unnest(p_ids) i $$;

-- Jobs that are cancelled, that expire, or that are done while there is no partition; as before, but for those who wait.
CREATE OR REPLACE FUNCTION paceline.finish(p_jobs bigint[], p_outcome "char") RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE v_rows paceline.job[]; v_keys bigint[]; v_awaited bigint[];
BEGIN
    WITH gone AS (DELETE FROM paceline.job j WHERE j.id = ANY (p_jobs) RETURNING j)
    SELECT array_agg(gone.j) INTO v_rows FROM gone;
    EXECUTE format($sql$
        INSERT INTO paceline.%I (id, enqueued_at, claimed_at, fence, incarnation, lane, kind, priority, tries, losses, outcome)
        SELECT r.id, r.enqueued_at, r.claimed_at, r.fence, r.incarnation, r.lane, r.kind, r.priority, r.tries, r.losses, $2
          FROM unnest($1) r$sql$,
        CASE WHEN paceline.has_partition() THEN 'history' ELSE 'history_late' END) USING v_rows, p_outcome;
    SELECT array_agg(DISTINCT r.key) FILTER (WHERE r.key IS NOT NULL), array_agg(r.id) FILTER (WHERE r.awaited)
      INTO v_keys, v_awaited FROM unnest(v_rows) r;
    INSERT INTO paceline.knock (key) SELECT k FROM unnest(v_keys) k;   -- their permits are free
    PERFORM paceline.tell_ended(v_awaited);
    RETURN (SELECT array_agg(r.id) FROM unnest(v_rows) r);
END $$;

-- Jobs that are dead; as before, but for those who wait.
CREATE OR REPLACE FUNCTION paceline.bury(p_jobs bigint[], p_cause text, p_error text, p_tries integer, p_losses integer) RETURNS void
LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM paceline.job j WHERE j.id = ANY (p_jobs) RETURNING j.*),
    dead AS (
        INSERT INTO paceline.dead (id, cause, error, enqueued_at, lane, kind, key, priority, tries, losses, max_tries,
                                   max_losses, timeout_ms, fence, dedupe, trace, payload)
        SELECT g.id, p_cause, p_error, g.enqueued_at, g.lane, g.kind, g.key, g.priority, g.tries + p_tries,
               g.losses + p_losses, g.max_tries, g.max_losses, g.timeout_ms, g.fence, g.dedupe, g.trace, g.payload
          FROM gone g),
    knocks AS (INSERT INTO paceline.knock (key) SELECT DISTINCT g.key FROM gone g WHERE g.key IS NOT NULL)
    SELECT paceline.tell_ended(array_agg(g.id)) FROM gone g WHERE g.awaited
$$;

-- Finished jobs of a runner, by the fence of its claim, and what they leave behind; as before, but for those who
-- wait and for flow.incarnation.
CREATE OR REPLACE FUNCTION paceline.ack(p_incarnation bigint, p_ids bigint[], p_fences bigint[], p_results jsonb[], p_outputs text[],
                             p_partition boolean) RETURNS bigint[]
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_one constant boolean := p_fences[1] = ALL (p_fences);   -- usually all are of one claim; a search for each is slower
    v_done bigint[];
    v_keys bigint[];
    v_awaited bigint[];
BEGIN
    IF p_outputs IS NOT NULL THEN
        v_done := paceline.mine(p_incarnation, p_ids, p_fences);
        v_done := ARRAY(SELECT d FROM unnest(v_done) d WHERE p_outputs[array_position(p_ids, d)] IS NOT NULL);
        PERFORM paceline.note_attempts(v_done, 'd', NULL, NULL,
                                       ARRAY(SELECT p_outputs[array_position(p_ids, d)] FROM unnest(v_done) d));
    END IF;
    IF p_partition THEN
        WITH gone AS (
            DELETE FROM paceline.job j
             WHERE j.id = ANY (p_ids) AND j.incarnation = p_incarnation
               AND j.fence = CASE WHEN v_one THEN p_fences[1] ELSE p_fences[array_position(p_ids, j.id)] END
            RETURNING j.id, j.enqueued_at, j.claimed_at, j.fence, j.lane, j.kind, j.priority, j.tries, j.losses, j.key, j.awaited
        ), kept AS (
            INSERT INTO paceline.history (id, finished_at, enqueued_at, claimed_at, fence, incarnation, lane, kind, priority,
                                          tries, losses, outcome, result)
            SELECT g.id, v_now, g.enqueued_at, g.claimed_at, g.fence, p_incarnation, g.lane, g.kind, g.priority,
                   g.tries, g.losses, 'd', CASE WHEN p_results IS NOT NULL THEN p_results[array_position(p_ids, g.id)] END
              FROM gone g
        ), counted AS (
            INSERT INTO paceline.flow (at, lane, done, busy_ms, incarnation)
            SELECT v_now, g.lane, count(*), (date_part('epoch', sum(v_now - g.claimed_at)) * 1000)::bigint, p_incarnation
              FROM gone g GROUP BY g.lane
        )
        SELECT array_agg(g.id), array_agg(g.key) FILTER (WHERE g.key IS NOT NULL), array_agg(g.id) FILTER (WHERE g.awaited)
          INTO v_done, v_keys, v_awaited FROM gone g;
        IF v_awaited IS NOT NULL THEN
            PERFORM paceline.tell_ended(v_awaited);
        END IF;
    ELSE
        v_done := paceline.mine(p_incarnation, p_ids, p_fences);
        SELECT array_agg(DISTINCT j.key) INTO v_keys FROM paceline.job j WHERE j.id = ANY (v_done) AND j.key IS NOT NULL;
        v_done := paceline.finish(v_done, 'd');
        UPDATE paceline.history_late h SET result = p_results[array_position(p_ids, h.id)]
         WHERE h.id = ANY (v_done) AND p_results IS NOT NULL;
    END IF;
    IF v_keys IS NOT NULL THEN
        PERFORM paceline.wake(paceline.admit(v_keys));
    END IF;
    RETURN v_done;
END $$;

-- Somebody waits for these: what became of those that have ended; the ends of the others are told from now on. A row without
-- a state is one whose end is not told, since somebody is just writing about it: it is to be asked for again soon.
CREATE FUNCTION paceline.await_outcome(p_ids bigint[])
RETURNS TABLE (id bigint, state text, result jsonb, cause text, error text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_pools constant integer[] := paceline.visible(NULL, 'producer', 'gateway');
BEGIN
    UPDATE paceline.job j SET awaited = true
     WHERE j.id = ANY (ARRAY(
        SELECT x.id FROM paceline.job x JOIN paceline.kind k ON k.id = x.kind AND k.pool = ANY (v_pools)
         WHERE x.id = ANY (p_ids) AND x.awaited IS NULL ORDER BY x.id FOR NO KEY UPDATE OF x SKIP LOCKED));
    -- in a later statement than the marks: what ended before them is seen
    RETURN QUERY
    SELECT o.id, o.state, o.result, o.cause, o.error FROM paceline.outcome(p_ids) o
    UNION ALL
    SELECT j.id, NULL, NULL, NULL, NULL FROM paceline.job j JOIN paceline.kind k ON k.id = j.kind AND k.pool = ANY (v_pools)
     WHERE j.id = ANY (p_ids) AND j.awaited IS NULL;
END $$;
