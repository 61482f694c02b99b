-- One channel for all groups at zero, so that an operator listens once, however many there are.
CREATE OR REPLACE FUNCTION paceline.wake(p_pools integer[]) RETURNS void
LANGUAGE sql AS $$
    SELECT pg_notify('paceline_' || w.pool, '') FROM paceline.waiter w
     WHERE w.pool = ANY (p_pools) AND w.until > clock_timestamp();
    SELECT pg_notify('paceline_asleep', w.pool::text) FROM paceline.waiter w
     WHERE w.pool = ANY (p_pools) AND w.asleep > clock_timestamp();
$$;

-- For a minute whoever makes work for these pools notifies the operators.
CREATE FUNCTION paceline.sleep_until_work(p_pools integer[]) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO paceline.waiter AS w (pool, until, asleep)
    SELECT p.id, '-infinity'::timestamptz, clock_timestamp() + interval '1 minute'
      FROM (SELECT DISTINCT o.id FROM unnest(p_pools) o (id)) p
    ON CONFLICT (pool) DO UPDATE SET asleep = excluded.asleep
$$;
