-- Tokens: who may come to a gateway without a login of its own. What is kept of the secret is the SHA-256 of its SHA-256: it has
-- 256 random bits, so nothing slower is needed, and a stolen table lets nobody in. The hash in between is the proof that whoever
-- manages tokens through a gateway shows: the secret itself never comes here, where a log might keep it, and the login that reads
-- the table cannot make the proof.
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

-- Whoever has come to a gateway with this admin's token, and shows it; nobody (NULL) where none is named. A gateway's login alone
-- manages no token.
CREATE FUNCTION paceline.token_holder(p_by text, p_proof bytea) RETURNS paceline.token
LANGUAGE plpgsql STABLE AS $$
DECLARE v paceline.token;
BEGIN
    IF p_by IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT t.* INTO v FROM paceline.token t
     WHERE t.id = p_by AND t.kind = 'ak' AND t.hash = sha256(p_proof) AND t.revoked_at IS NULL
       AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp()) AND paceline.may(t.pool, 'gateway');
    IF NOT FOUND THEN
        RAISE EXCEPTION 'token "%" manages no tokens', p_by
            USING ERRCODE = 'PL001', HINT = 'come with an ak_ token that is neither expired nor revoked';
    END IF;
    RETURN v;
END $$;

-- Whether tokens of a pool (NULL: of every pool) are his, or the login's that operates it.
CREATE FUNCTION paceline.manages(p_holder paceline.token, p_pool integer) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_holder.id IS NULL THEN paceline.may(p_pool, 'operator')
                ELSE p_holder.pool IS NULL OR p_holder.pool IS NOT DISTINCT FROM p_pool END
$$;

-- Nobody makes a token that does more than his own, for more pools, or for longer.
CREATE FUNCTION paceline.refuse_wider(p_holder paceline.token, p_pool integer, p_expires_at timestamptz) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_holder.read_only THEN
        RAISE EXCEPTION 'token "%" is only for looking', p_holder.id
            USING ERRCODE = 'PL001', HINT = 'ask for one without --read-only';
    ELSIF NOT paceline.manages(p_holder, p_pool) THEN
        RAISE EXCEPTION 'token "%" makes tokens of its own pool alone', p_holder.id
            USING ERRCODE = 'PL001', HINT = format('name pool "%s"', (SELECT p.name FROM paceline.pool p WHERE p.id = p_holder.pool));
    ELSIF p_holder.expires_at < coalesce(p_expires_at, 'infinity') THEN
        RAISE EXCEPTION 'token "%" makes none that lasts longer than itself', p_holder.id
            USING ERRCODE = 'PL001', HINT = format('let it expire in at most %s seconds',
                floor(date_part('epoch', p_holder.expires_at - clock_timestamp())));
    END IF;
END $$;

