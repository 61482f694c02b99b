"""Names for the shell's completion, from the cluster: quick, and silent when it cannot be asked."""

import contextlib
import io
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any, Final

import typer

if TYPE_CHECKING:
    from paceline_operator.ports.resources import ResourceKind

SECONDS: Final = 5.0
"""Whoever waits for longer for the API server has typed the name by then."""
NO_FILES: Final = ":4"
"""What kubectl wants as the last line: these are all, names of files are none of them."""


def groups(context: typer.Context, incomplete: str) -> list[str]:
    """RunnerGroups."""
    return _names(context.params, incomplete, "group")


def runners(context: typer.Context, incomplete: str) -> list[str]:
    """Runners."""
    return _names(context.params, incomplete, "runner")


def targets(context: typer.Context, incomplete: str) -> list[str]:
    """Both."""
    return _names(context.params, incomplete, "group", "runner")


def namespaces(context: typer.Context, incomplete: str) -> list[str]:
    """Of the cluster."""
    return _names(context.params, incomplete, "namespace")


def _names(given: dict[str, Any], incomplete: str, *kinds: str) -> list[str]:
    import asyncio

    from paceline_cli.cluster import reached
    from paceline_operator.ports.resources import NAMESPACE, RUNNER, RUNNER_GROUP

    resources: dict[str, ResourceKind] = {"group": RUNNER_GROUP, "runner": RUNNER, "namespace": NAMESPACE}

    async def ask() -> list[str]:
        names: list[str] = []
        async with (
            asyncio.timeout(SECONDS),
            reached(given.get("namespace"), given.get("context"), given.get("kubeconfig")) as where,
        ):
            for kind in kinds:
                scope = None if kind == "namespace" else where.namespace
                names += [str(each["metadata"]["name"]) for each in await where.cluster.list(resources[kind], scope)]
        return names

    try:
        with contextlib.redirect_stderr(io.StringIO()):
            found = asyncio.run(ask())
    except Exception:  # noqa: BLE001, RUF100 -- whatever it is, a line that is being typed is no place to say it
        return []
    return sorted(name for name in found if name.startswith(incomplete))


def kubectl_main() -> None:
    """`kubectl_complete-paceline`: kubectl runs it with the words so far, the last one to be completed."""
    from paceline_cli.main import app

    *words, last = sys.argv[1:] or [""]
    line = shlex.join(["paceline", *words]) + " " + (shlex.quote(last) if last else "")
    # typer answers fish in the very form that kubectl wants: a word, a tab, and what it means
    asked = {
        "_PACELINE_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_ARGS": line,
    }  # fmt: skip
    os.environ.update(asked)
    said = io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(said):
        app(prog_name="paceline")
    # a long meaning is broken into lines: only those with a tab, or of one word, are something to be chosen
    lines = [line for line in said.getvalue().splitlines() if "\t" in line or len(line.split()) == 1]
    sys.stdout.write("\n".join([*lines, NO_FILES]) + "\n")
