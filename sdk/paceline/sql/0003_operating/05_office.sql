-- Of several operators of an installation one acts. Each that begins to act takes a higher epoch, and from then on a write
-- with an older one is refused: whatever its predecessor was about to do, however late it comes.
CREATE TABLE paceline.office (
    install text PRIMARY KEY,
    holder text NOT NULL,
    epoch bigint NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One holder has one epoch, however many logins it comes with. A login that operates none of an installation's groups
-- drives nobody out of its office.
CREATE FUNCTION paceline.take_office(p_install text, p_holder text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_pools constant integer[] := paceline.visible(NULL, 'operator');   -- an error for whoever operates nothing
    v_theirs constant integer[] := ARRAY(SELECT DISTINCT g.pool FROM paceline.runner_group g WHERE g.install = p_install);
    v_epoch bigint;
BEGIN
    IF v_theirs <> '{}' AND NOT v_theirs && v_pools
       AND NOT EXISTS (SELECT FROM paceline.office o WHERE o.install = p_install AND o.holder = p_holder) THEN
        PERFORM paceline.require(v_theirs[1], 'operator');
    END IF;
    INSERT INTO paceline.office AS o (install, holder, epoch) VALUES (p_install, p_holder, 1)
    ON CONFLICT (install) DO UPDATE
       SET epoch = o.epoch + (o.holder <> excluded.holder)::integer, holder = excluded.holder,
           since = CASE WHEN o.holder <> excluded.holder THEN excluded.since ELSE o.since END
    RETURNING epoch INTO v_epoch;
    RETURN v_epoch;
END $$;

-- In the same statement as what it guards: an epoch that is over undoes all of it, and the next one waits for its commit.
CREATE FUNCTION paceline.in_office(p_install text, p_epoch bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM paceline.office o WHERE o.install = p_install AND o.epoch = p_epoch FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another operator of "%" acts now: this one''s epoch % is over', p_install, p_epoch
            USING ERRCODE = 'PL009', HINT = 'nothing was changed; whoever holds the Lease goes on';
    END IF;
END $$;
