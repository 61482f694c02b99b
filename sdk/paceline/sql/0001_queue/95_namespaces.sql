-- Namespaces besides the owner that may serve a pool. What is granted here is asked for by put_group.

-- The pool of that name, for somebody who may say who serves it; never made here. A pool that is not there looks like
-- another's to whoever may not use them all.
CREATE FUNCTION paceline.shared_pool(p_pool text, p_namespace text) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE v_pool constant integer := (SELECT p.id FROM paceline.pool p WHERE p.name = p_pool);
BEGIN
    PERFORM paceline.require(v_pool, 'operator');
    IF v_pool IS NULL THEN
        RAISE EXCEPTION 'there is no pool "%" in this database', p_pool
            USING ERRCODE = 'PL005', HINT = 'a pool begins with its first job, RunnerGroup or runner';
    END IF;
    IF p_namespace IS NULL OR p_namespace !~ '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' OR length(p_namespace) > 63 THEN
        RAISE EXCEPTION 'namespace "%" is not a name', p_namespace USING ERRCODE = 'PL002',
              HINT = 'use at most 63 lower-case letters, digits and "-", a letter or digit at both ends';
    END IF;
    RETURN v_pool;
END $$;

-- Whether that is new: the owner needs no grant.
CREATE FUNCTION paceline.grant_namespace(p_pool text, p_namespace text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_pool constant integer := paceline.shared_pool(p_pool, p_namespace);
BEGIN
    INSERT INTO paceline.pool_namespace (pool, namespace)
    SELECT p.id, p_namespace FROM paceline.pool p WHERE p.id = v_pool AND p.namespace IS DISTINCT FROM p_namespace
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;

-- Whether there was such a grant. Groups that serve the pool already stay until they are put again, and are refused then:
-- their runners work, and to end them is for whoever deletes the group.
CREATE FUNCTION paceline.revoke_namespace(p_pool text, p_namespace text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_pool constant integer := paceline.shared_pool(p_pool, p_namespace);
BEGIN
    IF EXISTS (SELECT FROM paceline.pool p WHERE p.id = v_pool AND p.namespace = p_namespace) THEN
        RAISE EXCEPTION 'pool "%" belongs to namespace "%", which needs no grant', p_pool, p_namespace
            USING ERRCODE = 'PL007', HINT = 'delete its RunnerGroups, or give them another pool';
    END IF;
    DELETE FROM paceline.pool_namespace n WHERE n.pool = v_pool AND n.namespace = p_namespace;
    RETURN FOUND;
END $$;
