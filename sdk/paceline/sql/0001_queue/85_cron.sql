-- Cron without a leader: whoever finds an entry due computes the tick after it and asks to fire. The entry moves only if
-- it still stands where the asker saw it, in the transaction that makes the job: each tick fires exactly once.
-- Schedules and time zones are read by the SDK; here they are text.

-- The pool of that name; never made here. One that is not there looks like one that the login may not use.
CREATE FUNCTION paceline.cron_pool(p_pool text, VARIADIC p_roles text[]) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE v_pool constant integer := (SELECT p.id FROM paceline.pool p WHERE p.name = p_pool);
BEGIN
    PERFORM paceline.require(v_pool, VARIADIC p_roles);
    RETURN v_pool;
END $$;

-- A put that changes neither schedule nor time zone leaves next_at alone: the same deployment may put its entries at
-- every start, and a tick that is due just then must not be lost. Returns when it fires next.
CREATE FUNCTION paceline.put_cron(p_pool text, p_name text, p_schedule text, p_timezone text, p_job jsonb, p_next_at timestamptz)
RETURNS timestamptz LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_pool constant integer := paceline.pool_for(p_pool);
    v_next_at timestamptz;
BEGIN
    PERFORM paceline.require(v_pool, 'producer', 'gateway', 'operator');
    IF coalesce(p_name, '') = '' OR p_schedule IS NULL OR p_timezone IS NULL OR p_next_at IS NULL
       OR p_job ->> 'kind' IS NULL THEN
        RAISE EXCEPTION 'a cron entry needs a name, a schedule, a time zone, its next tick and a job with a kind'
            USING ERRCODE = 'PL002', HINT = 'use Cron.put of the SDK, which reads the schedule too';
    END IF;
    INSERT INTO paceline.cron AS c (pool, name, schedule, timezone, job, next_at)
    VALUES (v_pool, p_name, p_schedule, p_timezone, p_job, p_next_at)
    ON CONFLICT (pool, name) DO UPDATE
       SET schedule = excluded.schedule, timezone = excluded.timezone, job = excluded.job,
           next_at = CASE WHEN (c.schedule, c.timezone) = (excluded.schedule, excluded.timezone)
                          THEN c.next_at ELSE excluded.next_at END
    RETURNING c.next_at INTO v_next_at;
    RETURN v_next_at;
END $$;

-- Whether there was one.
CREATE FUNCTION paceline.delete_cron(p_pool text, p_name text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_pool constant integer := paceline.cron_pool(p_pool, 'producer', 'gateway', 'operator');
BEGIN
    DELETE FROM paceline.cron c WHERE c.pool = v_pool AND c.name = p_name;
    RETURN FOUND;
END $$;

CREATE FUNCTION paceline.list_cron(p_pool text)
RETURNS TABLE (name text, schedule text, timezone text, job jsonb, next_at timestamptz, last_at timestamptz, paused boolean,
               now timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_pool constant integer := paceline.cron_pool(p_pool, 'reader', 'producer', 'runner', 'gateway', 'operator');
BEGIN
    RETURN QUERY
    SELECT c.name, c.schedule, c.timezone, c.job, c.next_at, c.last_at, c.paused, clock_timestamp()
      FROM paceline.cron c WHERE c.pool = v_pool ORDER BY c.name;
END $$;

-- Ticks that pass during a pause are not made up for: with the end of a pause comes the next tick after it.
CREATE FUNCTION paceline.pause_cron(p_pool text, p_name text, p_paused boolean, p_next_at timestamptz DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_pool constant integer := paceline.cron_pool(p_pool, 'producer', 'gateway', 'operator');
BEGIN
    UPDATE paceline.cron c
       SET paused = p_paused,
           next_at = CASE WHEN c.paused AND NOT p_paused THEN greatest(c.next_at, p_next_at) ELSE c.next_at END
     WHERE c.pool = v_pool AND c.name = p_name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'pool "%" has no cron entry "%"', p_pool, p_name
            USING ERRCODE = 'PL005', HINT = 'correct the name, or put the entry first';
    END IF;
END $$;

-- What is due in the pools that this login may serve, by the database's clock.
CREATE FUNCTION paceline.cron_due()
RETURNS TABLE (id integer, pool text, name text, schedule text, timezone text, due_at timestamptz, now timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_now constant timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT c.id, p.name, c.name, c.schedule, c.timezone, c.next_at, v_now
      FROM paceline.cron c JOIN paceline.pool p ON p.id = c.pool
     WHERE NOT c.paused AND c.next_at <= v_now AND paceline.may(c.pool, 'runner', 'gateway', 'operator')
     ORDER BY c.next_at, c.id;
END $$;

-- Make the job of an entry that was seen due at p_due_at, for the tick p_tick_at (a later one, after downtime), and move
-- the entry on. No row: somebody else has fired it, does so now, or it has changed. A refused job leaves the entry due.
CREATE FUNCTION paceline.fire_cron(p_id integer, p_due_at timestamptz, p_next_at timestamptz, p_tick_at timestamptz DEFAULT NULL)
RETURNS TABLE (id bigint, created boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_cron paceline.cron;
    v_tick_at constant timestamptz := coalesce(p_tick_at, p_due_at);
    j record;
BEGIN
    SELECT c.* INTO v_cron FROM paceline.cron c WHERE c.id = p_id;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM paceline.require(v_cron.pool, 'runner', 'gateway', 'operator');
    IF v_tick_at < p_due_at OR v_tick_at > clock_timestamp() OR p_next_at <= v_tick_at THEN
        RAISE EXCEPTION 'cron entry "%" cannot fire for % and then at %: a tick fires when it is due, and the next one is later',
              v_cron.name, v_tick_at, p_next_at
            USING ERRCODE = 'PL002', HINT = 'use Cron.fire_due of the SDK';
    END IF;
    SELECT c.* INTO v_cron FROM paceline.cron c
     WHERE c.id = p_id AND c.next_at = p_due_at AND NOT c.paused FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    UPDATE paceline.cron c SET next_at = p_next_at, last_at = v_tick_at WHERE c.id = p_id;
    SELECT r.* INTO j FROM jsonb_to_record(v_cron.job)
        r (kind text, payload jsonb, priority smallint, delay float8, ttl float8, key text, key_limit integer, dedupe text,
           tags text, tolerations text, max_tries smallint, max_losses smallint, timeout_ms integer, stamp text);
    RETURN QUERY SELECT * FROM paceline.insert_jobs(
        v_cron.pool, ARRAY[j.kind],
        ARRAY[CASE WHEN j.stamp IS NULL THEN coalesce(j.payload, 'null')
                   ELSE coalesce(j.payload, '{}') || jsonb_build_object(
                        j.stamp, to_char(v_tick_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) END],
        p_priority => ARRAY[j.priority], p_delay => ARRAY[j.delay], p_ttl => ARRAY[j.ttl],
        p_key => CASE WHEN j.key IS NOT NULL THEN ARRAY[j.key] END, p_key_limit => ARRAY[j.key_limit],
        p_dedupe => ARRAY[j.dedupe], p_tags => ARRAY[j.tags], p_tolerations => ARRAY[j.tolerations],
        p_max_tries => ARRAY[j.max_tries], p_max_losses => ARRAY[j.max_losses], p_timeout_ms => ARRAY[j.timeout_ms]);
END $$;
