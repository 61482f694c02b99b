-- What reading must remember: kinds of runners that are gone, and how things stood a moment ago.

-- The kinds that a group's runners registered, by revision: a group at zero still knows what a new runner could do.
-- The revision with the latest `since` is the current one. kinds NULL: none of its runners has registered yet.
CREATE TABLE paceline.group_kinds (
    grp      integer NOT NULL REFERENCES paceline.runner_group ON DELETE CASCADE,
    revision text NOT NULL,                 -- '' for runners outside the cluster
    kinds    text[],
    since    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (grp, revision)
) WITH (fillfactor = 50);

-- How a group stood, at most once a second. done and busy_ms only grow, so that a rate over any window is the
-- difference of two rows. backlog NULL: more than was counted.
CREATE TABLE paceline.sample (
    grp     integer NOT NULL,               -- no foreign key: the check would cost more than the row; trimmed by time
    at      timestamptz NOT NULL,
    done    bigint NOT NULL,
    busy_ms bigint NOT NULL,
    backlog bigint,
    PRIMARY KEY (grp, at)
);
CREATE INDEX sample_at ON paceline.sample (at);

CREATE FUNCTION paceline.remember_kinds(p_group integer, p_revision text, p_kinds text[]) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    -- looked at first: an upsert locks the row even if it changes nothing, and 400 runners may register at once
    IF EXISTS (SELECT FROM paceline.group_kinds k WHERE k.grp = p_group AND k.revision = p_revision AND k.kinds = p_kinds) THEN
        RETURN;
    END IF;
    INSERT INTO paceline.group_kinds AS k (grp, revision, kinds) VALUES (p_group, p_revision, p_kinds)
    ON CONFLICT (grp, revision) DO UPDATE SET kinds = excluded.kinds;
    DELETE FROM paceline.group_kinds k WHERE k.grp = p_group AND k.revision <> p_revision
       AND k.since < (SELECT o.since FROM paceline.group_kinds o WHERE o.grp = p_group ORDER BY o.since DESC OFFSET 19 LIMIT 1);
END $$;

-- The registration that a runner of version 1 makes is told here too.
CREATE FUNCTION paceline.on_registration() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM paceline.remember_kinds(r.grp, CASE WHEN r.external THEN '' ELSE coalesce(new.revision, '') END, new.kinds)
       FROM paceline.runner r WHERE r.id = new.runner;
    RETURN NULL;
END $$;
CREATE TRIGGER remember_kinds AFTER INSERT ON paceline.incarnation
    FOR EACH ROW EXECUTE FUNCTION paceline.on_registration();

-- those that are registered already
INSERT INTO paceline.group_kinds (grp, revision, kinds, since)
SELECT DISTINCT ON (1, 2) r.grp, CASE WHEN r.external THEN '' ELSE coalesce(i.revision, '') END, i.kinds, i.registered_at
  FROM paceline.incarnation i JOIN paceline.runner r ON r.id = i.runner ORDER BY 1, 2, i.id DESC;

-- The operator says which revision new runners will have, before the first of them starts: until then every kind
-- counts as one that it can serve.
CREATE FUNCTION paceline.set_revision(p_group integer, p_revision text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM paceline.require((SELECT g.pool FROM paceline.runner_group g WHERE g.id = p_group), 'operator');
    INSERT INTO paceline.group_kinds AS k (grp, revision) VALUES (p_group, p_revision)
    ON CONFLICT (grp, revision) DO UPDATE SET since = clock_timestamp()
     WHERE k.since < (SELECT max(o.since) FROM paceline.group_kinds o WHERE o.grp = p_group);
END $$;
