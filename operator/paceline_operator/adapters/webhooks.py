"""Webhooks: who is told of alerts, from a file that may change, and whether all of them have been.

A URL may hold a secret. It is in no message of ours, nor in what an error of a library says: nothing of that is shown.
"""

import functools
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import aiohttp

from paceline.errors import InvalidInputError
from paceline_operator.adapters.courier import Courier, Pace
from paceline_operator.adapters.post import Answer, open_session, post
from paceline_operator.adapters.queue import Key
from paceline_operator.domain.alerts.notice import Form, Notice, write

log = logging.getLogger("paceline.operator")

FRESH_SECONDS: Final = 15.0
"""For so long the file that was read is believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """How alerts are written, and where."""

    file: Path
    """One URL in a line."""
    form: Form = Form.ALERTMANAGER
    receiver: str = "paceline"
    runbooks: str = ""
    """What to put before docs/runbooks, so that it becomes a link."""


def read_urls(file: Path) -> tuple[str, ...]:
    """The URLs in a file, one in a line; empty lines and those that begin with # say nothing."""
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InvalidInputError(f"the webhooks' URLs cannot be read from {file}: {why}") from None
    found = [(number, text) for number, line in enumerate(lines, 1) if (text := line.strip()) and text[0] != "#"]
    for number, text in found:
        if not _is_url(text):
            raise InvalidInputError(f"{file}, line {number}: write a URL that begins with https:// or http://")
    if not found:
        raise InvalidInputError(f"{file} has no URL of a webhook: write one in a line")
    return tuple(dict.fromkeys(text for _, text in found))


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0 and " " not in text
    except ValueError:
        return False


class FileWebhooks:
    """The receivers in a file; `async with` opens and closes it."""

    def __init__(
        self, letter: Letter, *, leads: Callable[[], bool], count: Callable[[str], None],
        wake: Callable[[Key], None], pace: Pace | None = None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """`count` is called with what came of each request, `wake` when all have been told something about a group.

        While `leads` says no, nothing is sent. InvalidInputError: the file cannot be used.
        """
        self._letter, self._leads, self._count, self._wake, self._clock = letter, leads, count, wake, clock
        self._pace = pace or Pace()
        self._couriers: dict[str, Courier] = {}
        self._session: aiohttp.ClientSession | None = None
        self._urls = read_urls(letter.file)
        self._read_at = clock()

    async def __aenter__(self) -> Self:
        self._session = open_session()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.end()
        if self._session is not None:
            await self._session.close()

    def tell(self, notice: Notice) -> None:
        """Have it told, once however often it is said here."""
        for courier in self._current():
            courier.take(notice)

    def told(self, notice: Notice) -> datetime | None:
        """When every receiver had taken it, or was given up on; None: not yet."""
        moments = [each.settled.get(notice.ident) for each in self._couriers.values()]
        known = [each for each in moments if each is not None]
        return max(known) if known and len(known) == len(moments) else None

    async def end(self) -> None:
        """This operator acts no more: what has not been told is for the next one to tell."""
        couriers = list(self._couriers.values())
        self._couriers.clear()
        for each in couriers:
            await each.stop()

    def _current(self) -> list[Courier]:
        """One for each URL that the file has now. Who is new there is told what others are still to be told."""
        if self._clock() - self._read_at >= FRESH_SECONDS:
            self._refresh()
        for url in [each for each in self._couriers if each not in self._urls]:
            self._couriers.pop(url).cancel()
        for number, url in enumerate(self._urls, 1):
            if url not in self._couriers:
                self._couriers[url] = self._courier(number, url)
        return list(self._couriers.values())

    def _refresh(self) -> None:
        self._read_at = self._clock()
        try:
            self._urls = read_urls(self._letter.file)
        except InvalidInputError as error:
            log.warning("%s; those from before still count", error)

    def _courier(self, number: int, url: str) -> Courier:
        return Courier(
            f"webhook {number}", functools.partial(self._send, url), count=self._count, settle=self._settle,
            pace=self._pace,
        )  # fmt: skip

    async def _send(self, url: str, notices: Sequence[Notice]) -> Answer:
        assert self._session is not None
        if not self._leads():
            return Answer("another operator acts now")
        letter = self._letter
        return await post(self._session, url, write(letter.form, notices, letter.receiver, letter.runbooks))

    def _settle(self, notice: Notice) -> None:
        if self.told(notice) is not None:
            self._wake((notice.labels["namespace"], notice.labels["group"]))


async def try_all(letter: Letter, namespace: str, group: str) -> list[str]:
    """Tell each receiver that an alert fires, and that it is over; what each had against it, empty: nothing."""
    now = datetime.now(UTC)
    fires = Notice(
        name="PacelineTest",
        labels={"alertname": "PacelineTest", "group": group, "install": letter.receiver, "namespace": namespace,
                "severity": "warning"},
        summary="This is a test", description="Somebody has run `paceline webhook test`; nothing is wrong.",
        starts_at=now, page="docs/how-to/monitoring.md",
    )  # fmt: skip
    troubles = []
    async with open_session() as session:
        for url in read_urls(letter.file):
            for notice in (fires, replace(fires, ends_at=now)):
                body = write(letter.form, [notice], letter.receiver, letter.runbooks)
                if trouble := (await post(session, url, body)).trouble:
                    break
            troubles.append(trouble)
    return troubles
