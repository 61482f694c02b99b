-- The clock is read before a statement that compares with it. clock_timestamp() inside one may change from row to row, so no
-- index is searched for it: ten times a second every job with an expires_at was read (9,801 of 98,301 in the test), and
-- four times a second an hour's flow (72,000 rows).

CREATE OR REPLACE FUNCTION paceline.expire() RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE v_now constant timestamptz := clock_timestamp();
BEGIN
    RETURN paceline.finish(ARRAY(
        SELECT j.id FROM paceline.job j WHERE j.expires_at IS NOT NULL AND j.state <> 'x' AND j.expires_at <= v_now
         ORDER BY j.expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED), 'e');
END $$;

-- An id of which only the lower 32 bits are known, and that was given out after another one.
CREATE FUNCTION paceline.whole_xid(p_before xid8, p_lower bigint) RETURNS xid8
LANGUAGE sql IMMUTABLE AS $$
    SELECT (f.id + CASE WHEN f.id < p_before::text::bigint THEN 4294967296 ELSE 0 END)::text::xid8
      FROM (SELECT (p_before::text::bigint / 4294967296) * 4294967296 + p_lower AS id) f
$$;

-- The low-water marks. A position is safe to skip to once every transaction that could have taken a lower one is over; each
-- writer takes its id before its first position and its first look at the clock. So the sequence and the clock are read first,
-- and the mark's id is one that was given out after that. The end of a snapshot is none: it is one past the newest transaction
-- that is over, and a writer that is newer and still open would be passed over; its jobs would stay ready for ever.
CREATE OR REPLACE FUNCTION paceline.advance_marks() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_lately constant timestamptz := clock_timestamp() - interval '5 seconds';
    v_safe bigint;
    v_time timestamptz;
    v_last bigint;
    v_own bigint;
BEGIN
    SELECT max(m.seq), max(m.at) INTO v_safe, v_time
      FROM paceline.mark m WHERE m.xid <= pg_snapshot_xmin(pg_current_snapshot());
    IF v_safe IS NOT NULL THEN
        UPDATE paceline.tick t SET
            knock_low = least(v_safe + 1, (SELECT k.seq FROM paceline.knock k WHERE k.seq >= t.knock_low ORDER BY k.seq LIMIT 1)),
            release_low = least(v_time, (SELECT j.run_at FROM paceline.job j WHERE j.state = 's' AND j.run_at >= t.release_low
                                          ORDER BY j.run_at LIMIT 1));
        DELETE FROM paceline.mark m WHERE m.seq <= v_safe;
        UPDATE paceline.band b SET low = n.low
          FROM (SELECT x.lane, x.priority, least(v_safe + 1,
                    (SELECT j.seq FROM paceline.job j WHERE j.state = 'r' AND j.lane = x.lane AND j.priority = x.priority
                        AND j.seq >= x.low ORDER BY j.seq LIMIT 1)) AS low
                  FROM paceline.band x
                 WHERE x.lane IN (SELECT f.lane FROM paceline.flow f WHERE f.at > v_lately)) n
         WHERE b.lane = n.lane AND b.priority = n.priority AND n.low > b.low;
    END IF;
    SELECT s.last_value INTO v_last FROM paceline.seq s;
    v_time := clock_timestamp();
    IF (SELECT count(*) < 20 AND coalesce(max(m.seq), 0) < v_last FROM paceline.mark m) THEN
        BEGIN
            INSERT INTO paceline.mark (seq, at, xid) VALUES (v_last, v_time, pg_current_xact_id())
            RETURNING xmin::text::bigint INTO v_own;
        EXCEPTION WHEN assert_failure THEN   -- never; the clause makes the block a subtransaction, with an id of its own
            RAISE;
        END;
        UPDATE paceline.mark m SET xid = paceline.whole_xid(pg_current_xact_id(), v_own) WHERE m.seq = v_last;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION paceline.forget_unused() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_horizon constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
BEGIN
    DELETE FROM paceline.lane l WHERE l.retired < v_horizon
       AND NOT EXISTS (SELECT FROM paceline.job j WHERE j.lane = l.id)
       AND NOT EXISTS (SELECT FROM paceline.dead d WHERE d.lane = l.id);
    DELETE FROM paceline.key k WHERE k.retired < v_horizon
       AND NOT EXISTS (SELECT FROM paceline.job j WHERE j.key = k.id)
       AND NOT EXISTS (SELECT FROM paceline.dead d WHERE d.key = k.id);
    UPDATE paceline.lane l SET retired = pg_current_xact_id()
     WHERE l.retired IS NULL AND l.used_at < v_now - interval '1 day'
       AND NOT EXISTS (SELECT FROM paceline.job j WHERE j.lane = l.id)
       AND NOT EXISTS (SELECT FROM paceline.dead d WHERE d.lane = l.id);
    UPDATE paceline.key k SET retired = pg_current_xact_id()
     WHERE k.retired IS NULL AND k.rate IS NULL AND k.used_at < v_now - interval '1 day'
       AND NOT EXISTS (SELECT FROM paceline.job j WHERE j.key = k.id)
       AND NOT EXISTS (SELECT FROM paceline.dead d WHERE d.key = k.id);
    DELETE FROM paceline.flow f WHERE f.at < v_now - interval '1 hour';
    DELETE FROM paceline.incarnation i USING paceline.tick t   -- history names runners by them
     WHERE i.state = 'z' AND i.ended_at < v_now - make_interval(days => t.history_days + 1)
       AND NOT EXISTS (SELECT FROM paceline.job j WHERE j.incarnation = i.id AND j.state = 'x');
END $$;

-- Pools are joined with the counts of the living: looked up for each pool, they were read through as often as there are pools.
CREATE OR REPLACE FUNCTION paceline.count_runners() RETURNS void
LANGUAGE sql AS $$
    WITH live AS (
        SELECT i.pool, count(*) AS runners FROM paceline.incarnation i
         WHERE i.state <> 'z' AND i.lease_until > clock_timestamp() GROUP BY i.pool
    ), changed AS MATERIALIZED (
        SELECT p.id, coalesce(l.runners, 0) AS runners FROM paceline.pool p LEFT JOIN live l ON l.pool = p.id
         WHERE p.runners <> coalesce(l.runners, 0) FOR NO KEY UPDATE OF p SKIP LOCKED)
    UPDATE paceline.pool p SET runners = c.runners FROM changed c WHERE p.id = c.id
$$;

-- Runners of one sort have the same list of lanes: the lists are told apart before they are taken apart. Taken apart for each
-- runner, 500 runners with 2,000 lanes were a million rows every second.
CREATE OR REPLACE FUNCTION paceline.review_lanes() RETURNS void
LANGUAGE sql AS $$
    SELECT paceline.refresh_lanes(ARRAY(
        SELECT i.id FROM paceline.incarnation i JOIN paceline.pool p ON p.id = i.pool
         WHERE i.state = 'a' AND i.lane_version <> p.lane_version LIMIT 100 FOR NO KEY UPDATE OF i SKIP LOCKED));
    WITH lists AS MATERIALIZED (
        SELECT DISTINCT i.lanes, i.special FROM paceline.incarnation i
         WHERE i.state = 'a' AND i.lease_until > clock_timestamp()
    ), served AS (
        SELECT DISTINCT unnest(o.lanes || o.special) AS lane FROM lists o)
    UPDATE paceline.lane l SET served = NOT l.served
     WHERE l.id = ANY (ARRAY(
        SELECT x.id FROM paceline.lane x WHERE x.served <> (x.id IN (SELECT s.lane FROM served s))
           FOR NO KEY UPDATE SKIP LOCKED))
$$;