-- Keep a token whose secret only the caller knows. A runner's is bound to a group (p_group, or the pool that is its own) and
-- to a name; the others to a pool, or to none. The holder's own is held to the commit: from its revocation on it makes none.
CREATE FUNCTION paceline.create_token(
    p_id text, p_kind text, p_hash bytea, p_pool text DEFAULT NULL, p_install text DEFAULT NULL, p_namespace text DEFAULT '',
    p_group text DEFAULT NULL, p_runner text DEFAULT NULL, p_read_only boolean DEFAULT false, p_note text DEFAULT '',
    p_seconds float8 DEFAULT NULL, p_by text DEFAULT NULL, p_proof bytea DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_expires_at constant timestamptz := clock_timestamp() + make_interval(secs => p_seconds);
    v_holder paceline.token;
    v_group paceline.runner_group;
    v_pool integer;
BEGIN
    PERFORM FROM paceline.token t WHERE t.id = p_by FOR SHARE;
    v_holder := paceline.token_holder(p_by, p_proof);
    IF p_group IS NOT NULL THEN   -- a group of a pool that is not the holder's is as unknown as one that is not there
        IF p_install IS NULL AND (SELECT count(*) FROM paceline.runner_group g
                                   WHERE g.namespace = p_namespace AND g.name = p_group
                                     AND (v_holder.pool IS NULL OR g.pool = v_holder.pool)) > 1 THEN
            RAISE EXCEPTION 'several installations have a RunnerGroup %/% in this database', p_namespace, p_group
                USING ERRCODE = 'PL006', HINT = 'say which one with --install';
        END IF;
        SELECT g.* INTO v_group FROM paceline.runner_group g
         WHERE g.install = coalesce(p_install, g.install) AND g.namespace = p_namespace AND g.name = p_group
           AND (v_holder.pool IS NULL OR g.pool = v_holder.pool);
        IF NOT FOUND THEN
            RAISE EXCEPTION 'there is no RunnerGroup %/% in this database', p_namespace, p_group
                USING ERRCODE = 'PL005', HINT = 'apply it first, or name a pool with --pool';
        END IF;
        v_pool := v_group.pool;
    ELSIF p_pool IS NOT NULL THEN
        v_pool := paceline.pool_for(p_pool);
    END IF;
    IF v_holder.id IS NULL THEN
        PERFORM paceline.require(v_pool, 'operator');
    ELSE
        PERFORM paceline.refuse_wider(v_holder, v_pool, v_expires_at);
    END IF;
    INSERT INTO paceline.token (id, kind, hash, pool, grp, runner, read_only, note, expires_at, created_by)
    VALUES (p_id, p_kind, p_hash, v_pool, v_group.id, p_runner, p_read_only, p_note, v_expires_at,
            coalesce('token ' || p_by, session_user::text));
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

-- Without hashes; those that the login, or the holder of p_by, manages.
CREATE FUNCTION paceline.list_tokens(p_by text DEFAULT NULL, p_proof bytea DEFAULT NULL)
RETURNS TABLE (id text, kind text, state text, pool text, install text, namespace text, "group" text, runner text,
               read_only boolean, note text, created_at timestamptz, created_by text, expires_at timestamptz,
               revoked_at timestamptz, used_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE v_holder constant paceline.token := paceline.token_holder(p_by, p_proof);
BEGIN
    RETURN QUERY
    SELECT t.id, t.kind,
           CASE WHEN t.revoked_at IS NOT NULL THEN 'revoked' WHEN t.expires_at <= clock_timestamp() THEN 'expired' ELSE 'good' END,
           p.name, coalesce(g.install, ''), coalesce(g.namespace, ''), g.name, t.runner, t.read_only, t.note,
           t.created_at, t.created_by, t.expires_at, t.revoked_at, t.used_at
      FROM paceline.token t LEFT JOIN paceline.pool p ON p.id = t.pool LEFT JOIN paceline.runner_group g ON g.id = t.grp
     WHERE paceline.manages(v_holder, t.pool) ORDER BY t.created_at DESC, t.id;
END $$;

-- From its commit on the token is worth nothing: gateways hear of it. What was registered with it ends. The group is locked first,
-- as by whoever deletes it: he has the registrations before he comes to the token.
CREATE FUNCTION paceline.revoke_token(p_id text, p_by text DEFAULT NULL, p_proof bytea DEFAULT NULL)
RETURNS boolean   -- whether nobody had done so before
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE v_holder constant paceline.token := paceline.token_holder(p_by, p_proof); v paceline.token; v_gone bigint[];
BEGIN
    IF v_holder.read_only THEN
        RAISE EXCEPTION 'token "%" is only for looking', p_by USING ERRCODE = 'PL001', HINT = 'ask for one without --read-only';
    END IF;
    PERFORM FROM paceline.runner_group g WHERE g.id = (SELECT t.grp FROM paceline.token t WHERE t.id = p_id) FOR KEY SHARE;
    SELECT t.* INTO v FROM paceline.token t WHERE t.id = p_id AND paceline.manages(v_holder, t.pool) FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no token "%" that % may revoke', p_id,
              CASE WHEN p_by IS NULL THEN format('login "%s"', session_user) ELSE format('token "%s"', p_by) END
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
