-- As in version 1: tables are granted to nobody, functions that ask who is calling to everybody, all others to nobody.
REVOKE ALL ON paceline.group_kinds, paceline.sample FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA paceline FROM PUBLIC;
DO $$
DECLARE f regprocedure;
BEGIN
    FOR f IN SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace = 'paceline'::regnamespace AND p.prosecdef LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO PUBLIC', f);
    END LOOP;
END $$;
