-- After a restore to an earlier moment, or a failover that lost the last writes, numbers are given out a second time: ids of
-- jobs and registrations, fences, epochs. Whoever got them the first time may still live and write with them. And a
-- registration that was alive at that moment holds jobs again which its process finished since, and renews its lease.

-- Move all numbers beyond those that can have been given out, and end every registration; their jobs go back without a
-- charge. How many of both there were. A thousand million claims are a month at 400 a second.
CREATE FUNCTION paceline.restored(OUT registrations integer, OUT jobs integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_far constant bigint := 1000000000;
    v_now constant xid8 := pg_current_xact_id();
    v record;
BEGIN
    PERFORM paceline.require(NULL, 'owner');
    FOR v IN SELECT format('%I.%I', s.schemaname, s.sequencename)::regclass AS name,
                    CASE WHEN s.data_type = 'bigint'::regtype THEN v_far ELSE 10000 END AS ahead
               FROM pg_sequences s WHERE s.schemaname = 'paceline' LOOP
        PERFORM setval(v.name, nextval(v.name) + v.ahead);
    END LOOP;
    UPDATE paceline.leader l SET epoch = l.epoch + v_far;
    UPDATE paceline.office o SET epoch = o.epoch + v_far, holder = '';
    -- a dump may come from a server that has counted further
    DELETE FROM paceline.mark m WHERE m.xid > v_now;
    UPDATE paceline.lane l SET retired = NULL WHERE l.retired > v_now;
    UPDATE paceline.key k SET retired = NULL WHERE k.retired > v_now;
    registrations := 0;
    jobs := 0;
    FOR v IN SELECT i.id FROM paceline.incarnation i WHERE i.state <> 'z' ORDER BY i.id FOR UPDATE LOOP
        registrations := registrations + 1;
        jobs := jobs + (SELECT count(*) FROM paceline.job j WHERE j.incarnation = v.id AND j.state = 'x');
        PERFORM paceline.hand_back(v.id, array_agg(j.id), array_agg(j.fence), 'Restored')
           FROM paceline.job j WHERE j.incarnation = v.id AND j.state = 'x' HAVING count(*) > 0;
        PERFORM paceline.end_incarnations(ARRAY[v.id], 'Restored');
    END LOOP;
END $$;
