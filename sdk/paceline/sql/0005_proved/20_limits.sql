-- The limit that an enqueue gives to a key is set after its jobs are in. A job may have to wait for the end of another with
-- its dedupe value, whose ack wants the key: who has the key meanwhile, and waits, waits for ever.

-- The ids of the keys of those names. A new one begins with the limit given with it, of several the last one.
CREATE OR REPLACE FUNCTION paceline.keys_for(p_pool integer, p_names text[], p_limits integer[])
RETURNS TABLE (name text, id bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    INSERT INTO paceline.key AS k (pool, name, max_running)
    SELECT p_pool, n.name, coalesce(n.most, 1) FROM paceline.limits_of(p_names, p_limits) n
     WHERE NOT EXISTS (SELECT FROM paceline.key o WHERE o.pool = p_pool AND o.name = n.name AND o.retired IS NULL)
     ORDER BY n.name
    ON CONFLICT (pool, name) DO UPDATE SET retired = NULL, used_at = clock_timestamp()
    RETURNING k.name, k.id;
    RETURN QUERY
    SELECT o.name, o.id FROM paceline.key o
     WHERE o.pool = p_pool AND o.name = ANY (p_names) AND o.retired IS NULL;
END $$;

-- Each key once, with the last limit that was given for it, or NULL.
CREATE FUNCTION paceline.limits_of(p_names text[], p_limits integer[]) RETURNS TABLE (name text, most integer)
LANGUAGE sql IMMUTABLE AS $$
    SELECT n.name, (array_agg(n.most ORDER BY n.place DESC) FILTER (WHERE n.most IS NOT NULL))[1]
      FROM unnest(p_names, p_limits) WITH ORDINALITY n (name, most, place) WHERE n.name IS NOT NULL GROUP BY n.name
$$;

ALTER FUNCTION paceline.insert_jobs(
    integer, text[], jsonb[], smallint[], timestamptz[], float8[], timestamptz[], float8[], text[], integer[], text[], text[],
    text[], smallint[], smallint[], integer[], text[]) RENAME TO put_jobs;

-- The jobs themselves, for a caller who has asked who may do this; then the limits that came with them.
CREATE FUNCTION paceline.insert_jobs(
    p_pool integer, p_kind text[], p_payload jsonb[],
    p_priority smallint[] DEFAULT NULL, p_run_at timestamptz[] DEFAULT NULL, p_delay float8[] DEFAULT NULL,
    p_expires_at timestamptz[] DEFAULT NULL, p_ttl float8[] DEFAULT NULL,
    p_key text[] DEFAULT NULL, p_key_limit integer[] DEFAULT NULL, p_dedupe text[] DEFAULT NULL,
    p_tags text[] DEFAULT NULL, p_tolerations text[] DEFAULT NULL,   -- each a comma-separated, sorted list
    p_max_tries smallint[] DEFAULT NULL, p_max_losses smallint[] DEFAULT NULL,
    p_timeout_ms integer[] DEFAULT NULL, p_trace text[] DEFAULT NULL
) RETURNS TABLE (id bigint, created boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT * FROM paceline.put_jobs(
        p_pool, p_kind, p_payload, p_priority, p_run_at, p_delay, p_expires_at, p_ttl, p_key, p_key_limit, p_dedupe, p_tags,
        p_tolerations, p_max_tries, p_max_losses, p_timeout_ms, p_trace);
    IF p_key_limit IS NOT NULL THEN
        UPDATE paceline.key k SET max_running = n.most
          FROM (SELECT x.id, l.most
                  FROM paceline.limits_of(p_key, p_key_limit) l JOIN paceline.key x ON x.pool = p_pool AND x.name = l.name
                 WHERE x.max_running IS DISTINCT FROM l.most AND l.most IS NOT NULL
                 ORDER BY x.id FOR NO KEY UPDATE OF x) n   -- in the order in which admission takes them
         WHERE k.id = n.id;
    END IF;
END $$;
