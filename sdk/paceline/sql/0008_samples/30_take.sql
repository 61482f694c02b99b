-- A sample of every pool in which something is, waits or happens. A pool at rest has none: a thousand of them would be eight
-- million rows a day that say nothing. The caller has the row of paceline.tick, so there is one writer, and one sample in ten
-- seconds, whoever ticks how often.
--
-- What ended is counted up to a second ago: a step commits some time after its flow's `at`. After a time in which nobody
-- ticked it is what ended in the last minute. Counts end where 100,000 jobs are counted in all, or 1,000 of a pool: this is done
-- inside somebody's call (for 100,000 jobs in six pools it takes 27 ms).
CREATE FUNCTION paceline.take_samples(p_now timestamptz) RETURNS void
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
    v_pools constant integer[] := ARRAY(SELECT p.id FROM paceline.pool p);
    v_cap constant bigint := greatest(1000, least(10000, 100000 / greatest(1, cardinality(v_pools))));
    v_lag constant interval := '1 second';
    v_last constant timestamptz := least(
        greatest((SELECT t.sampled_at FROM paceline.tick t), p_now - interval '1 minute'), p_now - interval '10 seconds');
BEGIN
    UPDATE paceline.tick SET sampled_at = p_now;
    INSERT INTO paceline.pool_sample (pool, taken_at, seconds, ready, scheduled, blocked, running, dead, oldest_seconds, busy,
                                      idle, draining, desired, done, failed)
    SELECT l.pool, p_now, extract(epoch FROM p_now - v_last), least(l.ready, v_cap), least(l.scheduled, v_cap),
           least(l.blocked, v_cap), l.running, least(l.dead, v_cap),
           CASE WHEN l.oldest IS NOT NULL THEN greatest(0, extract(epoch FROM p_now - l.oldest)) END, l.busy, l.idle, l.draining,
           l.desired, coalesce(f.done, 0), coalesce(f.failed, 0)
      FROM paceline.look_at_pools(v_pools, v_cap) l
      LEFT JOIN (
        SELECT n.pool, sum(x.done - x.failed) AS done, sum(x.failed) AS failed
          FROM paceline.flow x JOIN paceline.lane n ON n.id = x.lane
         WHERE x.at > v_last - v_lag AND x.at <= p_now - v_lag GROUP BY n.pool) f ON f.pool = l.pool
     WHERE greatest(l.ready, l.scheduled, l.blocked, l.running, l.busy + l.idle + l.draining, l.desired, f.done, f.failed) > 0
    ON CONFLICT DO NOTHING;
    -- of each pool some at a time, but more than come
    DELETE FROM paceline.pool_sample s USING (
        SELECT o.pool, o.taken_at FROM paceline.pool p CROSS JOIN LATERAL (
            SELECT x.pool, x.taken_at FROM paceline.pool_sample x
             WHERE x.pool = p.id AND x.taken_at < p_now - interval '24 hours' ORDER BY x.taken_at LIMIT 100) o) old
     WHERE s.pool = old.pool AND s.taken_at = old.taken_at;
END $$;
