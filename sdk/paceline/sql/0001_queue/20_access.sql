-- Who may do what. Every function that a login may call is SECURITY DEFINER and asks here first; session_user is the
-- login behind the connection, whatever role it has taken since.

CREATE FUNCTION paceline.may(p_pool integer, VARIADIC p_roles text[]) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM paceline.login l
         WHERE l.name = session_user
           AND (l.role = 'owner' OR l.role = ANY (p_roles))
           AND (l.pool IS NULL OR l.pool = p_pool))
$$;

CREATE FUNCTION paceline.require(p_pool integer, VARIADIC p_roles text[]) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT paceline.may(p_pool, VARIADIC p_roles) THEN
        RAISE EXCEPTION 'login "%" may not do this on pool "%"', session_user,
              coalesce((SELECT name FROM paceline.pool WHERE id = p_pool), '*')
            USING ERRCODE = 'PL001',
                  HINT = format('ask the owner for: paceline pool grant %s --login %s --as %s',
                                coalesce((SELECT name FROM paceline.pool WHERE id = p_pool), '''*'''),
                                session_user, p_roles[1]);
    END IF;
END $$;

-- The pool of that name, made on first use by somebody who may use every pool.
CREATE FUNCTION paceline.pool_for(p_name text) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE v_pool integer;
BEGIN
    SELECT id INTO v_pool FROM paceline.pool WHERE name = p_name;
    IF v_pool IS NULL THEN
        IF p_name IS NULL OR p_name !~ '^[a-z0-9]([-a-z0-9_.]*[a-z0-9])?$' OR length(p_name) > 63 THEN
            RAISE EXCEPTION 'pool "%" is not a name', p_name USING ERRCODE = 'PL002',
                  HINT = 'use at most 63 lower-case letters, digits, "-", "_" and ".", a letter or digit at both ends';
        END IF;
        PERFORM paceline.require(NULL, 'producer', 'runner', 'gateway', 'operator');
        INSERT INTO paceline.pool (name) VALUES (p_name) ON CONFLICT (name) DO NOTHING;
        SELECT id INTO STRICT v_pool FROM paceline.pool WHERE name = p_name;
    END IF;
    RETURN v_pool;
END $$;

-- A login is bound to a pool (or, NULL, to all); what it may do there depends on its roles.
CREATE FUNCTION paceline.grant_login(p_login text, p_role text, p_pool text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM paceline.require(NULL, 'owner');
    INSERT INTO paceline.login (name, role, pool)
    VALUES (p_login, p_role, CASE WHEN p_pool IS NOT NULL THEN paceline.pool_for(p_pool) END)
    ON CONFLICT DO NOTHING;
END $$;

-- Taking a grant away also ends what was registered with it.
CREATE FUNCTION paceline.revoke_login(p_login text, p_role text, p_pool text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_gone bigint[]; v_pool constant integer := (SELECT p.id FROM paceline.pool p WHERE p.name = p_pool);
BEGIN
    PERFORM paceline.require(NULL, 'owner');
    IF v_pool IS NULL AND p_pool IS NOT NULL THEN   -- NULL would mean the grant for all pools
        RAISE EXCEPTION 'there is no pool "%"', p_pool USING ERRCODE = 'PL005', HINT = 'correct the name';
    END IF;
    DELETE FROM paceline.login l
     WHERE l.name = p_login AND l.role = p_role AND l.pool IS NOT DISTINCT FROM v_pool;
    SELECT array_agg(x.id) INTO v_gone FROM (
        SELECT i.id FROM paceline.incarnation i
         WHERE i.login = p_login AND i.state <> 'z'
           AND NOT EXISTS (SELECT FROM paceline.login l WHERE l.name = p_login AND l.role IN ('owner', 'runner', 'gateway')
                              AND (l.pool IS NULL OR l.pool = i.pool))
         ORDER BY i.id FOR UPDATE) x;
    PERFORM paceline.end_incarnations(v_gone, 'Revoked');
END $$;
