"""`paceline report`: the command."""

import contextlib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from paceline.errors import PacelineError
from paceline_cli.cluster import AllNamespaces, Namespace, reached
from paceline_cli.run import Session, command

if TYPE_CHECKING:
    from paceline_cli.report.clean import Cleaner
    from paceline_cli.report.collect import Collector

LEFT_OUT: Final = {
    "data of Secrets": "never collected: their keys are shown",
    "ConfigMaps, other Secrets and other workloads": "not looked at",
    "runner_logs": "handlers print into them: ask for them with --runner-logs",
    "payloads": "payloads, results, progress and output of jobs are their owners': ask for them with --payloads",
}


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    command(app, "report", source=True)(report)


async def report(
    session: Session,
    file: Annotated[
        Path | None,
        typer.Option(metavar="FILE.tar.gz", show_default="paceline-report-TIME.tar.gz", help="Where to write it."),
    ] = None,
    payloads: Annotated[
        bool, typer.Option("--payloads", help="Keep what jobs carry: payload, result, progress and output.")
    ] = False,
    runner_logs: Annotated[
        bool, typer.Option("--runner-logs", help="Also the logs of runners, into which handlers print.")
    ] = False,
    everywhere: AllNamespaces = False,
    namespace: Namespace = None,
) -> None:
    """Write a support bundle: objects, events, versions, logs of operator and gateway, and how the queue stands.

    Secrets are removed: the data of Secrets, tokens, passwords in URLs, env values that look like one. What was left
    out and why is in manifest.json. Read it before you send it to anybody. What cannot be had is written down there
    too, and does not keep the rest away.

    - `kubectl paceline report -n ci`
    - `kubectl paceline report -A --file report.tar.gz`
    """
    from paceline_cli.report.bundle import Bundle
    from paceline_cli.report.clean import Cleaner
    from paceline_cli.report.collect import Collector

    now = datetime.now(UTC)
    path = file or Path(f"paceline-report-{now:%Y%m%d-%H%M%S}.tar.gz")
    cleaner = Cleaner(payloads)
    with Bundle(path) as bundle:
        collector = Collector(bundle, cleaner, session.out.note)
        scope = await _collect(session, collector, namespace, everywhere, runner_logs)
        if not bundle.files:
            raise PacelineError("nothing could be collected: " + "; ".join(each["why"] for each in collector.failed))
        manifest = _manifest(collector, cleaner, now, scope, payloads, runner_logs)
        bundle.add_json("manifest.json", manifest)
    session.out.tell(
        {"file": str(path), "files": len(bundle.files), "removed": len(cleaner.removed), "failed": collector.failed},
        f"{path}: {len(bundle.files)} files, {len(cleaner.removed)} values removed, {len(collector.failed)} parts "
        "could not be had; manifest.json in it says which. Read it before you send it to anybody",
    )


async def _collect(
    session: Session, collector: "Collector", namespace: str | None, everywhere: bool, runner_logs: bool
) -> str | None:
    """From wherever something can be had; the namespace that it is about, None for all."""
    scope = None if everywhere else namespace
    async with contextlib.AsyncExitStack() as stack:
        with collector.trying("the cluster"):
            way = reached(namespace, session.reach.context, session.reach.kubeconfig, everywhere=everywhere)
            where = await stack.enter_async_context(way)
            scope = where.scope
            await collector.objects(where)
            await collector.secrets(where)
            await collector.events(where)
            async with where.streams() as streams:
                await collector.logs(where, streams, runner_logs)
        with collector.trying("the queue"):
            source = await stack.enter_async_context(session.source())
            await collector.queue(source, scope)
    return scope


def _manifest(
    collector: "Collector", cleaner: "Cleaner", now: datetime, scope: str | None, payloads: bool, runner_logs: bool
) -> dict[str, Any]:
    import platform
    from importlib.metadata import version

    kept = {"payloads": payloads, "runner_logs": runner_logs}
    return {
        "made": now.isoformat(), "paceline": version("paceline"), "python": platform.python_version(),
        "system": platform.platform(), "namespace": scope or "all",
        "files": collector.bundle.files,
        "removed": [{"file": each.file, "where": each.where, "why": each.why} for each in cleaner.removed],
        "left_out": [
            {"what": name.replace("_", " "), "why": why} for name, why in LEFT_OUT.items() if not kept.get(name)
        ],
        "failed": collector.failed,
    }  # fmt: skip
