-- The tables of the queue. Nobody but the owner of the schema may touch them: everything goes through functions.
-- Time is the database's clock_timestamp() alone; a runner's own clock decides nothing here.

-- Positions of ready jobs, and fences. CACHE 1: the low-water mark needs values to be given out in order.
CREATE SEQUENCE paceline.seq CACHE 1;
CREATE SEQUENCE paceline.fence CACHE 1;

-- A bucket of permits; the same three columns stand in pool, kind and key.
-- available = least(burst, permits + rate * (now - refilled)); rate NULL means no limit.

CREATE TABLE paceline.pool (
    id           integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text NOT NULL UNIQUE,
    install      text,                       -- the namespace that first served it owns it; NULL while nobody has
    namespace    text,
    paused       boolean NOT NULL DEFAULT false,
    max_depth    bigint,                     -- enqueue is refused at this many waiting jobs
    depth        bigint NOT NULL DEFAULT 0,  -- waiting jobs as the tick last counted them; for limits too large to count
    lane_version bigint NOT NULL DEFAULT 0,  -- grows with each new lane or rate; runners then look again
    leader_group integer,                    -- the group with dispatch: Leader that owns the pool
    runners      integer NOT NULL DEFAULT 0, -- live registrations as the tick last counted them: many poll more seldom
    rate         float8,
    burst        float8,
    permits      float8 NOT NULL DEFAULT 0,
    refilled     timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 20);

CREATE TABLE paceline.pool_namespace (      -- namespaces besides the owner that may serve a pool
    pool      integer NOT NULL REFERENCES paceline.pool,
    namespace text NOT NULL,
    PRIMARY KEY (pool, namespace)
);

CREATE TABLE paceline.login (               -- who may do what; pool NULL means every pool
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('runner', 'producer', 'reader', 'gateway', 'operator', 'owner')),
    pool integer REFERENCES paceline.pool,
    UNIQUE NULLS NOT DISTINCT (name, role, pool)
);

CREATE TABLE paceline.kind (
    id       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pool     integer NOT NULL REFERENCES paceline.pool,
    name     text NOT NULL,
    rate     float8,
    burst    float8,
    permits  float8 NOT NULL DEFAULT 0,
    refilled timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (pool, name)
) WITH (fillfactor = 20);

-- A lane is an interned (pool, kind, required tags, tolerations): the unit that a claim scans.
CREATE TABLE paceline.lane (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pool        integer NOT NULL REFERENCES paceline.pool,
    kind        integer NOT NULL REFERENCES paceline.kind,
    tags        text[] NOT NULL,            -- sorted
    tolerations text[] NOT NULL,            -- sorted
    served      boolean NOT NULL DEFAULT false,  -- a live runner can claim from it, as the tick last saw
    used_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    retired     xid8,                       -- set when it is about to go: no new job may enter it
    UNIQUE (kind, tags, tolerations)
) WITH (fillfactor = 50);
CREATE INDEX lane_pool ON paceline.lane (pool);

-- One row for each priority that a lane has ever held. `low`: no ready job of the band is below this position.
CREATE TABLE paceline.band (
    lane     integer NOT NULL REFERENCES paceline.lane ON DELETE CASCADE,
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
    low      bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (lane, priority)
) WITH (fillfactor = 20);

-- Positions and times that will be safe to skip to once all transactions before `xid` are over.
CREATE TABLE paceline.mark (
    seq bigint NOT NULL,
    at  timestamptz NOT NULL,
    xid xid8 NOT NULL
);

-- A concurrency key. The row is a mutex and holds the limit; permits in use are counted from the job rows.
CREATE TABLE paceline.key (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pool        integer NOT NULL REFERENCES paceline.pool,
    name        text NOT NULL,
    max_running integer CHECK (max_running > 0),   -- NULL: only its rate limits it
    rate        float8,
    burst       float8,
    permits     float8 NOT NULL DEFAULT 0,
    refilled    timestamptz NOT NULL DEFAULT clock_timestamp(),
    used_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    retired     xid8,
    UNIQUE (pool, name)
) WITH (fillfactor = 50);
CREATE INDEX key_rated ON paceline.key (id) WHERE rate IS NOT NULL;

