-- The housekeeping, as before, and every ten seconds a sample of the pools. A clock that was put back does not stop them,
-- 'infinity' does; one that fails costs a sample and not the housekeeping.
ALTER FUNCTION paceline.do_tick() RENAME TO do_duties;

CREATE FUNCTION paceline.do_tick() RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE v_now timestamptz;
BEGIN
    IF NOT paceline.do_duties() THEN
        RETURN false;
    END IF;
    v_now := clock_timestamp();   -- from here on the row is ours, and what another has sampled is seen
    IF EXISTS (SELECT FROM paceline.tick t WHERE t.sampled_at NOT BETWEEN v_now - interval '10 seconds' AND v_now
                 AND t.sampled_at < 'infinity') THEN
        BEGIN
            PERFORM paceline.take_samples(v_now);
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING 'paceline: samples: %', SQLERRM;
        END;
    END IF;
    RETURN true;
END $$;
