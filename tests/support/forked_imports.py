"""What the process that others are forked from imports before the first of them: nothing that starts a thread."""

import asyncpg
import rich.progress
import rich.table
import uvloop

import paceline.admin
import paceline.operating
import paceline.queue
import paceline_cli.main
import paceline_cli.pool_view
import paceline_operator.handlers.operator

__all__ = ["asyncpg", "paceline", "paceline_cli", "paceline_operator", "rich", "uvloop"]
