"""`paceline drain`: let a runner finish and leave, on this machine or in the cluster."""

import sys
from typing import Annotated, Any

import typer

from paceline_cli.cluster import Context, KubeconfigFile, Namespace, reached
from paceline_cli.complete import targets
from paceline_cli.options import Format, duration
from paceline_cli.output import Output
from paceline_cli.run import Session, run
from paceline_cli.runner import DEFAULT_LISTEN


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    app.command("drain", short_help="Let a Runner, a group or the runner on this machine finish and leave.")(drain)


def drain(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", autocompletion=targets,
            help="A Runner or a RunnerGroup of the cluster; without it the runner on this machine is meant.",
        ),
    ] = None,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: KubeconfigFile = None,
    listen: Annotated[
        str, typer.Option(envvar="PACELINE_LISTEN", metavar="HOST:PORT", help="Where the runner serves its probes.")
    ] = DEFAULT_LISTEN,
    wait: Annotated[bool, typer.Option("--wait", help="Return when nothing runs any more.")] = False,
    timeout: Annotated[
        Any, typer.Option(parser=duration, metavar="DURATION", help="With --wait: how long at most.")
    ] = "1h",
    as_json: Annotated[bool, typer.Option("--json", help="With a name: the answer as JSON.")] = False,
) -> None:  # fmt: skip
    """Let a Runner, all runners of a group, or the runner on this machine claim nothing more, finish and leave.

    With a name it sets the annotation paceline.dev/drain, and the operator does the rest, until `undrain`. Without one
    it asks the runner that listens here: calling it again does no harm, and a runner that is gone already is no error.
    This is what the preStop hook runs.

    - `kubectl paceline drain builds-7xk2p -n ci`
    - `kubectl paceline drain group/builds -n ci`
    - `paceline drain --wait`
    """
    if name is not None:
        _drain_in_cluster(name, namespace, context, kubeconfig, as_json)
        return
    if namespace is not None or context is not None:
        raise typer.BadParameter("say which Runner or RunnerGroup of the cluster is meant", param_hint="'NAME'")
    import http.client
    from urllib.parse import urlencode

    from paceline_runner.settings import parse_listen

    host, port = parse_listen(listen)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 -- the address to listen on, not to ask
    connection = http.client.HTTPConnection(host, port, timeout=timeout.total_seconds() if wait else 10)
    try:
        connection.request("POST", "/drain?" + urlencode({"wait": "true" if wait else "false"}))
        answer = connection.getresponse().read().decode()
    except ConnectionRefusedError:
        typer.echo(f"no runner listens on {host}:{port}: it has left already")
        return
    except (ConnectionError, http.client.HTTPException):  # it ended while we waited: that is what we waited for
        typer.echo("drained")
        return
    except TimeoutError:
        typer.echo(f"error: it still works after {timeout}", err=True)
        raise typer.Exit(4) from None
    typer.echo(answer if not wait else "drained")
    sys.stdout.flush()


def _drain_in_cluster(
    name: str, namespace: str | None, context: str | None, kubeconfig: str | None, as_json: bool
) -> None:
    from paceline_cli.levers import drain as pull

    session = Session(None, Output(Format.JSON if as_json else Format.TABLE))

    async def work() -> None:
        async with reached(namespace, context, kubeconfig) as where:
            await pull(session, name, where)

    run(session, work)
