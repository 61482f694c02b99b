-- Somebody waits for the end of the job: he is told. NULL for all others, so that adding it rewrites nothing.
ALTER TABLE paceline.job ADD COLUMN awaited boolean;

-- The token that a registration came with; NULL for those with a database login.
ALTER TABLE paceline.incarnation ADD COLUMN token text;

-- Which connection of a runner that dials out is the current one; NULL for one that has none.
ALTER TABLE paceline.incarnation ADD COLUMN session bigint;
CREATE SEQUENCE paceline.session;

-- It let a run lapse: nothing is claimed for its connection until that has been told so.
ALTER TABLE paceline.incarnation ADD COLUMN lapsed boolean NOT NULL DEFAULT false;
