-- Of these, the dead letters of a pool, or (NULL) of those that the login may read.
CREATE FUNCTION paceline.find_dead(p_ids bigint[], p_pool text DEFAULT NULL) RETURNS bigint[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_pools constant integer[] := paceline.readable(p_pool);
BEGIN
    RETURN ARRAY(
        SELECT d.id FROM paceline.dead d JOIN paceline.kind k ON k.id = d.kind AND k.pool = ANY (v_pools)
         WHERE d.id = ANY (p_ids) ORDER BY d.id);
END $$;
