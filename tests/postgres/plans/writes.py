"""What producers and runners call."""

from postgres.plans.hot import Hot

ACTIVE = """
SELECT i.id FROM paceline.incarnation i JOIN paceline.runner r ON r.id = i.runner
 WHERE i.state = 'a' AND r.name = 'runner-{}'"""
BUSY = ACTIVE.format("builds-2")
HELD = """
SELECT j.incarnation, array_agg(j.id), array_agg(j.fence)
  FROM (SELECT x.* FROM paceline.job x WHERE x.state = 'x' AND x.incarnation = ({}) ORDER BY x.id LIMIT 50) j
 GROUP BY 1""".format
CLAIM = "SELECT cardinality(ids) FROM paceline.step($1, 50)"
ACK = "SELECT refused FROM paceline.step($1, 0, $2, $3)"
DUPLICATES = """
SELECT array_agg(x.name), array_agg('1'::jsonb), array_agg(x.dedupe)
  FROM (SELECT k.name, j.dedupe FROM paceline.job j JOIN paceline.kind k ON k.id = j.kind
          JOIN paceline.pool p ON p.id = k.pool
         WHERE p.name = 'builds' AND j.dedupe IS NOT NULL ORDER BY j.id LIMIT 100) x"""
ADMITTED = """
UPDATE paceline.job SET state = 'r', ready_at = now()
 WHERE id IN (SELECT min(id) FROM paceline.job WHERE state = 'b' GROUP BY key LIMIT 60)"""
ITS_ROW = {"incarnation": 2}
ROWS_OF_50 = "each of the 50 twice: found and locked, then written"

