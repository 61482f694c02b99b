-- Tables are granted to nobody. These functions are for logins; each asks who is calling. All others are for them alone.
INSERT INTO paceline.login (name, role) VALUES (session_user, 'owner');
SELECT paceline.make_partitions();

REVOKE ALL ON ALL TABLES IN SCHEMA paceline FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA paceline FROM PUBLIC;
GRANT USAGE ON SCHEMA paceline TO PUBLIC;
DO $$
DECLARE f regprocedure;
BEGIN
    FOR f IN SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'paceline'::regnamespace AND p.prosecdef LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', f);
    END LOOP;
END $$;
