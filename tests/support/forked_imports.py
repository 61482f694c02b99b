"""What the process that others are forked from imports before the first of them: nothing that starts a thread.

Every command imports what it needs when it is given; whatever of that is missing here costs each fork of it.
"""

import importlib
import pkgutil

import aiohttp
import asyncpg
import rich.live
import rich.progress
import rich.table
import uvloop
import yaml

import paceline.admin
import paceline.cron
import paceline.dialled
import paceline.migrate
import paceline.operating
import paceline.queue
import paceline.tokens
import paceline_cli
import paceline_gateway.serve
import paceline_operator.handlers.operator
import paceline_runner.runner

for each in pkgutil.walk_packages(paceline_cli.__path__, "paceline_cli."):
    if not each.name.endswith("__main__"):
        importlib.import_module(each.name)

__all__ = [
    "aiohttp", "asyncpg", "paceline", "paceline_cli", "paceline_gateway", "paceline_operator", "paceline_runner",
    "rich", "uvloop", "yaml",
]  # fmt: skip