CREATE TABLE paceline.knock (               -- keys that may have a job to admit
    seq bigint PRIMARY KEY DEFAULT nextval('paceline.seq'),
    key bigint NOT NULL
);

CREATE TABLE paceline.runner_group (
    id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    install    text NOT NULL DEFAULT '',
    namespace  text NOT NULL DEFAULT '',
    name       text NOT NULL,
    pool       integer NOT NULL REFERENCES paceline.pool,
    leader     boolean NOT NULL DEFAULT false,     -- dispatch: Leader
    paused     boolean NOT NULL DEFAULT false,
    slots      integer NOT NULL DEFAULT 1,
    tags       text[] NOT NULL DEFAULT '{}',
    numbered   bigint NOT NULL DEFAULT 0,          -- Runners that were given a number so far
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (install, namespace, name)
) WITH (fillfactor = 50);

-- The stable Runner: a name and its taints, which survive restarts.
CREATE TABLE paceline.runner (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    grp        integer NOT NULL REFERENCES paceline.runner_group ON DELETE CASCADE,
    install    text NOT NULL,
    namespace  text NOT NULL,
    name       text NOT NULL,
    external   boolean NOT NULL DEFAULT false,
    retiring   boolean NOT NULL DEFAULT false,     -- chosen to go: whatever registers in its name drains
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (install, namespace, name)
) WITH (fillfactor = 50);
CREATE INDEX runner_group_of ON paceline.runner (grp);

CREATE TABLE paceline.runner_taint (
    runner bigint NOT NULL REFERENCES paceline.runner ON DELETE CASCADE,
    source text NOT NULL CHECK (source IN ('annotation', 'spec', 'cli', 'api')),
    key    text NOT NULL,
    value  text NOT NULL DEFAULT '',
    effect text NOT NULL CHECK (effect IN ('NoClaim', 'PreferNoClaim', 'NoLead', 'Drain')),
    PRIMARY KEY (runner, source, key, effect)
);

CREATE TABLE paceline.group_taint (         -- holds for the group's in-cluster runners, also for later ones
    grp    integer NOT NULL REFERENCES paceline.runner_group ON DELETE CASCADE,
    source text NOT NULL CHECK (source IN ('annotation', 'spec', 'cli', 'api')),
    key    text NOT NULL,
    value  text NOT NULL DEFAULT '',
    effect text NOT NULL CHECK (effect IN ('NoClaim', 'PreferNoClaim', 'NoLead', 'Drain')),
    PRIMARY KEY (grp, source, key, effect)
);

-- One registration of a Runner by one process. This is the row that a claim locks FOR KEY SHARE to its commit, and
-- that drain, taint and fence lock FOR UPDATE first.
CREATE TABLE paceline.incarnation (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    runner        bigint NOT NULL REFERENCES paceline.runner ON DELETE CASCADE,
    pool          integer NOT NULL REFERENCES paceline.pool,
    login         text NOT NULL,
    state         "char" NOT NULL DEFAULT 'a' CHECK (state IN ('a', 'd', 'z')),  -- active, draining, gone
    lease_until   timestamptz NOT NULL,
    lease         interval NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at      timestamptz,
    cause         text,
    hostname      text NOT NULL DEFAULT '',
    pod_uid       text,
    revision      text,
    slots         integer NOT NULL DEFAULT 1,
    kinds         text[] NOT NULL,
    tags          text[] NOT NULL,
    lanes         integer[] NOT NULL DEFAULT '{}',   -- lanes that it may claim from, computed here
    special       integer[] NOT NULL DEFAULT '{}',   -- the same, but rated or late: a claim must look closer
    late          integer[] NOT NULL DEFAULT '{}',   -- those of them that it leaves to others for 5 s
    lane_version  bigint NOT NULL DEFAULT -1,
    cancels       boolean NOT NULL DEFAULT false,    -- somebody wants one of its jobs cancelled
    idle_since    timestamptz DEFAULT clock_timestamp(),   -- as its heartbeats saw it; NULL while it holds jobs
    suspect       text                               -- the cause, should its lease end now
) WITH (fillfactor = 20);
CREATE INDEX incarnation_runner ON paceline.incarnation (runner, id);
-- nothing that a heartbeat changes (lease_until, idle_since) is in an index: it would not be a HOT update any more
CREATE INDEX incarnation_live ON paceline.incarnation (id) WHERE state <> 'z';
CREATE INDEX incarnation_live_runner ON paceline.incarnation (runner) WHERE state <> 'z';
CREATE INDEX incarnation_live_pod ON paceline.incarnation (pod_uid) WHERE state <> 'z' AND pod_uid IS NOT NULL;

