-- Which pools a login may read.

-- The pool of that name, or with NULL every pool that the login has one of these roles on. A pool that does not exist
-- and one that is another's give the same error: names are not to be found out by asking.
CREATE FUNCTION paceline.visible(p_pool text, VARIADIC p_roles text[]) RETURNS integer[]
LANGUAGE plpgsql STABLE AS $$
DECLARE v_pools integer[];
BEGIN
    SELECT array_agg(p.id) INTO v_pools FROM paceline.pool p
     WHERE (p_pool IS NULL OR p.name = p_pool)
       AND EXISTS (SELECT FROM paceline.login l   -- may() for many pools at once
                    WHERE l.name = session_user AND (l.role = 'owner' OR l.role = ANY (p_roles))
                      AND (l.pool IS NULL OR l.pool = p.id));
    IF v_pools IS NULL AND p_pool IS NULL
       AND NOT EXISTS (SELECT FROM paceline.login l WHERE l.name = session_user AND (l.role = 'owner' OR l.role = ANY (p_roles))) THEN
        PERFORM paceline.require(NULL, VARIADIC p_roles);
    ELSIF v_pools IS NULL AND p_pool IS NOT NULL THEN
        IF paceline.may(NULL, VARIADIC p_roles) THEN
            RAISE EXCEPTION 'there is no pool "%" in this database', p_pool
                USING ERRCODE = 'PL005', HINT = 'a pool begins with its first job, RunnerGroup or runner';
        END IF;
        RAISE EXCEPTION 'login "%" may not do this on pool "%"', session_user, p_pool
            USING ERRCODE = 'PL001',
                  HINT = format('ask the owner for: paceline pool grant %s --login %s --as %s', p_pool, session_user, p_roles[1]);
    END IF;
    RETURN coalesce(v_pools, '{}');
END $$;

-- The pools that may be read by everybody who may read at all.
CREATE FUNCTION paceline.readable(p_pool text) RETURNS integer[]
LANGUAGE sql STABLE AS $$
    SELECT paceline.visible(p_pool, 'reader', 'producer', 'gateway', 'operator')
$$;

-- How long a page may be.
CREATE FUNCTION paceline.page(p_limit integer) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$ SELECT greatest(1, least(coalesce(p_limit, 100), 1000)) $$;

-- The state of a live job in the word that people see.
CREATE FUNCTION paceline.state_word(p_state "char") RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_state WHEN 's' THEN 'scheduled' WHEN 'b' THEN 'blocked' WHEN 'r' THEN 'ready' WHEN 'x' THEN 'running' END
$$;
