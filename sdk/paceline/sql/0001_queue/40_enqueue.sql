-- Enqueue: one array call for one job or many; the job commits with the caller's own data or not at all.

CREATE FUNCTION paceline.waiting(p_pool integer, p_most bigint) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT count(*) FROM (
        SELECT FROM paceline.lane l CROSS JOIN LATERAL (
            SELECT FROM paceline.job j WHERE j.lane = l.id AND j.state = 'r'
            UNION ALL
            SELECT FROM paceline.job j WHERE j.lane = l.id AND j.state IN ('s', 'b')) j
         WHERE l.pool = p_pool LIMIT p_most) x
$$;

CREATE FUNCTION paceline.refuse_overflow(p_pool integer, p_more bigint) RETURNS void
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    countable constant bigint := 10000;   -- takes 1 ms; beyond it the tick's last count is good enough
    v_pool paceline.pool;
    v_seen bigint;
BEGIN
    SELECT * INTO v_pool FROM paceline.pool WHERE id = p_pool;
    IF v_pool.max_depth IS NOT NULL THEN
        v_seen := CASE WHEN v_pool.max_depth <= countable THEN paceline.waiting(p_pool, v_pool.max_depth) ELSE v_pool.depth END;
        IF v_seen + p_more > v_pool.max_depth THEN
            RAISE EXCEPTION 'pool "%" has % waiting jobs, and % more would exceed its max_depth of %',
                  v_pool.name, v_seen, p_more, v_pool.max_depth
                USING ERRCODE = 'PL003', HINT = 'try again later, add runners, or raise the limit with: paceline pool set';
        END IF;
    END IF;
END $$;

