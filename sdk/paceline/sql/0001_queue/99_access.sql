-- Tables are granted to nobody. SECURITY DEFINER functions are for logins, and each asks who is calling; all others are
-- for them alone. Called at the end of every schema version.
CREATE FUNCTION paceline.close_schema() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE f regprocedure;
BEGIN
    REVOKE ALL ON ALL TABLES IN SCHEMA paceline FROM PUBLIC;
    REVOKE ALL ON ALL FUNCTIONS IN SCHEMA paceline FROM PUBLIC;
    FOR f IN SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'paceline'::regnamespace AND p.prosecdef LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', f);
    END LOOP;
END $$;

INSERT INTO paceline.login (name, role) VALUES (session_user, 'owner');
SELECT paceline.make_partitions();
GRANT USAGE ON SCHEMA paceline TO PUBLIC;
SELECT paceline.close_schema();
