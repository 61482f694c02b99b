-- Is the database well? Above all: who keeps vacuum from removing dead rows, by name, so that somebody can act.
-- The owner of the schema may not be allowed to see everything of other sessions (pg_read_all_stats lets him): what he
-- cannot see is NULL, and nothing here fails for it.

-- Sessions, slots and prepared transactions that hold the horizon. Their own columns differ, so each is a JSON object.
-- Where the age in seconds is hidden, the number of transactions since tells whether it is worth a mention.
CREATE FUNCTION paceline.vacuum_holders(p_older_than float8) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_now constant timestamptz := clock_timestamp();
    v_holders jsonb := '[]';
    v_more jsonb;
BEGIN
    BEGIN
        SELECT jsonb_agg(to_jsonb(h)) INTO v_more FROM (
            SELECT CASE a.backend_type WHEN 'walsender' THEN 'standby' ELSE 'session' END AS holder, a.pid::text AS name, a.pid,
                   a.usename AS login, a.application_name AS application, a.state,
                   extract(epoch FROM v_now - a.xact_start) AS age_seconds,
                   greatest(age(a.backend_xmin), age(a.backend_xid)) AS transactions
              FROM pg_stat_activity a
             WHERE a.pid <> pg_backend_pid() AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
               AND (a.datname = current_database() OR a.backend_type = 'walsender')
               AND a.backend_type IS DISTINCT FROM 'autovacuum worker'   -- NULL where it is hidden
               AND CASE WHEN a.xact_start IS NULL THEN age(a.backend_xmin) >= 1000
                        ELSE v_now - a.xact_start >= make_interval(secs => p_older_than) END
             ORDER BY transactions DESC LIMIT 20) h;
        v_holders := v_holders || coalesce(v_more, '[]');
    EXCEPTION WHEN insufficient_privilege THEN NULL;
    END;
    BEGIN
        SELECT jsonb_agg(to_jsonb(h)) INTO v_more FROM (
            SELECT 'slot' AS holder, s.slot_name AS name, s.active_pid AS pid, age(s.xmin) AS transactions,
                   CASE WHEN s.active THEN 'active' ELSE 'inactive' END AS state
              FROM pg_replication_slots s WHERE s.xmin IS NOT NULL ORDER BY age(s.xmin) DESC LIMIT 20) h;
        v_holders := v_holders || coalesce(v_more, '[]');
    EXCEPTION WHEN insufficient_privilege THEN NULL;
    END;
    BEGIN
        SELECT jsonb_agg(to_jsonb(h)) INTO v_more FROM (
            SELECT 'prepared' AS holder, x.gid AS name, x.owner AS login, age(x.transaction) AS transactions,
                   extract(epoch FROM v_now - x.prepared) AS age_seconds
              FROM pg_prepared_xacts x
             WHERE x.database = current_database() AND v_now - x.prepared >= make_interval(secs => p_older_than)
             ORDER BY x.prepared LIMIT 20) h;
        v_holders := v_holders || coalesce(v_more, '[]');
    EXCEPTION WHEN insufficient_privilege THEN NULL;
    END;
    RETURN v_holders;
END $$;

-- p_older_than: what has held vacuum back for less time is not worth a mention. tick_overdue_seconds: since when nobody
-- has done the housekeeping; NULL if nobody ever has. partition_days: for how many days history has its place.
CREATE FUNCTION paceline.health(p_older_than float8 DEFAULT 10)
RETURNS TABLE (
    holders jsonb, live_tuples bigint, dead_tuples bigint, last_vacuum timestamptz, tick_overdue_seconds float8,
    partition_days float8, history_late bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_now constant timestamptz := clock_timestamp();
BEGIN
    PERFORM paceline.visible(NULL, 'reader', 'operator', 'gateway');
    RETURN QUERY
    SELECT paceline.vacuum_holders(p_older_than), s.n_live_tup, s.n_dead_tup, greatest(s.last_vacuum, s.last_autovacuum),
           CASE WHEN isfinite(t.next_at) THEN greatest(0, extract(epoch FROM v_now - t.next_at))::float8 END,
           CASE WHEN isfinite(t.history_until) THEN extract(epoch FROM t.history_until - v_now)::float8 / 86400 ELSE 0 END,
           (SELECT count(*) FROM (SELECT FROM paceline.history_late LIMIT 10000) l)
      FROM paceline.tick t LEFT JOIN pg_stat_all_tables s ON s.relid = 'paceline.job'::regclass;
END $$;