-- The ids of the keys of those names; a limit given with a name becomes the key's limit, of several the last one.
CREATE FUNCTION paceline.keys_for(p_pool integer, p_names text[], p_limits integer[]) RETURNS TABLE (name text, id bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH named AS (
        SELECT n.name, (array_agg(n.most ORDER BY n.place DESC) FILTER (WHERE n.most IS NOT NULL))[1] AS most
          FROM unnest(p_names, p_limits) WITH ORDINALITY n (name, most, place) WHERE n.name IS NOT NULL GROUP BY n.name)
    INSERT INTO paceline.key AS k (pool, name, max_running)
    SELECT p_pool, n.name, coalesce(n.most, 1) FROM named n
     WHERE NOT EXISTS (SELECT FROM paceline.key o WHERE o.pool = p_pool AND o.name = n.name AND o.retired IS NULL
                          AND (n.most IS NULL OR o.max_running IS NOT DISTINCT FROM n.most))
     ORDER BY n.name
    ON CONFLICT (pool, name) DO UPDATE
       SET max_running = CASE WHEN EXISTS (SELECT FROM unnest(p_names, p_limits) n (name, most)
                                            WHERE n.name = k.name AND n.most IS NOT NULL)
                              THEN excluded.max_running ELSE k.max_running END,
           retired = NULL, used_at = clock_timestamp()
    RETURNING k.name, k.id;
    RETURN QUERY
    SELECT o.name, o.id FROM paceline.key o
     WHERE o.pool = p_pool AND o.name = ANY (p_names) AND o.retired IS NULL;
END $$;

-- The jobs themselves, for a caller who has asked who may do this.
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
DECLARE
    v_n constant integer := cardinality(p_kind);
    v_now timestamptz;
    v_ids bigint[];
    v_seqs bigint[];
    v_kinds text[] := '{}';
    v_tags text[] := '{}';
    v_tolerations text[] := '{}';
    v_lanes integer[] := '{}';
    v_kind_ids integer[] := '{}';
    v_key_names text[];
    v_key_ids bigint[];
    v_made bigint[];
    v_created boolean[];
    v_ready boolean;
    l record;
BEGIN
    PERFORM pg_current_xact_id();   -- before the clock is read and a position taken: the low-water marks rely on it
    v_now := clock_timestamp();
    PERFORM paceline.refuse_overflow(p_pool, v_n);

    FOR l IN SELECT DISTINCT g.kind, coalesce(g.tags, '') AS tags, coalesce(g.tolerations, '') AS tolerations
               FROM unnest(p_kind, p_tags, p_tolerations) g (kind, tags, tolerations) ORDER BY 1, 2, 3
    LOOP
        v_kinds := v_kinds || l.kind;
        v_tags := v_tags || l.tags;
        v_tolerations := v_tolerations || l.tolerations;
        SELECT v_lanes || f.lane, v_kind_ids || f.kind INTO v_lanes, v_kind_ids
          FROM paceline.lane_for(p_pool, l.kind, string_to_array(l.tags, ','), string_to_array(l.tolerations, ',')) f;
    END LOOP;
    IF p_key IS NOT NULL THEN
        SELECT array_agg(k.name), array_agg(k.id) INTO v_key_names, v_key_ids
          FROM (SELECT DISTINCT f.name, f.id FROM paceline.keys_for(p_pool, p_key, p_key_limit) f) k;
    END IF;
    INSERT INTO paceline.band (lane, priority)
    SELECT DISTINCT m.lane, coalesce(g.priority, 5)
      FROM unnest(p_kind, p_tags, p_tolerations, p_priority) g (kind, tags, tolerations, priority)
      JOIN unnest(v_kinds, v_tags, v_tolerations, v_lanes) m (kind, tags, tolerations, lane)
        ON m.kind = g.kind AND m.tags = coalesce(g.tags, '') AND m.tolerations = coalesce(g.tolerations, '')
     WHERE NOT EXISTS (SELECT FROM paceline.band b WHERE b.lane = m.lane AND b.priority = coalesce(g.priority, 5))
     ORDER BY 1, 2
    ON CONFLICT DO NOTHING;

    SELECT array_agg(nextval('paceline.job_id_seq')), array_agg(nextval('paceline.seq')) INTO v_ids, v_seqs
      FROM generate_series(1, v_n);
    WITH made AS (
        INSERT INTO paceline.job AS j (id, seq, lane, kind, priority, state, run_at, ready_at, expires_at, enqueued_at,
                                       key, dedupe, max_tries, max_losses, timeout_ms, trace, payload)
        SELECT g.id, g.seq, m.lane, m.kind_id, coalesce(g.priority, 5), s.state,
               CASE WHEN s.state = 's' THEN d.due END, CASE WHEN s.state = 'r' THEN v_now END,
               coalesce(g.expires_at, v_now + make_interval(secs => g.ttl)), v_now,
               k.id, g.dedupe, coalesce(g.max_tries, 5), coalesce(g.max_losses, 3), g.timeout_ms, g.trace, g.payload
          FROM unnest(v_ids, v_seqs, p_kind, p_payload, p_priority, p_run_at, p_delay, p_expires_at, p_ttl, p_key,
                      p_dedupe, p_tags, p_tolerations, p_max_tries, p_max_losses, p_timeout_ms, p_trace)
               g (id, seq, kind, payload, priority, run_at, delay, expires_at, ttl, key,
                  dedupe, tags, tolerations, max_tries, max_losses, timeout_ms, trace)
          JOIN unnest(v_kinds, v_tags, v_tolerations, v_lanes, v_kind_ids) m (kind, tags, tolerations, lane, kind_id)
            ON m.kind = g.kind AND m.tags = coalesce(g.tags, '') AND m.tolerations = coalesce(g.tolerations, '')
          LEFT JOIN unnest(v_key_names, v_key_ids) k (name, id) ON k.name = g.key
         CROSS JOIN LATERAL (SELECT coalesce(g.run_at, v_now + make_interval(secs => g.delay)) AS due) d
         CROSS JOIN LATERAL (
            SELECT (CASE WHEN d.due > v_now THEN 's' WHEN k.id IS NOT NULL THEN 'b' ELSE 'r' END)::"char" AS state) s
         ORDER BY g.dedupe, g.id   -- one order for all producers, or two batches could wait for each other
        ON CONFLICT (kind, dedupe) WHERE dedupe IS NOT NULL DO NOTHING
        RETURNING j.id, j.state, j.key
    ), knocks AS (
        INSERT INTO paceline.knock (key) SELECT DISTINCT made.key FROM made WHERE made.state = 'b'
    )
    SELECT array_agg(made.id), bool_or(made.state <> 's') INTO v_made, v_ready FROM made;
    UPDATE paceline.lane l SET used_at = v_now WHERE l.id = ANY (v_lanes) AND l.used_at < v_now - interval '1 hour';
    IF v_ready THEN
        PERFORM paceline.wake(ARRAY[p_pool]);
    END IF;
    IF cardinality(v_made) = v_n THEN
        RETURN QUERY SELECT g.id, true FROM unnest(v_ids) WITH ORDINALITY g (id, place) ORDER BY g.place;
    ELSE
        SELECT array_agg(coalesce(m.id, o.id) ORDER BY g.place), array_agg(m.id IS NOT NULL ORDER BY g.place)
          INTO v_ids, v_created
          FROM unnest(v_ids, p_kind, p_dedupe) WITH ORDINALITY g (id, kind, dedupe, place)
          LEFT JOIN unnest(v_made) m (id) ON m.id = g.id
          LEFT JOIN paceline.kind k ON k.pool = p_pool AND k.name = g.kind
          LEFT JOIN paceline.job o ON m.id IS NULL AND o.kind = k.id AND o.dedupe = g.dedupe;
        FOR i IN 1 .. v_n LOOP
            IF v_ids[i] IS NULL THEN   -- the one that was in the way has finished in between
                SELECT f.* INTO l FROM paceline.insert_jobs(
                    p_pool, p_kind[i:i], p_payload[i:i], p_priority[i:i], p_run_at[i:i], p_delay[i:i], p_expires_at[i:i],
                    p_ttl[i:i], p_key[i:i], p_key_limit[i:i], p_dedupe[i:i], p_tags[i:i], p_tolerations[i:i],
                    p_max_tries[i:i], p_max_losses[i:i], p_timeout_ms[i:i], p_trace[i:i]) f;
                v_ids[i] := l.id;
                v_created[i] := l.created;
            END IF;
        END LOOP;
        RETURN QUERY SELECT g.id, g.created FROM unnest(v_ids, v_created) WITH ORDINALITY g (id, created, place) ORDER BY g.place;
    END IF;
END $$;

CREATE FUNCTION paceline.enqueue(
    p_pool text, p_kind text[], p_payload jsonb[],
    p_priority smallint[] DEFAULT NULL, p_run_at timestamptz[] DEFAULT NULL, p_delay float8[] DEFAULT NULL,
    p_expires_at timestamptz[] DEFAULT NULL, p_ttl float8[] DEFAULT NULL,
    p_key text[] DEFAULT NULL, p_key_limit integer[] DEFAULT NULL, p_dedupe text[] DEFAULT NULL,
    p_tags text[] DEFAULT NULL, p_tolerations text[] DEFAULT NULL,   -- each a comma-separated, sorted list
    p_max_tries smallint[] DEFAULT NULL, p_max_losses smallint[] DEFAULT NULL,
    p_timeout_ms integer[] DEFAULT NULL, p_trace text[] DEFAULT NULL
) RETURNS TABLE (id bigint, created boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE v_pool constant integer := paceline.pool_for(p_pool);
BEGIN
    PERFORM paceline.require(v_pool, 'producer', 'gateway', 'operator');
    RETURN QUERY SELECT * FROM paceline.insert_jobs(
        v_pool, p_kind, p_payload, p_priority, p_run_at, p_delay, p_expires_at, p_ttl, p_key, p_key_limit, p_dedupe, p_tags,
        p_tolerations, p_max_tries, p_max_losses, p_timeout_ms, p_trace);
END $$;
