"""`paceline run`: be a runner."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from paceline_cli.dial import gateway_of
from paceline_cli.early import leave_when_told
from paceline_cli.options import URL_VARIABLES, LogForm, LogFormatOption, LogLevelOption
from paceline_cli.run import NO_URL

if TYPE_CHECKING:
    from paceline.handlers import Jobs
    from paceline_runner.settings import Settings

DEFAULT_LISTEN: Final = "0.0.0.0:8080"
NO_PORT: Final = ("", "none")
NOT_INSTALLED: Final = "a runner needs more than a producer: pip install 'paceline[runner]'"


OPTION_NAMES: Final = {
    "heartbeat": "heartbeat_interval", "stale": "stale_threshold", "tick": "tick_interval", "taints": "taint",
}  # fmt: skip
"""Parameters whose option is called otherwise."""


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    app.command("run", short_help="Be a runner: claim jobs and run their handlers.")(run)


def run(
    context: typer.Context,
    app: Annotated[
        str,
        typer.Option(
            "--app", envvar="PACELINE_APP", metavar="MODULE:NAME",
            help="Where the handlers are: a module, and the name of its Jobs in it.",
        ),
    ],
    database_url: Annotated[
        str | None,
        typer.Option(envvar=list(URL_VARIABLES), metavar="URL", help="The database. Safer in the variable."),
    ] = None,
    gateway: Annotated[
        str | None,
        typer.Option(
            envvar="PACELINE_GATEWAY", metavar="URL",
            help="Dial this gateway instead of a database: the token says whose runner it is.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="PACELINE_TOKEN_FILE", metavar="FILE",
            help="With --gateway: where its token is, if not in the variable PACELINE_TOKEN.",
        ),
    ] = None,
    gateway_ca: Annotated[
        Path | None,
        typer.Option(
            envvar="PACELINE_GATEWAY_CA", metavar="FILE",
            help="With --gateway: certificates to trust instead of the system's.",
        ),
    ] = None,
    listen_url: Annotated[
        str | None,
        typer.Option(
            envvar="PACELINE_LISTEN_URL", metavar="URL",
            help="The database without PgBouncer, for heartbeats and wake-ups; the same if not given.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", envvar="PACELINE_NODE_ID", metavar="NAME",
            help="The Runner that this process is: by the same name it is the same one again. Made up if not given.",
        ),
    ] = None,
    pool: Annotated[
        str, typer.Option("--pool", "-p", envvar="PACELINE_POOL", metavar="POOL", help="The pool to serve.")
    ] = "default",
    group: Annotated[
        str | None,
        typer.Option(
            envvar="PACELINE_GROUP", metavar="[NAMESPACE/]NAME",
            help="Serve the pool of a RunnerGroup as one of its runners.",
        ),
    ] = None,
    tags: Annotated[
        str, typer.Option(envvar="PACELINE_TAGS", metavar="A,B", help="What it can do, for jobs that ask for it.")
    ] = "",
    taints: Annotated[
        str | None,
        typer.Option(
            "--taint", envvar="PACELINE_TAINTS", metavar="TAINTS",
            help="Taints of this Runner, as in gpu=bad:NoClaim. They stay until other ones are given; '' removes them.",
        ),
    ] = None,
    slots: Annotated[int, typer.Option(envvar="PACELINE_SLOTS", metavar="N", help="Jobs at once.")] = 4,
    batch_size: Annotated[
        int, typer.Option(envvar="PACELINE_BATCH_SIZE", metavar="N", help="Claim at most so many jobs by one call.")
    ] = 50,
    dispatchers: Annotated[
        int, typer.Option(envvar="PACELINE_DISPATCHERS", metavar="1-4", help="Connections that claim at the same time.")
    ] = 1,
    heartbeat: Annotated[
        float, typer.Option("--heartbeat-interval", envvar="PACELINE_HEARTBEAT_INTERVAL_SECS", metavar="SECONDS",
                            help="How often it says that it lives.")
    ] = 10.0,
    stale: Annotated[
        float, typer.Option("--stale-threshold", envvar="PACELINE_STALE_THRESHOLD_SECS", metavar="SECONDS",
                            help="How long it may be silent before its jobs go to others.")
    ] = 30.0,
    tick: Annotated[
        float, typer.Option("--tick-interval", envvar="PACELINE_TICK_INTERVAL_MS", metavar="MS",
                            help="The longest pause between two steps of a busy runner.")
    ] = 100.0,
    drain_timeout: Annotated[
        float, typer.Option(envvar="PACELINE_DRAIN_TIMEOUT_SECS", metavar="SECONDS",
                            help="What is unfinished so long after the order to leave goes back to the queue.")
    ] = 300.0,
    grace: Annotated[
        float, typer.Option(envvar="PACELINE_GRACE_SECS", metavar="SECONDS",
                            help="How long a handler may go on after it was told to stop.")
    ] = 5.0,
    max_jobs: Annotated[
        int, typer.Option(envvar="PACELINE_MAX_JOBS", metavar="N", help="Leave after so many jobs; 0 is for ever.")
    ] = 0,
    listen: Annotated[
        str, typer.Option(envvar="PACELINE_LISTEN", metavar="HOST:PORT",
                          help="The port for probes, metrics and drain; none: it opens no port.")
    ] = DEFAULT_LISTEN,
    install: Annotated[
        str | None,
        typer.Option(
            envvar="PACELINE_INSTALL", metavar="NAME",
            help="Whose group it is, where several operators share a database.",
        ),
    ] = None,
    pod_name: Annotated[
        str | None, typer.Option(envvar="PACELINE_POD_NAME", metavar="NAME", help="The pod; the operator says so.")
    ] = None,
    pod_uid: Annotated[
        str | None, typer.Option(envvar="PACELINE_POD_UID", metavar="UID", help="The pod; the operator says so.")
    ] = None,
    revision: Annotated[
        str | None,
        typer.Option(envvar="PACELINE_REVISION", metavar="NAME", help="Which revision of its group it is; the same."),
    ] = None,
    log_format: LogFormatOption = LogForm.AUTO,
    log_level: LogLevelOption = "info",
) -> None:  # fmt: skip
    """Be a runner: claim jobs of a pool and run their handlers.

    Every option can also be set by its variable, or in [tool.paceline] of pyproject.toml in the current folder.
    SIGTERM lets it finish what runs and leave; a second one hands unfinished jobs back at once.

    Exit codes: 0 it has left as it was told, 1 it could not start, 70 somebody else has its jobs or its name.

    - `paceline run --app shop.jobs:jobs --pool builds --slots 8`
    - `paceline run --app shop.jobs:jobs --group ci/builds --name laptop --taint dev:NoClaim`
    - `paceline run --app shop.jobs:jobs --gateway https://gateway.example.com --token-file token --listen none`
    """
    from paceline.errors import InvalidInputError, PacelineError

    _begin()
    try:
        dialled = gateway_of(context, gateway, token_file, gateway_ca)
        if not database_url and not dialled:
            raise InvalidInputError(NO_URL)
        jobs, settings = _prepared(
            app, gateway=dialled, database_url="" if dialled else database_url, listen_url=listen_url,
            name=name, pool=pool, group=group, tags=tags,
            taints=taints, slots=slots, batch=batch_size, dispatchers=dispatchers, heartbeat=heartbeat, lease=stale,
            tick=tick / 1000, drain_timeout=drain_timeout, grace=grace, max_jobs=max_jobs, listen=listen,
            install=install, pod_name=pod_name, pod_uid=pod_uid, revision=revision,
        )  # fmt: skip
        _serve(jobs, settings, app, log_format.value, log_level)
    except PacelineError as error:
        typer.secho(f"error: {' '.join(str(error).split())}", err=True, fg=typer.colors.RED)
        raise typer.Exit(1) from None


def _begin() -> None:
    """Whoever tells us to leave before we have begun is obeyed at once, also by process 1 of a container."""
    from paceline_runner.init import be_init

    be_init()
    leave_when_told()


def project_defaults() -> dict[str, object]:
    """What `[tool.paceline]` of pyproject.toml in the current folder says about `paceline run`."""
    import tomllib
    from inspect import signature
    from pathlib import Path

    path = Path("pyproject.toml")
    if not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("paceline", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"pyproject.toml cannot be read: {error}") from None
    options = [each for each in signature(run).parameters if each != "context"]
    known = {OPTION_NAMES.get(each, each).replace("_", "-"): each for each in options}
    for key in table:
        if key not in known:
            raise typer.BadParameter(
                f'[tool.paceline] in pyproject.toml has "{key}", which is no option of paceline run '
                f"(there are: {', '.join(sorted(known))})"
            )
    return {known[key]: ",".join(value) if isinstance(value, list) else value for key, value in table.items()}


def _prepared(app: str, **given: Any) -> "tuple[Jobs, Settings]":
    from paceline.errors import InvalidInputError

    try:
        from paceline_runner.app import load
        from paceline_runner.settings import Settings, made_up_name, parse_group, parse_listen

        if given["gateway"]:
            import paceline_runner.gateway.way  # noqa: F401 -- to see whether it is there
    except ModuleNotFoundError as error:
        raise InvalidInputError(f"{NOT_INSTALLED} (there is no {error.name})") from None

    listen = given.pop("listen")
    host, port = parse_listen(listen) if listen not in NO_PORT else ("", None)
    group = given.pop("group")
    namespace, group_name = parse_group(group) if group else ("", None)
    given["name"] = given["name"] or ("" if given["gateway"] else made_up_name())
    given["tags"] = tuple(tag.strip() for tag in given["tags"].split(",") if tag.strip())
    settings = Settings(host=host, port=port, namespace=namespace, group=group_name,
                        external=given["pod_uid"] is None, **given)  # fmt: skip
    return load(app), settings


def _serve(jobs: "Jobs", settings: "Settings", app: str, log_format: Any, log_level: str) -> NoReturn:
    import asyncio

    from paceline.logs import set_up
    from paceline_runner.overheard import overhear
    from paceline_runner.runner import Runner, leave_at_once

    set_up(log_format, log_level)
    overhear()

    async def live() -> int:
        return await Runner(settings, jobs, app).run()

    loop: asyncio.AbstractEventLoop
    try:
        import uvloop
    except ModuleNotFoundError:  # there is none for Windows
        loop = asyncio.new_event_loop()
    else:
        loop = uvloop.new_event_loop()
    asyncio.set_event_loop(loop)
    leave_at_once(loop.run_until_complete(live()))
