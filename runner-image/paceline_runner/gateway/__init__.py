"""The way of a runner without a database: it dials a gateway, as docs/reference/runner-protocol.md says."""
