"""What scaling, the operator and people ask for."""

from postgres.plans.hot import Hot

GROUP = "SELECT id FROM paceline.runner_group WHERE name = '{}'".format
LIVE = {"incarnation": 500}
"""Each of 48 live registrations a few times."""
PAST_OTHERS = "backwards by id, past the newer jobs of other pools: no index has a pool's ready jobs by id"
LOOK = {"job": 6000, "dead": 202, "flow": 2000, "sample": 600, **LIVE}
LOOKED = "of each pool the cap of 100 and of each state, the head of each band, and what 14 busy runners hold"

READS = (
    Hot("snapshot", "SELECT count(*) FROM paceline.snapshot(100)", LOOK, LOOKED, 6),
    Hot("survey", "SELECT count(*) FROM paceline.survey('prod', '{}', 100)", LOOK, LOOKED, 6),
    Hot(
        "depth of all pools",
        "SELECT count(*) FROM paceline.list_pools(100)",
        {"job": 3000, "dead": 202, **LIVE},
        LOOKED,
        6,
    ),
    Hot(
        "look at a group",
        "SELECT count(*) FROM paceline.look_at_group($1)",
        {"job": 800, "incarnation": 16},
        "8 runners and the 400 jobs that they hold",
        8,
        GROUP("builds"),
    ),
    Hot(
        "retire 3 of 8",
        "SELECT cardinality(paceline.retire($1, 3, '{}', 'one'))",
        {"job": 1400, "incarnation": 370},
        "who holds something: all that run are hashed",
        3,
        GROUP("wide"),
    ),
    Hot("elect", "SELECT paceline.elect($1)", {"incarnation": 100}, "who lives", None, GROUP("led")),
    Hot(
        "promote",
        "SELECT paceline.promote($1, $2)",
        {"incarnation": 200},
        "who lives, twice",
        None,
        "SELECT r.grp, r.id FROM paceline.runner r WHERE r.name = 'runner-led-5'",
    ),
    Hot(
        "taint a runner",
        "SELECT paceline.taint_runner($1, 'api', '{gpu}', '{bad}', '{NoClaim}')",
        {"incarnation": 110},
        "its registration",
        None,
        "SELECT id FROM paceline.runner WHERE name = 'runner-builds-2'",
    ),
    Hot(
        "candidates",
        "SELECT count(*) FROM paceline.list_candidates('prod', 'led', NULL)",
        {"incarnation": 20},
        "the 8",
        8,
    ),
    Hot(
        "keep what was decided",
        "SELECT paceline.keep_scaling(jsonb_build_array(jsonb_build_object('grp', $1::integer, 'state', '{}'::jsonb, "
        "'decisions', '[]'::jsonb)))",
        {"decision": 2},
        "what is older than a week",
        None,
        GROUP("builds"),
    ),
    Hot(
        "decisions",
        "SELECT count(*) FROM paceline.list_decisions($1, '1 day', 20)",
        {"decision": 363},
        "20 a page of at most six groups",
        20,
        GROUP("builds"),
    ),
    Hot(
        "a live job",
        "SELECT state FROM paceline.job_detail($1)",
        {"job": 2},
        "the job",
        "ready",
        "SELECT min(id) FROM paceline.job WHERE state = 'r'",
    ),
    Hot(
        "a job in history",
        "SELECT state FROM paceline.job_detail(1000500)",
        {"history": 2, "attempt": 2},
        "the job",
        "done",
    ),
    Hot("a dead job", "SELECT state FROM paceline.job_detail(2000500)", {"dead": 2}, "the job", "dead"),
    Hot(
        "attempts of a job",
        "SELECT count(*) FROM paceline.job_attempts(1000500)",
        {"history": 2, "attempt": 4},
        "its one",
        1,
    ),
    Hot(
        "outcomes of 50",
        "SELECT count(*) FROM paceline.outcome(ARRAY(SELECT generate_series(1000500, 1000549)))",
        {"history": 100},
        "the 50",
        50,
    ),
    Hot(
        "first page",
        "SELECT count(*) FROM paceline.list_jobs('builds')",
        {"job": 125_000, "key": 4, **LIVE},
        PAST_OTHERS,
        100,
    ),
    Hot(
        "deep page",
        "SELECT count(*) FROM paceline.list_jobs('builds', p_before => 20000)",
        {"job": 1800, "key": 4, **LIVE},
        "100 ready, what runs, and the page itself",
        100,
    ),
    Hot(
        "first page of what is scheduled",
        "SELECT count(*) FROM paceline.list_jobs('later', 'scheduled')",
        {"job": 1200, "key": 4, **LIVE},
        "100 of each of four lanes, and the page itself",
        100,
    ),
    Hot(
        "deep page of what is scheduled",
        "SELECT count(*) FROM paceline.list_jobs('later', 'scheduled', p_before => 60000)",
        {"job": 1200, "key": 4, **LIVE},
        "100 of each of four lanes, and the page itself",
        100,
    ),
    Hot(
        "first page of what is blocked",
        "SELECT count(*) FROM paceline.list_jobs('keyed', 'blocked')",
        {"job": 1200, "key": 210, **LIVE},
        "100 of each of four lanes, and the page itself",
        100,
    ),
    Hot(
        "first page of what runs",
        "SELECT count(*) FROM paceline.list_jobs('builds', 'running')",
        {"job": 1600, "key": 4, **LIVE},
        "all 400 that run, and the page itself",
        100,
    ),
    Hot(
        "first page of dead letters",
        "SELECT count(*) FROM paceline.list_dead('builds')",
        {"dead": 10_000},
        "100 of each of 50 kinds",
        100,
    ),
)
