"""What users need to test against the real thing: a PostgreSQL server, and a fresh database for each test."""

from paceline.testing.postgres import PostgresServer, Programs, bundled, installed

__all__ = ["PostgresServer", "Programs", "bundled", "installed"]
