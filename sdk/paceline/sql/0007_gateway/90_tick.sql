-- The housekeeping, as before, but for what gateways leave: what was offered in vain goes back, tokens that expire end their
-- runners, and calls that took too long are given up every second; requests that need not be remembered any more and what runs
-- said that are over go with the slow one.
CREATE FUNCTION paceline.forget_requests() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE v_now constant timestamptz := clock_timestamp();
BEGIN
    DELETE FROM paceline.once o USING (
        SELECT x.pool, x.key FROM paceline.once x WHERE x.until <= v_now LIMIT 100000 FOR UPDATE SKIP LOCKED) old
     WHERE o.pool = old.pool AND o.key = old.key;
    DELETE FROM paceline.live_output o
     WHERE NOT EXISTS (SELECT FROM paceline.job j WHERE j.id = o.job AND j.fence = o.fence AND j.state = 'x');
END $$;

-- What was registered with a token that has expired ends as it does with one that is revoked.
CREATE FUNCTION paceline.end_expired() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM paceline.end_incarnations(ARRAY(
        SELECT i.id FROM paceline.incarnation i JOIN paceline.token t ON t.id = i.token
         WHERE i.state <> 'z' AND t.expires_at <= clock_timestamp()
         ORDER BY i.id LIMIT 100 FOR UPDATE OF i SKIP LOCKED), 'Revoked', false);
END $$;

CREATE OR REPLACE FUNCTION paceline.tick_slowly() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('lock_timeout', '200ms', true);   -- a long reader of history must not hold up the queue
    PERFORM paceline.make_partitions();
    PERFORM paceline.retire_partitions();
    PERFORM paceline.forget_unused();
    PERFORM paceline.forget_requests();
    PERFORM set_config('lock_timeout', '0', true);
END $$;

-- The marks are moved every time: while an old snapshot keeps finished jobs from being cleaned up, each claim passes by all that
-- ended since (at 40,000 a second and every 250 ms, 5,000 for a claim of 50).
CREATE OR REPLACE FUNCTION paceline.do_tick() RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE t paceline.tick; v_now constant timestamptz := clock_timestamp();
BEGIN
    SELECT x.* INTO t FROM paceline.tick x WHERE x.next_at <= v_now FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM pg_current_xact_id();
    UPDATE paceline.tick SET
        next_at = v_now + interval '100 milliseconds',
        review_at = CASE WHEN t.review_at <= v_now THEN v_now + interval '1 second' ELSE t.review_at END,
        slow_at = CASE WHEN t.slow_at <= v_now THEN v_now + interval '10 minutes' ELSE t.slow_at END;
    PERFORM paceline.sweep();
    PERFORM paceline.wake(paceline.release());
    PERFORM paceline.expire();
    IF t.review_at <= v_now THEN
        PERFORM paceline.sweep_offers();
        PERFORM paceline.end_expired();
        PERFORM paceline.give_up_calls();
        PERFORM paceline.review_lanes();
        PERFORM paceline.count_runners();
        PERFORM paceline.review_keys();
        UPDATE paceline.pool p SET depth = paceline.waiting(p.id, p.max_depth + 1)
         WHERE p.id = ANY (ARRAY(SELECT x.id FROM paceline.pool x WHERE x.max_depth > 10000 FOR NO KEY UPDATE SKIP LOCKED));
    END IF;
    PERFORM paceline.wake(paceline.admit_knocking());
    PERFORM paceline.elect(g.id, false) FROM paceline.runner_group g WHERE g.leader;
    IF t.mark_at <= v_now THEN
        PERFORM paceline.advance_marks();
    END IF;
    IF t.slow_at <= v_now THEN
        BEGIN
            PERFORM paceline.tick_slowly();
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING 'paceline: slow housekeeping: %', SQLERRM;
        END;
    END IF;
    RETURN true;
END $$;
