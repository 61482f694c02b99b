"""`paceline migrate`: bring a database to the schema of this version."""

from typing import TYPE_CHECKING, Annotated

import typer

from paceline_cli.run import Session, command

if TYPE_CHECKING:
    from paceline.migrate import Migration


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    command(app, "migrate")(migrate)


async def migrate(
    session: Session,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the SQL that would be applied, and write nothing.")
    ] = False,
    to: Annotated[
        int | None, typer.Option(metavar="N", help="Only up to this version; the newest if not given.")
    ] = None,
) -> None:
    """Bring the database to the schema of this version.

    Safe to call at every start and by many at once: what is applied already is left alone, everything happens in one
    transaction, and runners go on working meanwhile. There is no way back: a newer schema serves older runners too.
    """
    from paceline.migrate import migrations

    known = [each.version for each in migrations()]
    if to is not None and to not in known:
        raise typer.BadParameter(
            f"there is no schema version {to} (this paceline knows {known[0]} to {known[-1]})", param_hint="'--to'"
        )
    if dry_run:
        await _show(session, to or known[-1])
    else:
        await _apply(session, to)


async def _apply(session: Session, to: int | None) -> None:
    from paceline.database import Address
    from paceline.migrate import migrate as apply
    from paceline.migrate import migrations

    place = Address.parse(session.url).place
    applied = await apply(session.url, to=to)
    version = max([to or migrations()[-1].version, *(each.version for each in applied)])
    names = ", ".join(_name(each) for each in applied)
    session.out.tell(
        {"applied": [_plain(each) for each in applied], "version": version},
        f"applied {names} to {place}" if applied else f"{place} lacks nothing up to schema version {version}",
    )


async def _show(session: Session, to: int) -> None:
    from paceline.admin import missing_migrations
    from paceline.migrate import BOOTSTRAP

    async with session.database() as database:
        there, missing = await missing_migrations(database)
        place = database.address.place
    missing = [each for each in missing if each.version <= to]
    if session.out.json:
        bootstrap = None if there else BOOTSTRAP
        session.out.write_json(
            {"bootstrap": bootstrap, "pending": [{**_plain(each), "sql": each.sql} for each in missing]}
        )
        return
    if not missing:
        session.out.note(f"{place} lacks nothing up to schema version {to}")
        return
    parts = [] if there else [f"-- the record of what was applied\n{BOOTSTRAP}"]
    parts += [f"-- schema version {_name(each)}\n{each.sql}" for each in missing]
    session.out.write("\n".join(parts))
    session.out.note(f"dry run: {len(missing)} to apply to {place}; nothing was written")


def _name(migration: "Migration") -> str:
    return f"{migration.version:04}_{migration.name}"


def _plain(migration: "Migration") -> dict[str, object]:
    return {"version": migration.version, "name": migration.name, "digest": migration.digest}
