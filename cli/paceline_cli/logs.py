"""`paceline logs`: what a job's attempts wrote, or what runners' pods say."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from paceline_cli.cluster import Namespace, reached
from paceline_cli.complete import targets
from paceline_cli.options import duration
from paceline_cli.run import NOT_SUCCEEDED, Session, command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paceline.seen import Attempt, JobDetail
    from paceline_cli.source.port import Source

EVERY: Final = 1.0
JOB: Final = "job/"
ENDED: Final = ("done", "cancelled", "expired", "dead")


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    command(app, "logs", source=True)(logs)


async def logs(
    session: Session,
    what: Annotated[
        str,
        typer.Argument(
            metavar="JOB|RUNNER|GROUP",
            autocompletion=targets,
            help="A job's id, or job/ID; or the name of a Runner or a RunnerGroup.",
        ),
    ],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until it ends, or Ctrl-C.")] = False,
    tail: Annotated[int | None, typer.Option(metavar="N", min=0, help="Of a pod: its last lines.")] = None,
    since: Annotated[
        timedelta | None, typer.Option(parser=duration, metavar="DURATION", help="Of a pod: not older than this.")
    ] = None,
    previous: Annotated[
        bool, typer.Option("--previous", "-p", help="Of a pod: of its container before the last restart.")
    ] = False,
    namespace: Namespace = None,
) -> int:
    """Show what a job's attempts have written (the last 64 KiB of each), or the logs of runners' pods.

    With `-f` the exit code tells how a job ended: 0 done, 3 dead, cancelled or expired. Of a group all pods are shown,
    each line with the pod's name, and `-f` follows those that come later too.

    - `kubectl paceline logs 4711 -f`
    - `kubectl paceline logs builds-7xk2p -n ci --tail 100`
    - `kubectl paceline logs group/builds -n ci -f`
    """
    if what.startswith(JOB) or what.isdecimal():
        number = what.removeprefix(JOB)
        if not number.isdecimal():
            raise typer.BadParameter(f'"{number}" is no id of a job (a number, as enqueue and list show it)')
        async with session.source() as source:
            return await _job(session, source, int(number), follow)
    async with reached(namespace, session.reach.context, session.reach.kubeconfig) as where:
        from paceline_cli.logs_pods import show_logs

        await show_logs(where, what, query_of(follow, tail, since, previous))
    return 0


def query_of(follow: bool, tail: int | None, since: timedelta | None, previous: bool) -> dict[str, str]:
    """As the API server is asked."""
    found = {"follow": "true"} if follow else {}
    found |= {"previous": "true"} if previous else {}
    found |= {} if tail is None else {"tailLines": str(tail)}
    return found | ({} if since is None else {"sinceSeconds": str(max(1, round(since.total_seconds())))})


async def _job(session: Session, source: "Source", number: int, follow: bool) -> int:
    import asyncio

    from paceline_cli.jobs import found_job

    job, attempts = await found_job(source, number)
    if session.out.json:
        session.out.write_json(attempts)
        return 0
    shown = Shown(session)
    shown.attempts(attempts)
    if not follow:
        if not attempts:
            session.out.note(_nothing(job))
        return 0
    while job.state not in ENDED:
        await asyncio.sleep(EVERY)
        job, attempts = await found_job(source, number)
        shown.attempts(attempts)
    session.out.note(f"job {job.id} is {job.state}" + (f": {job.error}" if job.error else ""))
    return 0 if job.state == "done" else NOT_SUCCEEDED


def _nothing(job: "JobDetail") -> str:
    more = ": --follow waits for more" if job.state not in ENDED else "; an attempt that succeeds silently is not kept"
    return f"job {job.id} is {job.state}, and no attempt of it has written anything{more}"


class Shown:
    """What of a job's output was written already: of each attempt only what is new comes."""

    def __init__(self, session: Session) -> None:
        """Nothing yet."""
        self._out = session.out
        self._known: dict[int, str] = {}
        self._ended: set[int] = set()

    def attempts(self, attempts: "Sequence[Attempt]") -> None:
        """Write what is new, the oldest attempt first."""
        for each in reversed(attempts):
            if each.fence not in self._known:
                self._out.heading(f"Attempt {each.fence} on {each.runner or 'a runner'}")
            known = self._known.get(each.fence, "")
            fresh = new_part(known, each.output or "")
            self._known[each.fence] = each.output or known
            if fresh:
                self._out.write(clean(fresh))
            if each.ended_at is not None and each.fence not in self._ended:
                self._ended.add(each.fence)
                why = f" ({each.cause})" if each.cause else ""
                self._out.write(f"-- {each.outcome}{why}" + (f": {clean(each.error)}" if each.error else ""))
        self._out.flush()


def new_part(known: str, now: str) -> str:
    """What has been added to a text of which only the end is kept."""
    if now.startswith(known):
        return now[len(known) :]
    for start in range(len(known)):  # its beginning was dropped meanwhile: look where the rest goes on
        if now.startswith(known[start:]):
            return now[len(known) - start :]
    return now


def clean(text: str) -> str:
    """What a handler prints must not move the cursor."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)
