"""The way to the database, where a mounted Secret has it: read again, so that a login changes without a restart.

A gateway that restarts sends callers who wait away, and a thousand runners to another one. One that finds another login
makes its connections anew, each when nobody uses it.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from paceline.database import Address, Database
from paceline.errors import InvalidInputError, PacelineError
from paceline.line import Lines
from paceline.tokens import Tokens

URL: Final = "url"
LISTEN_URL: Final = "listenUrl"
LOOK_SECONDS: Final = 5.0
"""A kubelet takes up to a minute to bring a changed Secret here."""
TRY_SECONDS: Final = 10.0
log = logging.getLogger("paceline.gateway")


@dataclass(frozen=True, slots=True)
class Way:
    """Both are checked for their form."""

    url: str = field(repr=False)
    listen_url: str = field(repr=False)
    """Past PgBouncer, for wake-ups."""

    @classmethod
    def said(cls, url: str, listen_url: str | None) -> Self:
        """Without the second the first is meant."""
        Address.parse(url)
        Address.parse(listen_url or url)
        return cls(url, listen_url or url)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """What the files of a mounted Secret say now."""
        listen_url = folder / LISTEN_URL
        try:
            url = (folder / URL).read_text().strip()
            return cls.said(url, listen_url.read_text().strip() if listen_url.exists() else None)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise InvalidInputError(
                f"--database-secret {folder}: its file {URL} cannot be read: {reason} "
                f"(mount a Secret with a key {URL} there)"
            ) from None


async def follow(folder: Path, way: Way, database: Database, lines: Lines) -> None:
    """Go another way as soon as the Secret says so; one that does not work is said, and tried again."""
    told = ""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            found = Way.read(folder)
            if found != way:
                await _try(found)
                await database.move(found.url)
                lines.move(found.listen_url)
                way = found
                log.info("the Secret has another way to the database: it is used from now on")
            told = ""
        except PacelineError as error:
            if str(error) != told:
                log.warning("the Secret has a way to the database that cannot be used: %s", error)
                told = str(error)


async def _try(way: Way) -> None:
    """Fail if this is no login for a gateway: the one that we have may still be good."""
    async with await Database.open(
        way.url, size=1, application="paceline-gateway", answer_seconds=TRY_SECONDS
    ) as database:
        await Tokens(database).find("")
