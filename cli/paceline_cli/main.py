"""The entry points. Packages behind a command are imported when it is called: `--help` must be quick."""

from typing import Annotated

import typer

from paceline_cli import (
    cron,
    database,
    dead,
    dev,
    drain,
    enqueue,
    explain,
    gateway,
    grant,
    jobs,
    levers,
    logs,
    migrate,
    operator,
    pool,
    promote,
    rollout,
    runner,
    status,
    token,
    top,
    webhook,
)
from paceline_cli.report import command as report
from paceline_cli.simulate import command as simulate

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,  # they would show local variables, and with them a password
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"paceline {version('paceline')}")
        raise typer.Exit


@app.callback()
def paceline(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 -- its callback does it
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Runner pools for Kubernetes, fed from Postgres."""
    if context.invoked_subcommand == "run":
        context.default_map = {"run": runner.project_defaults()}


enqueue.add_to(app)
status.add_to(app)
top.add_to(app)
logs.add_to(app)
app.add_typer(jobs.app, name="jobs")
app.add_typer(dead.app, name="dead")
app.add_typer(cron.app, name="cron")
grant.add_to(pool.app)
app.add_typer(pool.app, name="pool")
migrate.add_to(app)
app.add_typer(database.app, name="database")
runner.add_to(app)
drain.add_to(app)
levers.add_to(app)
operator.add_to(app)
app.add_typer(webhook.app, name="webhook")
gateway.add_to(app)
app.add_typer(token.app, name="token")
promote.add_to(app)
explain.add_to(app)
simulate.add_to(app)
rollout.add_to(app)
report.add_to(app)
dev.add_to(app)


def main() -> None:
    """`paceline`."""
    app(prog_name="paceline")


def kubectl_main() -> None:
    """`kubectl paceline`: kubectl runs the program kubectl-paceline, and help must name what the user typed."""
    app(prog_name="kubectl paceline")
