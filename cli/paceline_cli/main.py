"""The entry points. Packages behind a command are imported when it is called: `--help` must be quick."""

from importlib.metadata import version
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"paceline {version('paceline')}")
        raise typer.Exit


@app.callback()
def paceline(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Runner pools for Kubernetes, fed from Postgres."""


def main() -> None:
    """`paceline`."""
    app(prog_name="paceline")


def kubectl_main() -> None:
    """`kubectl paceline`: kubectl runs the program kubectl-paceline, and help must name what the user typed."""
    app(prog_name="kubectl paceline")
