"""The load assessment: whether Postgres is enough to hand out jobs, or it takes a message queue, and from when on."""
