-- What scaling remembers. Both go with their group.
CREATE TABLE paceline.scaling (
    grp    integer PRIMARY KEY REFERENCES paceline.runner_group ON DELETE CASCADE,
    weight integer NOT NULL,                  -- how much of a lane's jobs is this group's, where others serve it too
    state  jsonb NOT NULL DEFAULT '{}'        -- what was recommended lately; the operator reads and writes it
) WITH (fillfactor = 50);

CREATE TABLE paceline.decision (              -- one row whenever a decision differs from the one before
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    grp        integer NOT NULL REFERENCES paceline.runner_group ON DELETE CASCADE,
    at         timestamptz NOT NULL,
    was        integer NOT NULL,
    replicas   integer NOT NULL,
    reason     text NOT NULL,
    limited_by text,
    inputs     jsonb NOT NULL,
    proposals  jsonb NOT NULL
);
CREATE INDEX decision_group ON paceline.decision (grp, at);
CREATE INDEX decision_at ON paceline.decision (at);

-- Until when an operator wants to hear of work for a group without runners, besides runners that sleep.
ALTER TABLE paceline.waiter ADD asleep timestamptz NOT NULL DEFAULT '-infinity';
