-- Tokens: who may come to a gateway without a login of its own. What is kept of the secret is its SHA-256: it has 256 random
-- bits, so nothing slower is needed, and a stolen table lets nobody in.
CREATE TABLE paceline.token (
    id         text PRIMARY KEY,            -- the middle of the token: fit for lists and logs
    kind       text NOT NULL CHECK (kind IN ('rk', 'pk', 'ak')),   -- runner, producer, admin
    hash       bytea NOT NULL CHECK (octet_length(hash) = 32),
    pool       integer REFERENCES paceline.pool,                   -- NULL: every pool
    grp        integer REFERENCES paceline.runner_group ON DELETE CASCADE,   -- of a runner; NULL: the pool is its own group
    runner     text,                        -- of a runner: the Runner's name
    read_only  boolean NOT NULL DEFAULT false,
    note       text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_by text NOT NULL DEFAULT session_user,
    expires_at timestamptz,
    revoked_at timestamptz,
    used_at    timestamptz,                 -- to the minute
    CHECK ((kind = 'rk') = (runner IS NOT NULL)),
    CHECK (kind <> 'rk' OR pool IS NOT NULL)
) WITH (fillfactor = 50);
CREATE INDEX token_group ON paceline.token (grp) WHERE grp IS NOT NULL;

-- Keep a token whose secret only the caller knows. A runner's is bound to a group (p_group, or the pool that is its own) and
-- to a name; the others to a pool, or to none.
CREATE FUNCTION paceline.create_token(
    p_id text, p_kind text, p_hash bytea, p_pool text DEFAULT NULL, p_install text DEFAULT NULL, p_namespace text DEFAULT '',
    p_group text DEFAULT NULL, p_runner text DEFAULT NULL, p_read_only boolean DEFAULT false, p_note text DEFAULT '',
    p_seconds float8 DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_group paceline.runner_group;
    v_pool integer;
BEGIN
    IF p_group IS NOT NULL THEN
        IF p_install IS NULL AND (SELECT count(*) FROM paceline.runner_group g
                                   WHERE g.namespace = p_namespace AND g.name = p_group) > 1 THEN
            RAISE EXCEPTION 'several installations have a RunnerGroup %/% in this database', p_namespace, p_group
                USING ERRCODE = 'PL006', HINT = 'say which one with --install';
        END IF;
        SELECT g.* INTO v_group FROM paceline.runner_group g
         WHERE g.install = coalesce(p_install, g.install) AND g.namespace = p_namespace AND g.name = p_group;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'there is no RunnerGroup %/% in this database', p_namespace, p_group
                USING ERRCODE = 'PL005', HINT = 'apply it first, or name a pool with --pool';
        END IF;
        v_pool := v_group.pool;
    ELSIF p_pool IS NOT NULL THEN
        v_pool := paceline.pool_for(p_pool);
    END IF;
    PERFORM paceline.require(v_pool, 'operator');
    INSERT INTO paceline.token (id, kind, hash, pool, grp, runner, read_only, note, expires_at)
    VALUES (p_id, p_kind, p_hash, v_pool, v_group.id, p_runner, p_read_only, p_note,
            clock_timestamp() + make_interval(secs => p_seconds));
END $$;

-- What a gateway compares a secret with, and what the token lets its holder do. `valid`: neither expired nor revoked. A token
-- of a pool that the gateway does not serve is as unknown as one that was never made.
CREATE FUNCTION paceline.find_token(p_id text)
RETURNS TABLE (id text, kind text, hash bytea, pool text, install text, namespace text, "group" text, runner text,
               read_only boolean, valid boolean, seconds_left float8)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF NOT EXISTS (SELECT FROM paceline.login l WHERE l.name = session_user AND l.role IN ('owner', 'gateway')) THEN
        PERFORM paceline.require(NULL, 'gateway');   -- which says what to grant: else every token would seem to be bad
    END IF;
    RETURN QUERY
    SELECT t.id, t.kind, t.hash, p.name, coalesce(g.install, ''), coalesce(g.namespace, ''), g.name, t.runner, t.read_only,
           t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp()),
           date_part('epoch', t.expires_at - clock_timestamp())
      FROM paceline.token t LEFT JOIN paceline.pool p ON p.id = t.pool LEFT JOIN paceline.runner_group g ON g.id = t.grp
     WHERE t.id = p_id AND paceline.may(t.pool, 'gateway');
END $$;

-- These have let somebody in: kept to the minute. One that is just being written about is noted the next time.
CREATE FUNCTION paceline.note_used(p_ids text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE paceline.token t SET used_at = clock_timestamp()
     WHERE t.id = ANY (ARRAY(
        SELECT x.id FROM paceline.token x
         WHERE x.id = ANY (p_ids) AND paceline.may(x.pool, 'gateway')
           AND (x.used_at IS NULL OR x.used_at < clock_timestamp() - interval '1 minute')
         ORDER BY x.id FOR NO KEY UPDATE SKIP LOCKED))
$$;

-- Without hashes; those of the pools that the login operates.
CREATE FUNCTION paceline.list_tokens()
RETURNS TABLE (id text, kind text, state text, pool text, install text, namespace text, "group" text, runner text,
               read_only boolean, note text, created_at timestamptz, created_by text, expires_at timestamptz,
               revoked_at timestamptz, used_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT t.id, t.kind,
           CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked' WHEN t.expires_at <= clock_timestamp() THEN 'expired' ELSE 'good' END,
           p.name, coalesce(g.install, ''), coalesce(g.namespace, ''), g.name, t.runner, t.read_only, t.note,
           t.created_at, t.created_by, t.expires_at, t.revoked_at, t.used_at
      FROM paceline.token t LEFT JOIN paceline.pool p ON p.id = t.pool LEFT JOIN paceline.runner_group g ON g.id = t.grp
     WHERE paceline.may(t.pool, 'operator') ORDER BY t.created_at DESC, t.id
$$;

-- From its commit on the token is worth nothing: gateways hear of it. What was registered with it ends. The group is locked first,
-- as by whoever deletes it: he has the registrations before he comes to the token.
CREATE FUNCTION paceline.revoke_token(p_id text) RETURNS boolean   -- whether nobody had done so before
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v paceline.token; v_gone bigint[];
BEGIN
    PERFORM FROM paceline.runner_group g WHERE g.id = (SELECT t.grp FROM paceline.token t WHERE t.id = p_id) FOR KEY SHARE;
    SELECT t.* INTO v FROM paceline.token t WHERE t.id = p_id AND paceline.may(t.pool, 'operator') FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no token "%" that login "%" may revoke', p_id, session_user
            USING ERRCODE = 'PL005', HINT = 'see: paceline token list';
    END IF;
    IF v.revoked_at IS NOT NULL THEN
        RETURN false;
    END IF;
    UPDATE paceline.token t SET revoked_at = clock_timestamp() WHERE t.id = p_id;
    SELECT array_agg(x.id) INTO v_gone FROM (
        SELECT i.id FROM paceline.incarnation i WHERE i.token = p_id AND i.state <> 'z' ORDER BY i.id FOR UPDATE) x;
    PERFORM paceline.end_incarnations(v_gone, 'Revoked');
    PERFORM pg_notify('paceline_token', p_id);
    RETURN true;
END $$;
