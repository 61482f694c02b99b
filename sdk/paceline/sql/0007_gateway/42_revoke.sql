-- Take a grant away, and end what was registered with it. A runner that dials out does not end: it is there by its token, and any
-- gateway may serve it; but the login that registered it is not its own any more, and needs a grant as all others do. Where the
-- only gateway that served it has lost its login, its lease ends it.
CREATE OR REPLACE FUNCTION paceline.revoke_login(p_login text, p_role text, p_pool text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_gone bigint[];
    v_dialled bigint[];
    v_pool constant integer := (SELECT p.id FROM paceline.pool p WHERE p.name = p_pool);
BEGIN
    PERFORM paceline.require(NULL, 'owner');
    IF v_pool IS NULL AND p_pool IS NOT NULL THEN   -- NULL would mean the grant for all pools
        RAISE EXCEPTION 'there is no pool "%"', p_pool USING ERRCODE = 'PL005', HINT = 'correct the name';
    END IF;
    DELETE FROM paceline.login l
     WHERE l.name = p_login AND l.role = p_role AND l.pool IS NOT DISTINCT FROM v_pool;
    SELECT array_agg(x.id) FILTER (WHERE x.token IS NULL), array_agg(x.id) FILTER (WHERE x.token IS NOT NULL)
      INTO v_gone, v_dialled FROM (
        SELECT i.id, i.token FROM paceline.incarnation i
         WHERE i.login = p_login AND i.state <> 'z'
           AND NOT EXISTS (SELECT FROM paceline.login l WHERE l.name = p_login AND l.role IN ('owner', 'runner', 'gateway')
                              AND (l.pool IS NULL OR l.pool = i.pool))
         ORDER BY i.id FOR UPDATE) x;
    PERFORM paceline.end_incarnations(v_gone, 'Revoked');
    UPDATE paceline.incarnation i SET login = '' WHERE i.id = ANY (v_dialled);
END $$;
