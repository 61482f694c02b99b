-- Scale-down: Runners that hold no job are marked in one transaction, and claim nothing from its commit on. Whoever has
-- marked them may take their pods away.

-- Who could go, in the order in which they should: a leader last; tainted ones, to drain before not to claim; an old
-- revision; who is not ready; who has been idle for longest. In-cluster Runners share the taints of their group, so only
-- their own tell them apart. Who is not registered, or drains already, counts only if p_unready names it: else it is on
-- its way out, and the caller does not count it either.
CREATE FUNCTION paceline.rank_idle(p_group integer, p_unready text[], p_revision text) RETURNS text[]
LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(x.name ORDER BY x.leads, x.tainted, x.old DESC, x.unready DESC, x.idle_since, x.name), '{}')
      FROM (
        SELECT coalesce(r.name, u.name) AS name, i.id IS NOT NULL AND l.incarnation IS NOT NULL AS leads,
               CASE WHEN t.drain THEN 0 WHEN t.no_claim THEN 1 ELSE 2 END AS tainted,
               i.id IS NOT NULL AND i.revision IS DISTINCT FROM p_revision AS old, u.name IS NOT NULL AS unready, i.idle_since
          FROM (SELECT o.* FROM paceline.runner o WHERE o.grp = p_group) r
          FULL JOIN (SELECT DISTINCT n.name FROM unnest(p_unready) n (name) WHERE n.name IS NOT NULL) u ON u.name = r.name
          LEFT JOIN LATERAL (   -- the newest, if a predecessor still finishes
            SELECT o.* FROM paceline.incarnation o WHERE o.runner = r.id AND o.state <> 'z' ORDER BY o.id DESC LIMIT 1) i ON true
          LEFT JOIN paceline.leader l ON l.grp = p_group AND l.incarnation = i.id
         CROSS JOIN LATERAL (
            SELECT bool_or(o.effect = 'Drain') AS drain, bool_or(o.effect = 'NoClaim') AS no_claim
              FROM paceline.runner_taint o WHERE o.runner = r.id) t
         WHERE r.external IS NOT TRUE AND r.retiring IS NOT TRUE AND (i.state = 'a' OR u.name IS NOT NULL)
           AND NOT EXISTS (SELECT FROM paceline.incarnation o JOIN paceline.job j ON j.incarnation = o.id AND j.state = 'x'
                            WHERE o.runner = r.id AND o.state <> 'z')) x
$$;

-- Mark those of these that hold no job; rank_idle has chosen them. One whose row somebody has is skipped: a claim in
-- flight makes it busy. Its own row first and its registrations next, as whoever taints it does. A name without a row gets
-- one: what registers in it later, drains.
CREATE FUNCTION paceline.retire_idle(p_group integer, p_names text[]) RETURNS text[]
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE v_runners bigint[]; v_locked bigint[]; v_idle bigint[]; v_marked text[];
BEGIN
    INSERT INTO paceline.runner (grp, install, namespace, name)
    SELECT g.id, g.install, g.namespace, n.name FROM paceline.runner_group g CROSS JOIN unnest(p_names) n (name)
     WHERE g.id = p_group AND NOT EXISTS (
        SELECT FROM paceline.runner r WHERE r.install = g.install AND r.namespace = g.namespace AND r.name = n.name)
     ORDER BY n.name ON CONFLICT DO NOTHING;
    v_runners := ARRAY(
        SELECT r.id FROM paceline.runner r WHERE r.grp = p_group AND r.name = ANY (p_names)
         ORDER BY r.id FOR UPDATE SKIP LOCKED);
    v_locked := ARRAY(
        SELECT i.id FROM paceline.incarnation i WHERE i.runner = ANY (v_runners) AND i.state <> 'z'
         ORDER BY i.id FOR UPDATE SKIP LOCKED);
    -- in a later statement than the locks: what was claimed before them is seen
    v_idle := ARRAY(
        SELECT r.id FROM unnest(v_runners) r (id) WHERE NOT EXISTS (
            SELECT FROM paceline.incarnation i WHERE i.runner = r.id AND i.state <> 'z'
               AND (i.id <> ALL (v_locked)
                    OR EXISTS (SELECT FROM paceline.job j WHERE j.incarnation = i.id AND j.state = 'x'))));
    UPDATE paceline.incarnation i SET state = 'd' WHERE i.runner = ANY (v_idle) AND i.state = 'a';
    WITH marked AS (UPDATE paceline.runner r SET retiring = true WHERE r.id = ANY (v_idle) RETURNING r.name)
    SELECT array_agg(m.name ORDER BY array_position(p_names, m.name)) INTO v_marked FROM marked m;
    RETURN coalesce(v_marked, '{}');
END $$;

-- At most p_count of a group's in-cluster Runners; returns the names that were marked now, in the order of the choice.
CREATE FUNCTION paceline.retire(p_group integer, p_count integer, p_unready text[], p_revision text) RETURNS text[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    v_ranked text[];
    v_some text[];
    v_next integer := 1;
    v_marked text[] := '{}';
BEGIN
    PERFORM paceline.require_group(p_group);
    -- a registration holds it FOR SHARE: none is under way from here on, and no other call like this
    PERFORM FROM paceline.runner_group g WHERE g.id = p_group FOR NO KEY UPDATE;
    v_ranked := paceline.rank_idle(p_group, p_unready, p_revision);
    WHILE cardinality(v_marked) < p_count AND v_next <= cardinality(v_ranked) LOOP   -- again for those that were skipped
        v_some := v_ranked[v_next:v_next + p_count - cardinality(v_marked) - 1];
        v_next := v_next + cardinality(v_some);
        v_marked := v_marked || paceline.retire_idle(p_group, v_some);
    END LOOP;
    PERFORM paceline.elect(p_group);
    RETURN v_marked;
END $$;
