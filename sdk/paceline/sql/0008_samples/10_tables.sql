-- How pools stood, every ten seconds, for a day: what the dashboard draws. (paceline.sample is scaling's own: by group, for an
-- hour.)
CREATE TABLE paceline.pool_sample (
    pool           integer NOT NULL,        -- no foreign key: pools are for ever, and the check would cost more than the row
    taken_at       timestamptz NOT NULL,
    seconds        real NOT NULL,           -- how long it stands for: what was counted since the one before
    ready          integer NOT NULL,
    scheduled      integer NOT NULL,
    blocked        integer NOT NULL,
    running        integer NOT NULL,
    dead           integer NOT NULL,
    oldest_seconds real,                    -- how long the oldest ready job had waited; NULL: there was none
    busy           integer NOT NULL,        -- runners that held a job, and
    idle           integer NOT NULL,        -- that held none
    draining       integer NOT NULL,
    desired        integer,                 -- as the operator last decided; NULL: nobody has
    done           integer NOT NULL,        -- attempts that ended well, and
    failed         integer NOT NULL,
    PRIMARY KEY (pool, taken_at)
);

ALTER TABLE paceline.tick ADD COLUMN sampled_at timestamptz NOT NULL DEFAULT '-infinity';   -- the last time