CREATE TABLE paceline.leader (              -- one row for each group with dispatch: Leader
    grp         integer PRIMARY KEY REFERENCES paceline.runner_group ON DELETE CASCADE,
    runner      bigint REFERENCES paceline.runner ON DELETE SET NULL,
    incarnation bigint,                     -- NULL: nobody leads
    epoch       bigint NOT NULL DEFAULT 0,
    since       timestamptz NOT NULL DEFAULT clock_timestamp(),
    promoted    bigint REFERENCES paceline.runner ON DELETE SET NULL
) WITH (fillfactor = 20);

CREATE TABLE paceline.job (
    id          bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    seq         bigint NOT NULL,            -- position, renewed on every return to ready
    incarnation bigint,                     -- NULL in every state but 'x'
    fence       bigint NOT NULL DEFAULT 0,
    run_at      timestamptz,
    expires_at  timestamptz,
    enqueued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    ready_at    timestamptz,
    claimed_at  timestamptz,
    deadline    timestamptz,                -- of this attempt, where its handler asked for more time than timeout_ms
    key         bigint,
    lane        integer NOT NULL,
    kind        integer NOT NULL,
    timeout_ms  integer,
    priority    smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
    tries       smallint NOT NULL DEFAULT 0,
    losses      smallint NOT NULL DEFAULT 0,
    max_tries   smallint NOT NULL CHECK (max_tries > 0),
    max_losses  smallint NOT NULL CHECK (max_losses >= 0),
    state       "char" NOT NULL CHECK (state IN ('s', 'b', 'r', 'x')),   -- scheduled, blocked, ready, running
    cancel      boolean NOT NULL DEFAULT false,
    dedupe      text,
    trace       text,
    progress    jsonb,                      -- what the handler last said; a new claim begins with none
    payload     jsonb NOT NULL
) WITH (
    -- no update of a job is HOT, since its state is in index predicates: room on the page would be wasted
    fillfactor = 100, toast_tuple_target = 512,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000
);
CREATE INDEX job_ready ON paceline.job (lane, priority, seq) WHERE state = 'r';
CREATE INDEX job_scheduled ON paceline.job (run_at) WHERE state = 's';
CREATE INDEX job_blocked ON paceline.job (key, lane, priority DESC, seq) WHERE state = 'b';
CREATE INDEX job_key ON paceline.job (key, state) WHERE key IS NOT NULL AND state IN ('r', 'x');
CREATE INDEX job_waiting ON paceline.job (lane, state, id) WHERE state IN ('s', 'b');   -- for counts and lists
CREATE INDEX job_incarnation ON paceline.job (incarnation) WHERE state = 'x';
CREATE INDEX job_expires ON paceline.job (expires_at) WHERE expires_at IS NOT NULL AND state <> 'x';
CREATE UNIQUE INDEX job_dedupe ON paceline.job (kind, dedupe) WHERE dedupe IS NOT NULL;

-- Finished jobs, by day; found by id too. There is no DEFAULT partition (it would be scanned and locked whenever one
-- is made): what finds no partition goes to history_late and is moved by the tick.
CREATE TABLE paceline.history (
    id          bigint NOT NULL,
    finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    enqueued_at timestamptz NOT NULL,
    claimed_at  timestamptz,
    fence       bigint NOT NULL,
    incarnation bigint,
    lane        integer NOT NULL,
    kind        integer NOT NULL,
    priority    smallint NOT NULL,
    tries       smallint NOT NULL,
    losses      smallint NOT NULL,
    outcome     "char" NOT NULL,            -- d done, c cancelled, e expired
    result      jsonb
) PARTITION BY RANGE (finished_at);
CREATE INDEX history_id ON paceline.history (id);
CREATE TABLE paceline.history_late (LIKE paceline.history INCLUDING DEFAULTS);
CREATE INDEX history_late_id ON paceline.history_late (id);

