-- Everything that reads the queue: what scaling, the command line and the dashboard ask for.

-- This version ties a table to the groups and a trigger to the registrations, while runners work. Taken one after the
-- other, the two locks could meet a call that holds the second table and wants the first. So: both within 100 ms (a
-- deadlock is looked for only after 1 s), or neither, and again; nobody is held up longer than that.
DO $$
DECLARE v_before constant text := current_setting('lock_timeout');
BEGIN
    LOOP
        BEGIN
            PERFORM set_config('lock_timeout', '100ms', true);
            LOCK TABLE paceline.runner_group, paceline.incarnation IN SHARE ROW EXCLUSIVE MODE;
            PERFORM set_config('lock_timeout', v_before, true);
            EXIT;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.05);
        END;
    END LOOP;
END $$;
