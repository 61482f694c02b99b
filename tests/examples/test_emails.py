"""Mails by a real mail server: one for each person, again later when it is busy, and none for whom it refuses."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP

from examples.conftest import OpenLaptop
from examples.laptop import Laptop, told
from paceline.job import JobId
from runner.process import eventually, until

pytestmark = pytest.mark.timeout(300)
PEOPLE = 5
"""In addresses.txt."""
SLOTS = 4
"""Of a runner that is told nothing else."""


@dataclass
class Post:
    """A mail server, and what it has taken."""

    port: int = 0
    mails: list[Message] = field(default_factory=list)
    refuses: dict[str, str] = field(default_factory=dict)
    """What it answers to these addresses."""
    asked: Counter[str] = field(default_factory=Counter)
    holds: int = 0
    """It takes no mail before so many were offered."""
    enough: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle_RCPT(self, _: Any, __: Any, envelope: Any, address: str, *_options: Any) -> str:  # noqa: N802
        self.asked[address] += 1
        if self.asked.total() >= self.holds:
            self.enough.set()
        if address in self.refuses:
            return self.refuses[address]
        envelope.rcpt_tos.append(address)
        return "250 go on"

    async def handle_DATA(self, _: Any, __: Any, envelope: Any) -> str:  # noqa: N802
        await self.enough.wait()
        self.mails.append(message_from_bytes(envelope.content))
        return "250 taken"

    @property
    def reached(self) -> Counter[str]:
        return Counter(mail["To"] for mail in self.mails)


@pytest.fixture
async def post() -> AsyncIterator[Post]:
    made = Post()
    server = await asyncio.get_running_loop().create_server(lambda: SMTP(made, hostname="localhost"), "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    async with server:
        yield made


@pytest.fixture
def emails(laptop: OpenLaptop, post: Post) -> Laptop:
    made = laptop("emails")
    made.variables = {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": str(post.port)}
    return made


async def job_of(emails: Laptop, address: str) -> JobId:
    return JobId(await emails.database.value("SELECT id FROM paceline.job WHERE dedupe = $1", f"spring/{address}"))


async def all_done(emails: Laptop, count: int) -> None:
    await eventually(
        lambda: emails.database.value("SELECT count(*) = $1 FROM paceline.history WHERE outcome = 'd'", count),
        f"{count} mails are sent",
    )


async def test_each_gets_one_mail_however_often_the_campaign_is_started(emails: Laptop, post: Post) -> None:
    await emails.develops()
    await emails.types("paceline", "pool", "kind-rate")
    said = await asyncio.gather(emails.types("python", "campaign.py"), emails.types("python", "campaign.py"))
    assert sorted(text.split()[0] for text in said) == ["0", "5"], "two at once make each job once"
    await all_done(emails, PEOPLE)
    assert await emails.types("python", "campaign.py") == "0 of 5 are new\n", "also when the first jobs have ended"
    assert set(post.reached.values()) == {1}
    assert len(post.reached) == PEOPLE
    rows = await emails.database.rows("SELECT id, fence FROM paceline.history")
    assert {(mail["Message-ID"], mail["X-Paceline-Fence"]) for mail in post.mails} == {
        (f"<job-{row['id']}@shop.example>", str(row["fence"])) for row in rows
    }


async def test_a_busy_server_is_asked_again_later_and_a_refusal_waits_for_a_person(emails: Laptop, post: Post) -> None:
    post.refuses = {"bob@example.org": "451 come back later", "eve@example.org": "550 no such mailbox"}
    queue = emails.queue("mails")
    await emails.develops()
    await emails.types("paceline", "pool", "kind-rate")
    await emails.types("python", "campaign.py")
    busy = await job_of(emails, "bob@example.org")
    waits = await until(queue, busy, "scheduled")
    assert waits.run_at is not None
    assert waits.run_at - waits.enqueued_at > timedelta(seconds=20), "30 seconds, less what chance takes off"
    await eventually(lambda: emails.database.value("SELECT count(*) = 1 FROM paceline.dead"), "one is refused")
    refused = JobId(await emails.database.value("SELECT id FROM paceline.dead"))
    dead = await until(queue, refused, "dead")
    assert (dead.tries, post.asked["eve@example.org"]) == (1, 1), "nobody asks a second time"
    assert "RefusedError: eve@example.org: 550 no such mailbox" in (dead.error or "")
    assert str(refused) in await emails.types("paceline", "dead", "list")

    post.refuses = {}
    assert await queue.retry(busy) == "retried"
    await emails.types("paceline", "dead", "redrive")
    await all_done(emails, PEOPLE)
    assert set(post.reached.values()) == {1}
    assert post.asked["bob@example.org"] == 2


async def test_all_runners_together_send_no_more_than_the_provider_allows(
    emails: Laptop, post: Post, tmp_path: Path
) -> None:
    people = tmp_path / "many.txt"
    people.write_text("".join(f"reader-{number}@example.org\n" for number in range(30)))
    rate = int(told(emails.folder, "paceline", "pool", "kind-rate")[4])
    await emails.types("paceline", "pool", "kind-rate")
    await emails.develops()
    await emails.runs("second", "--app", "jobs:jobs", "--pool", "mails")
    post.holds = SLOTS + 1
    await emails.types("python", "campaign.py", **{"addresses.txt": str(people)})
    await all_done(emails, 30)
    rows = await emails.database.rows("SELECT claimed_at, incarnation FROM paceline.history ORDER BY claimed_at")
    assert len({row["incarnation"] for row in rows}) == 2, "both have sent some"
    for first, row in enumerate(rows):
        for later, other in enumerate(rows[first:], 1):
            seconds = (other["claimed_at"] - row["claimed_at"]).total_seconds()
            assert later <= rate + rate * seconds + 0.001, f"{later} in {seconds} s"
