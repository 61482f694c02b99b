-- Which lanes a runner may claim from. Computed in the database, from rows that the caller has locked: a runner that
-- could say so itself would be free to ignore its taints.

CREATE FUNCTION paceline.effective_taints(p_runner bigint) RETURNS TABLE (key text, value text, effect text)
LANGUAGE sql STABLE AS $$
    SELECT t.key, t.value, t.effect FROM paceline.runner_taint t WHERE t.runner = p_runner
    UNION
    SELECT t.key, t.value, t.effect
      FROM paceline.group_taint t JOIN paceline.runner r ON r.grp = t.grp
     WHERE r.id = p_runner AND NOT r.external
$$;

-- A toleration is `key=value:Effect` with value and effect left out to mean any of them, or `*` for everything.
CREATE FUNCTION paceline.tolerates(p_tolerations text[], p_key text, p_value text, p_effect text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT p_tolerations && ARRAY['*', p_key, p_key || ':' || p_effect, p_key || '=' || p_value,
                                  p_key || '=' || p_value || ':' || p_effect]
$$;

CREATE FUNCTION paceline.refresh_lanes(p_incarnations bigint[]) RETURNS void
LANGUAGE sql AS $$
    UPDATE paceline.incarnation i
       SET lanes = n.lanes, special = n.special, late = n.late, lane_version = n.lane_version
      FROM (
        SELECT i.id, p.lane_version,
               coalesce(array_agg(l.id) FILTER (WHERE NOT l.late AND NOT l.rated), '{}') AS lanes,
               coalesce(array_agg(l.id) FILTER (WHERE l.late OR l.rated), '{}') AS special,
               coalesce(array_agg(l.id) FILTER (WHERE l.late), '{}') AS late
          FROM paceline.incarnation i
          JOIN paceline.pool p ON p.id = i.pool
          LEFT JOIN LATERAL (
            SELECT l.id, k.rate IS NOT NULL AS rated,
                   coalesce(bool_or(t.effect = 'PreferNoClaim'
                                    AND NOT paceline.tolerates(l.tolerations, t.key, t.value, t.effect)), false) AS late
              FROM paceline.lane l
              JOIN paceline.kind k ON k.id = l.kind
              LEFT JOIN LATERAL paceline.effective_taints(i.runner) t ON true
             WHERE l.pool = i.pool AND l.tags <@ i.tags AND (k.name = ANY (i.kinds) OR i.kinds = '{*}')
             GROUP BY l.id, k.rate
            HAVING coalesce(bool_and(t.effect <> 'NoClaim'
                                     OR paceline.tolerates(l.tolerations, t.key, t.value, t.effect)), true)
          ) l ON true
         WHERE i.id = ANY (p_incarnations)
         GROUP BY i.id, p.lane_version
      ) n
     WHERE i.id = n.id
$$;

-- The lane of that description, made on first use.
CREATE FUNCTION paceline.lane_for(p_pool integer, p_kind text, p_tags text[], p_tolerations text[],
                                  OUT lane integer, OUT kind integer)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    most constant integer := 2000;   -- a claim looks at every lane of its pool
    gone xid8;
BEGIN
    SELECT l.id, l.kind, l.retired INTO lane, kind, gone
      FROM paceline.kind k JOIN paceline.lane l ON l.kind = k.id
     WHERE k.pool = p_pool AND k.name = p_kind AND l.tags = p_tags AND l.tolerations = p_tolerations;
    IF FOUND AND gone IS NULL THEN
        RETURN;
    END IF;
    -- from here on one at a time for each pool, so that the count and the version are right
    UPDATE paceline.pool SET lane_version = lane_version + 1 WHERE id = p_pool;
    IF (SELECT count(*) FROM paceline.lane l WHERE l.pool = p_pool) >= most AND gone IS NULL THEN
        RAISE EXCEPTION 'pool "%" has % lanes (kind, tags and tolerations together), and no more may be made',
              (SELECT name FROM paceline.pool WHERE id = p_pool), most
            USING ERRCODE = 'PL004', HINT = 'use fewer different kinds, tags or tolerations, or another pool';
    END IF;
    INSERT INTO paceline.kind (pool, name) VALUES (p_pool, p_kind) ON CONFLICT DO NOTHING;
    SELECT k.id INTO STRICT kind FROM paceline.kind k WHERE k.pool = p_pool AND k.name = p_kind;
    INSERT INTO paceline.lane AS l (pool, kind, tags, tolerations) VALUES (p_pool, kind, p_tags, p_tolerations)
    ON CONFLICT ON CONSTRAINT lane_kind_tags_tolerations_key DO UPDATE SET retired = NULL, used_at = clock_timestamp()
    RETURNING l.id INTO STRICT lane;
END $$;

-- What a bucket holds now.
CREATE FUNCTION paceline.available(p_rate float8, p_burst float8, p_permits float8, p_refilled timestamptz)
RETURNS float8 LANGUAGE sql STABLE AS $$
    SELECT least(p_burst, p_permits + p_rate * extract(epoch FROM clock_timestamp() - p_refilled)::float8)
$$;

-- Somebody sleeps until this pool has work? Then wake him; NOTIFY alone costs every commit a lock (4 times slower at
-- 32 producers), so it is sent only when somebody waits.
CREATE FUNCTION paceline.wake(p_pools integer[]) RETURNS void
LANGUAGE sql AS $$
    SELECT pg_notify('paceline_' || w.pool, '') FROM paceline.waiter w
     WHERE w.pool = ANY (p_pools) AND w.until > clock_timestamp()
$$;
