"""`paceline pool grant`, `revoke` and `grants`: which logins and namespaces may use a pool."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from paceline_cli.options import NamedPool
from paceline_cli.output import Column
from paceline_cli.run import Session, command

if TYPE_CHECKING:
    from paceline.seen import Grant

GrantedPool = Annotated[
    str, typer.Argument(metavar="POOL", help="A pool; '*', in quotes, is every pool (for logins only).")
]
Login = Annotated[str | None, typer.Option("--login", metavar="LOGIN", help="A login of the database server.")]
Namespace = Annotated[str | None, typer.Option("--namespace", metavar="NAMESPACE", help="A Kubernetes namespace.")]


GRANTS: "list[Column[Grant]]" = [
    Column("pool", lambda each: each.pool or "*"),
    Column("login", lambda each: each.login, flex=True),
    Column("role", lambda each: each.role),
    Column("namespace", lambda each: each.namespace, flex=True),
]


class Role(StrEnum):
    """What a login may do on a pool."""

    RUNNER = "runner"
    PRODUCER = "producer"
    READER = "reader"
    GATEWAY = "gateway"
    OPERATOR = "operator"


As = Annotated[Role | None, typer.Option("--as", metavar="|".join(Role), help="With --login: what it may do there.")]


def add_to(app: typer.Typer) -> None:
    """Make them commands of the group `pool`."""
    command(app, "grant")(grant)
    command(app, "revoke")(revoke)
    command(app, "grants")(grants)


async def grant(
    session: Session, pool: GrantedPool, login: Login = None, role: As = None, namespace: Namespace = None
) -> None:
    """Let a login use a pool, or let RunnerGroups of another namespace serve it.

    A pool belongs to the namespace that first served it. Logins of the server are made by its administrator
    (`CREATE ROLE ci LOGIN PASSWORD ...`); here they get what they may do. Only the schema's owner may do this; for
    namespaces an operator's login may too.

    - `paceline pool grant builds --login ci --as producer`
    - `paceline pool grant '*' --login paceline-operator --as operator`
    - `paceline pool grant builds --namespace team-b`
    """
    from paceline import admin

    who = _who(pool, login, role, namespace)
    async with session.database() as database:
        if isinstance(who, str):
            new = await admin.grant_namespace(database, pool, who)
            answer: dict[str, object] = {"pool": pool, "namespace": who, "new": new}
            text = f"namespace {who} may serve pool {pool}" + ("" if new else " (it could already)")
        else:
            name, word = who
            await admin.grant_login(database, name, word, pool)
            if not await admin.has_login(database, name):
                session.out.note(f'note: the server has no login "{name}" yet: CREATE ROLE "{name}" LOGIN PASSWORD ...')
            answer = {"pool": pool, "login": name, "role": word}
            text = f"login {name} is {word} of {_pools(pool)}"
    session.out.tell(answer, text)


async def revoke(
    session: Session, pool: GrantedPool, login: Login = None, role: As = None, namespace: Namespace = None
) -> None:
    """Take a grant away.

    Runners that registered with a login that may no longer be one are fenced at once, and their jobs go back.
    RunnerGroups of a namespace are refused at their next change.
    """
    from paceline import admin
    from paceline.errors import NotFoundError

    who = _who(pool, login, role, namespace)
    async with session.database() as database:
        if isinstance(who, str):
            if not await admin.revoke_namespace(database, pool, who):
                raise NotFoundError(f"namespace {who} has no grant on pool {pool}: nothing was changed")
            answer: dict[str, object] = {"pool": pool, "namespace": who}
            text = f"namespace {who} may no longer serve pool {pool}"
        else:
            name, word = who
            await admin.revoke_login(database, name, word, pool)
            answer = {"pool": pool, "login": name, "role": word}
            text = f"login {name} is no longer {word} of {_pools(pool)}"
    session.out.tell(answer, text)


async def grants(session: Session, named: NamedPool = None) -> None:
    """List who may use a pool, or any: logins with what they may do, and namespaces besides the pool's own.

    The schema's owner sees everything, an operator the grants of its pools, everybody else his own.
    """
    from paceline import admin

    async with session.database() as database:
        found = await admin.list_grants(database, named)
    session.out.rows(found, GRANTS, none="no grants that this login may see")


def _who(pool: str, login: str | None, role: Role | None, namespace: str | None) -> str | tuple[str, str]:
    """A namespace, or a login and its role."""
    from paceline.admin import ANY_POOL

    if (login is None) == (namespace is None):
        raise typer.BadParameter("give --login with --as, or --namespace", param_hint="'--login'")
    if login is not None:
        if role is None:
            raise typer.BadParameter(f"say what {login} may do ({', '.join(Role)})", param_hint="'--as'")
        return login, role.value
    if role is not None:
        raise typer.BadParameter("it goes with --login (leave it out)", param_hint="'--as'")
    if pool == ANY_POOL:
        raise typer.BadParameter("a namespace gets one pool at a time", param_hint="'POOL'")
    assert namespace is not None
    return namespace


def _pools(pool: str) -> str:
    from paceline.admin import ANY_POOL

    return "every pool" if pool == ANY_POOL else f"pool {pool}"