WRITES = (
    Hot("enqueue", "SELECT created FROM paceline.enqueue('builds', '{kind1}', '{1}')", {}, "only its lane", True),
    Hot(
        "enqueue 100",
        "SELECT count(*) FILTER (WHERE created) FROM paceline.enqueue('builds', $1, $2)",
        {},
        "only their lanes",
        100,
        "SELECT array_agg('kind' || 1 + n % 40), array_agg('1'::jsonb) FROM generate_series(1, 100) n",
    ),
    Hot(
        "enqueue 100 that are there already",
        "SELECT count(*) FILTER (WHERE NOT created) FROM paceline.enqueue('builds', $1, $2, p_dedupe => $3)",
        {"job": 300},
        "each one that is in the way, and its id",
        100,
        DUPLICATES,
    ),
    Hot(
        "enqueue with a key that 20,000 wait for",
        "SELECT created FROM paceline.enqueue('keyed', '{kind1}', '{1}', p_key => '{crowded}')",
        {"key": 4},
        "the key",
        True,
    ),
    Hot(
        "enqueue 100 with keys",
        "SELECT count(*) FILTER (WHERE created) FROM paceline.enqueue('keyed', $1, $2, p_key => $3)",
        {"key": 400},
        "each key twice",
        100,
        "SELECT array_agg('kind1'::text), array_agg('1'::jsonb), array_agg('key' || n) FROM generate_series(1, 100) n",
    ),
    Hot(
        "enqueue into a pool with a large max_depth",
        "SELECT created FROM paceline.enqueue('builds', '{kind1}', '{1}')",
        {},
        "the tick has counted",
        True,
        given=("UPDATE paceline.pool SET max_depth = 1000000",),
    ),
    Hot("claim", CLAIM, {"job": 200, **ITS_ROW}, ROWS_OF_50, 50, BUSY),
    Hot("claim from 500 lanes", CLAIM, {"job": 200, **ITS_ROW}, ROWS_OF_50, 50, ACTIVE.format("wide-2")),
    Hot(
        "claim from rated lanes",
        CLAIM,
        {"job": 2200, **ITS_ROW},
        "up to 50 of each of the 20 bands of two rated kinds, since only their sum knows which are the first 50",
        50,
        ACTIVE.format("rated-2"),
    ),
    Hot(
        "claim by the leader", CLAIM, {"job": 200, **ITS_ROW}, ROWS_OF_50, 50, "SELECT incarnation FROM paceline.leader"
    ),
    Hot(
        "claim by a standby",
        "SELECT verdict FROM paceline.step($1, 50)",
        ITS_ROW,
        "nothing of the queue",
        "standby",
        ACTIVE.format("led-8"),
    ),
    Hot(
        "claim with keys",
        CLAIM,
        {"job": 200, **ITS_ROW},
        ROWS_OF_50,
        50,
        ACTIVE.format("keyed-2"),
        given=(ADMITTED,),
    ),
    Hot("claim where all is in the future", CLAIM, ITS_ROW, "there is nothing", None, ACTIVE.format("later-2")),
    Hot("ack 50", ACK, {"job": 100, **ITS_ROW}, "the 50", None, HELD(BUSY)),
    Hot(
        "ack 50 with keys",
        ACK,
        {"job": 450, "key": 100, **ITS_ROW},
        "the 50, and for each key the next one, in its lane",
        None,
        HELD(ACTIVE.format("keyed-1")),
    ),
    Hot(
        "fail 50",
        "SELECT paceline.fail($1, $2, $3, array_fill('no'::text, '{50}'), array_fill(1.0::float8, '{50}'))",
        {"job": 300, "incarnation": 12},
        "locked, noted and scheduled",
        None,
        HELD(BUSY),
    ),
    Hot(
        "fail 50 for good",
        "SELECT paceline.fail($1, $2, $3, array_fill('no'::text, '{50}'), array_fill(NULL::float8, '{50}'))",
        {"job": 300, "incarnation": 12},
        "locked, noted and buried",
        None,
        HELD(BUSY),
    ),
    Hot(
        "hand back 50",
        "SELECT paceline.hand_back($1, $2, $3)",
        {"job": 400, "incarnation": 14},
        "locked, looked at for cancels, noted and given back",
        None,
        HELD(BUSY),
    ),
    Hot(
        "heartbeat",
        "SELECT verdict FROM paceline.heartbeat($1)",
        {"job": 100, "incarnation": 4},
        "what it holds",
        "ok",
        BUSY,
    ),
    Hot(
        "extend 50",
        "SELECT paceline.extend($1, $2, $3, array_fill(60.0::float8, '{50}'))",
        {"job": 200, **ITS_ROW},
        ROWS_OF_50,
        None,
        HELD(BUSY),
    ),
    Hot(
        "tell the progress of 50",
        "SELECT paceline.set_progress($1, $2, $3, array_fill('1'::jsonb, '{50}'))",
        {"job": 200, **ITS_ROW},
        ROWS_OF_50,
        None,
        HELD(BUSY),
    ),
    Hot("held", "SELECT count(*) FROM paceline.held($1)", {"job": 100, "incarnation": 4}, "the 50", 50, BUSY),
    Hot("drain", "SELECT paceline.drain($1)", {"job": 100, "incarnation": 6}, "how many it holds", 50, BUSY),
    Hot("deregister", "SELECT paceline.deregister($1)", {"job": 500, "incarnation": 20}, "it hands back 50", 50, BUSY),
    Hot(
        "register",
        "SELECT pool_name FROM paceline.register('runner-builds-2', 'builds', '{*}', p_install => 'prod', "
        "p_namespace => 'ci', p_group => 'builds', p_external => false)",
        {"job": 300, "incarnation": 20},
        "its predecessor loses 50",
        "builds",
    ),
    Hot(
        "cancel",
        "SELECT paceline.cancel($1)",
        {"job": 8},
        "the job",
        "cancelled",
        "SELECT min(id) FROM paceline.job WHERE state = 'r'",
    ),
    Hot(
        "cancel what runs",
        "SELECT paceline.cancel($1)",
        {"job": 8, "incarnation": 4},
        "the job and its runner",
        "cancelling",
        "SELECT min(id) FROM paceline.job WHERE state = 'x'",
    ),
    Hot("cancel what is over", "SELECT paceline.cancel(1000500)", {"history": 2}, "its row of history", "finished"),
    Hot(
        "retry",
        "SELECT paceline.retry($1)",
        {"job": 4},
        "the job",
        "retried",
        "SELECT min(id) FROM paceline.job WHERE state = 's'",
    ),
    Hot(
        "redrive 50",
        "SELECT cardinality(paceline.redrive($1))",
        {"dead": 300},
        "each asked for, locked and deleted",
        50,
        "SELECT array_agg(id) FROM (SELECT id FROM paceline.dead LIMIT 50) x",
    ),
    Hot(
        "wait for 50",
        "SELECT count(*) FROM paceline.await_outcome($1)",
        {"job": 250},
        "each of the 50 found, locked, written, and looked at again",
        0,
        "SELECT array_agg(id) FROM (SELECT id FROM paceline.job WHERE state = 'r' ORDER BY id LIMIT 50) j",
    ),
    Hot(
        "look at 50 that have ended",
        "SELECT count(state) FROM paceline.await_outcome($1)",
        {"history": 100},
        "each of the 50",
        50,
        "SELECT array_agg(id) FROM (SELECT id FROM paceline.history ORDER BY id DESC LIMIT 50) h",
    ),
    Hot(
        "enqueue once",
        "SELECT created FROM paceline.enqueue_once('k', '', 60, '{30}', 'builds', '{kind1}', '{1}')",
        {"job": 4},
        "only its lane, and the job itself to be marked",
        True,
    ),
)
