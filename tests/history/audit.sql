-- What a test writes down about the queue, by triggers of its own; the product knows nothing of it.
-- They are the owner's: a login of the product may not even see the schema.
CREATE SCHEMA audit;

-- One row for each change of a row that the checker looks at, in the order of writing.
CREATE TABLE audit.event (
    n    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    xid  bigint NOT NULL,
    at   timestamptz NOT NULL,
    what text NOT NULL,
    old  jsonb,
    new  jsonb
);

-- One row for each transaction that changed something, in the order of the commits (audit.py says why that is so).
CREATE SEQUENCE audit.place;
CREATE TABLE audit.commit (
    xid bigint PRIMARY KEY,
    n   bigint NOT NULL,
    at  timestamptz NOT NULL
);

-- Batches of the producer that keeps a ledger: its row commits with the jobs, or neither does.
CREATE TABLE audit.batch (
    id   text PRIMARY KEY,
    jobs bigint[] NOT NULL
);

CREATE FUNCTION audit.short(p_row jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_strip_nulls(p_row - '{payload,progress,trace,result,error,kinds,tags,lanes,special,late}'::text[]
                             || jsonb_build_object('n', p_row #> '{payload,n}'))
$$;

CREATE FUNCTION audit.note() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    INSERT INTO audit.event (xid, at, what, old, new)
    VALUES (pg_current_xact_id()::text::bigint, clock_timestamp(), TG_ARGV[0],
            CASE WHEN TG_OP <> 'INSERT' THEN audit.short(to_jsonb(OLD)) END,
            CASE WHEN TG_OP <> 'DELETE' THEN audit.short(to_jsonb(NEW)) END);
    RETURN NULL;
END $$;

CREATE FUNCTION audit.seal() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE v_xid constant bigint := pg_current_xact_id()::text::bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM audit.commit c WHERE c.xid = v_xid) THEN
        PERFORM pg_advisory_xact_lock(20);
        INSERT INTO audit.commit (xid, n, at) VALUES (v_xid, nextval('audit.place'), clock_timestamp());
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER seal AFTER INSERT ON audit.event DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION audit.seal();

CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON paceline.job FOR EACH ROW EXECUTE FUNCTION audit.note('job');
CREATE TRIGGER audit AFTER INSERT OR DELETE ON paceline.history FOR EACH ROW EXECUTE FUNCTION audit.note('history');
CREATE TRIGGER audit AFTER INSERT OR DELETE ON paceline.history_late FOR EACH ROW EXECUTE FUNCTION audit.note('history');
CREATE TRIGGER audit AFTER INSERT OR DELETE ON paceline.dead FOR EACH ROW EXECUTE FUNCTION audit.note('dead');
CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON paceline.runner_taint
    FOR EACH ROW EXECUTE FUNCTION audit.note('taint');
CREATE TRIGGER audit_new AFTER INSERT ON paceline.incarnation FOR EACH ROW EXECUTE FUNCTION audit.note('incarnation');
CREATE TRIGGER audit AFTER UPDATE ON paceline.incarnation
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION audit.note('incarnation');
CREATE TRIGGER audit_new AFTER INSERT ON paceline.leader FOR EACH ROW EXECUTE FUNCTION audit.note('leader');
CREATE TRIGGER audit AFTER UPDATE ON paceline.leader
    FOR EACH ROW WHEN (OLD.epoch IS DISTINCT FROM NEW.epoch OR OLD.incarnation IS DISTINCT FROM NEW.incarnation)
    EXECUTE FUNCTION audit.note('leader');
CREATE TRIGGER audit AFTER UPDATE ON paceline.pool
    FOR EACH ROW WHEN (OLD.refilled IS DISTINCT FROM NEW.refilled) EXECUTE FUNCTION audit.note('pool');
CREATE TRIGGER audit AFTER UPDATE ON paceline.kind
    FOR EACH ROW WHEN (OLD.refilled IS DISTINCT FROM NEW.refilled) EXECUTE FUNCTION audit.note('kind');
CREATE TRIGGER audit AFTER UPDATE ON paceline.key
    FOR EACH ROW WHEN (OLD.refilled IS DISTINCT FROM NEW.refilled) EXECUTE FUNCTION audit.note('key');
