"""`paceline gateway`: HTTP for producers and callers, and a way in for runners that dial out."""

from pathlib import Path
from typing import Annotated, Final

import typer

from paceline_cli.early import leave_when_told
from paceline_cli.options import URL_VARIABLES, LogForm, LogFormatOption, LogLevelOption, address

NOT_INSTALLED: Final = 'the gateway is not installed here: pip install "paceline[gateway]"'
TWO_WAYS: Final = (
    "the database is named twice: leave out --database-secret (PACELINE_DATABASE_SECRET), or the URLs "
    "(--database-url, --listen-url and their variables)"
)


def gateway(
    database_url: Annotated[
        str | None,
        typer.Option(envvar=list(URL_VARIABLES), metavar="URL",
                     help="The database; its login needs the role gateway."),
    ] = None,
    listen_url: Annotated[
        str | None,
        typer.Option(envvar="PACELINE_LISTEN_URL", metavar="URL",
                     help="A way to it past PgBouncer, for wake-ups."),
    ] = None,
    database_secret: Annotated[
        Path | None,
        typer.Option(envvar="PACELINE_DATABASE_SECRET", metavar="FOLDER",
                     help="Where a Secret with both is mounted, as url and listenUrl; read again when it changes."),
    ] = None,
    listen: Annotated[
        str, typer.Option(envvar="PACELINE_GATEWAY_LISTEN", metavar="HOST:PORT", help="Where callers come in.")
    ] = "0.0.0.0:8000",
    connections: Annotated[
        int, typer.Option(envvar="PACELINE_GATEWAY_CONNECTIONS", metavar="N", help="Most connections to the database.")
    ] = 10,
    max_body: Annotated[
        int, typer.Option(envvar="PACELINE_MAX_BODY", metavar="BYTES", help="The largest request.")
    ] = 16 * 2**20,
    max_requests: Annotated[
        int, typer.Option(envvar="PACELINE_MAX_REQUESTS", metavar="N",
                          help="Most requests at once; those that wait count too.")
    ] = 10_000,
    tls_cert: Annotated[
        str | None, typer.Option(envvar="PACELINE_TLS_CERT", metavar="FILE", help="Serve HTTPS with this certificate.")
    ] = None,
    tls_key: Annotated[
        str | None, typer.Option(envvar="PACELINE_TLS_KEY", metavar="FILE", help="And its key.")
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(envvar="PACELINE_ORIGINS", metavar="URL",
                     help="A web page from elsewhere that may call; may be repeated."),
    ] = None,
    trust_proxy: Annotated[
        list[str] | None,
        typer.Option(envvar="PACELINE_TRUST_PROXY", metavar="ADDRESS",
                     help="A proxy, or a network of them, whose X-Forwarded-For is believed; may be repeated."),
    ] = None,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Ask for no token; on a loopback address only.")
    ] = False,
    leave: Annotated[
        float, typer.Option(envvar="PACELINE_LEAVE_SECONDS", metavar="SECONDS",
                            help="How long it is unready before it closes.")
    ] = 5.0,
    log_format: LogFormatOption = LogForm.AUTO,
    log_level: LogLevelOption = "info",
) -> None:  # fmt: skip
    """Serve producers, callers who wait, runners that dial out, and the cluster API over HTTP."""
    leave_when_told()
    from paceline.errors import InvalidInputError, PacelineError
    from paceline.logs import set_up
    from paceline_cli.run import NO_URL

    try:
        if database_secret is not None and (database_url or listen_url):
            raise InvalidInputError(TWO_WAYS)
        if database_secret is None and not database_url:
            raise InvalidInputError(NO_URL)
        host, port = address("--listen", listen, "0.0.0.0:8000")
        from paceline_gateway.settings import Settings  # quick; what serves takes a second

        settings = Settings(
            database_url=database_url or "", listen_url=listen_url, database_secret=database_secret, host=host,
            port=port, connections=connections, max_body=max_body, tls_certificate=tls_cert, tls_key=tls_key,
            origins=tuple(origin or ()), leave_seconds=leave, max_requests=max_requests, auth=not no_auth,
            proxies=tuple(trust_proxy or ()),
        )  # fmt: skip
        set_up(log_format.value, log_level)
        import asyncio

        try:
            import uvloop

            from paceline_gateway.serve import serve
        except ModuleNotFoundError as error:
            raise InvalidInputError(f"{NOT_INSTALLED} (there is no {error.name})") from None
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(settings))
    except PacelineError as error:
        typer.secho(f"error: {' '.join(str(error).split())}", err=True, fg=typer.colors.RED)
        raise typer.Exit(1) from None


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    app.command("gateway", short_help="Serve HTTP: producers, callers, runners that dial out.")(gateway)
