"""`paceline token`: what lets somebody in at a gateway who has no database login."""

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from paceline_cli.options import duration
from paceline_cli.output import Column, ago
from paceline_cli.run import Session, command

if TYPE_CHECKING:
    from datetime import datetime

    from paceline.tokens import TokenSeen

WORDS: Final = {"rk": "runner", "pk": "producer", "ak": "admin"}
_ID = re.compile(r"[0-9a-z]{12}")
_WHOLE = re.compile(r"(?:rk|pk|ak)_([0-9a-z]{12})(?:_.*)?", re.DOTALL)

app = typer.Typer(no_args_is_help=True, help="Tokens for a gateway: make, list, revoke.")


@command(app, "create", source=True)
async def create(
    session: Session,
    runner: Annotated[str | None, typer.Option(metavar="NAME", help="For the runner of this name.")] = None,
    producer: Annotated[bool, typer.Option("--producer", help="For somebody who enqueues and follows jobs.")] = False,
    admin: Annotated[bool, typer.Option("--admin", help="For people, and for the cluster API.")] = False,
    group: Annotated[str | None, typer.Option(metavar="[NAMESPACE/]NAME", help="Of a runner: its RunnerGroup.")] = None,
    pool: Annotated[str | None, typer.Option(metavar="POOL", help="The only pool that it is good for.")] = None,
    install: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose group, where several operators share a database.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Of an admin: only for looking.")] = False,
    expires: Annotated[
        timedelta | None, typer.Option(parser=duration, metavar="DURATION", help="Worth nothing after this time.")
    ] = None,
    note: Annotated[str, typer.Option(metavar="TEXT", help="What it is for, to be seen in the list.")] = "",
) -> None:
    """Make a token. It is shown once: only its hash is kept.

    Through a gateway only an admin's token makes others, and none that does more, for more pools, or for longer.

    - `paceline token create --runner laptop --group ci/builds`
    - `paceline token create --producer --pool builds --expires 90d`
    - `paceline token create --admin --read-only --note dashboard`
    """
    from paceline.tokens import NewToken

    if (runner is not None) + producer + admin != 1:
        raise typer.BadParameter("say for whom: --runner NAME, --producer or --admin (one of them)")
    if read_only and not admin:
        raise typer.BadParameter("it goes with --admin", param_hint="'--read-only'")
    namespace, _, name = (group or "").rpartition("/")
    new = NewToken(
        kind="rk" if runner else "pk" if producer else "ak", pool=pool, group=name or None,
        namespace=(namespace or "default") if group else "", install=install, runner=runner, read_only=read_only,
        note=note, expires=expires,
    )  # fmt: skip
    async with session.source() as source:
        token = await source.create_token(new)
    session.out.tell({"token": token, "id": token.split("_")[1]}, token)
    session.out.note("keep it now: it is not shown again")


@command(app, "list", source=True)
async def list_tokens(session: Session) -> None:
    """List tokens, the newest first; their secrets are nowhere to be had."""
    async with session.source() as source:
        found, now = await source.list_tokens(), await source.now()
    session.out.rows(found, _columns(now), none="no tokens: make one with paceline token create")


@command(app, "revoke", source=True)
async def revoke(
    session: Session,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Ids of tokens, as the list shows them.")],
) -> None:
    """Make tokens worth nothing, at once; runners that registered with one are fenced.

    A whole token is taken for its id; its secret is not shown again.
    """
    from paceline.errors import NotFoundError

    numbers = list(dict.fromkeys(_id(place, each, session) for place, each in enumerate(ids, 1)))
    done: dict[str, list[str]] = {"revoked": [], "revoked_before": [], "unknown": []}
    async with session.source() as source:
        for number in numbers:
            try:
                word = "revoked" if await source.revoke_token(number) else "revoked_before"
            except NotFoundError:
                word = "unknown"
            done[word].append(number)
    said = [(len(done["revoked"]), "revoked"), (len(done["revoked_before"]), "had been before")]
    session.out.tell(done, ", ".join(f"{many} {what}" for many, what in said if many) or "nothing was revoked")
    if done["unknown"]:
        raise NotFoundError(f"there is no token {', '.join(done['unknown'])} that you may revoke: see the list")


def _id(place: int, given: str, session: Session) -> str:
    """The id in what was given, which may be a secret: no error shows it."""
    if found := _WHOLE.fullmatch(given):
        session.out.note(f"argument {place} is a whole token: taken for its id, {found.group(1)}")
        return found.group(1)
    if not _ID.fullmatch(given):
        raise typer.BadParameter(
            f"argument {place} is no id of a token (12 letters and digits, as the list shows them)"
        )
    return given


def _columns(now: "datetime") -> "list[Column[TokenSeen]]":
    return [
        Column("id", lambda each: each.id),
        Column("for", lambda each: WORDS[each.kind] + (" (reads only)" if each.read_only else "")),
        Column("pool", lambda each: each.pool or "*", flex=True),
        Column("runner", lambda each: each.runner, flex=True),
        Column("group", lambda each: f"{each.namespace}/{each.group}" if each.group else None, flex=True),
        Column("install", lambda each: each.install, wide=True),
        Column("state", lambda each: each.state),
        Column("used", lambda each: ago(each.used_at, now)),
        Column("made", lambda each: ago(each.created_at, now)),
        Column("by", lambda each: each.created_by, wide=True),
        Column("expires", lambda each: ago(each.expires_at, now)),
        Column("note", lambda each: each.note, flex=True),
    ]