CREATE TABLE paceline.dead (
    id          bigint PRIMARY KEY,
    died_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    cause       text NOT NULL,              -- Failed, Poison, TimedOut, …
    error       text,
    enqueued_at timestamptz NOT NULL,
    lane        integer NOT NULL,
    kind        integer NOT NULL,
    key         bigint,
    priority    smallint NOT NULL,
    tries       smallint NOT NULL,
    losses      smallint NOT NULL,
    max_tries   smallint NOT NULL,
    max_losses  smallint NOT NULL,
    timeout_ms  integer,
    fence       bigint NOT NULL,
    dedupe      text,
    trace       text,
    payload     jsonb NOT NULL
);
CREATE INDEX dead_kind ON paceline.dead (kind, died_at);

-- Attempts that did not simply succeed, and those that left output. By day, like history.
CREATE TABLE paceline.attempt (
    job         bigint NOT NULL,
    fence       bigint NOT NULL,
    ended_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at  timestamptz,
    incarnation bigint,
    runner      text,
    revision    text,
    outcome     "char" NOT NULL,            -- d done, f failed, l lost, h handed back, c cancelled
    cause       text,
    error       text,
    output      text
) PARTITION BY RANGE (ended_at);
CREATE INDEX attempt_job ON paceline.attempt (job);
CREATE TABLE paceline.attempt_late (LIKE paceline.attempt INCLUDING DEFAULTS);
CREATE INDEX attempt_late_job ON paceline.attempt_late (job);

CREATE TABLE paceline.cron (
    id       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pool     integer NOT NULL REFERENCES paceline.pool,
    name     text NOT NULL,
    schedule text NOT NULL,
    timezone text NOT NULL DEFAULT 'UTC',
    job      jsonb NOT NULL,                -- what to enqueue
    next_at  timestamptz NOT NULL,
    last_at  timestamptz,
    paused   boolean NOT NULL DEFAULT false,
    UNIQUE (pool, name)
);
CREATE INDEX cron_next ON paceline.cron (next_at) WHERE NOT paused;

CREATE TABLE paceline.waiter (              -- somebody sleeps until this pool has work: enqueue shall notify
    pool  integer PRIMARY KEY REFERENCES paceline.pool,
    until timestamptz NOT NULL
) WITH (fillfactor = 20);

CREATE TABLE paceline.flow (                -- attempts that ended, one row for each call and lane; kept for an hour
    at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    lane    integer NOT NULL,
    done    integer NOT NULL,
    busy_ms bigint NOT NULL
);
CREATE INDEX flow_at ON paceline.flow (at);

-- Housekeeping has one row; who finds it due does it.
CREATE TABLE paceline.tick (
    one           boolean PRIMARY KEY DEFAULT true CHECK (one),
    next_at       timestamptz NOT NULL DEFAULT '-infinity',
    mark_at       timestamptz NOT NULL DEFAULT '-infinity',  -- low-water marks
    review_at     timestamptz NOT NULL DEFAULT '-infinity',  -- lanes served, permits held for nothing
    slow_at       timestamptz NOT NULL DEFAULT '-infinity',  -- partitions, retention, lanes and keys out of use
    reviewed      bigint NOT NULL DEFAULT 0,                 -- the last key that was looked at
    knock_low     bigint NOT NULL DEFAULT 0,                 -- no knock is below this position
    release_low   timestamptz NOT NULL DEFAULT '-infinity',  -- no scheduled job is due before this
    history_until timestamptz NOT NULL DEFAULT '-infinity',  -- partitions exist up to here
    history_days  integer NOT NULL DEFAULT 7 CHECK (history_days > 0)
) WITH (fillfactor = 20);
INSERT INTO paceline.tick DEFAULT VALUES;
