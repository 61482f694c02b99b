"""Receivers of alerts, each a real HTTP server: told once, again while they are away, and never shown by their URLs."""

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paceline.errors import InvalidInputError
from paceline.testing.scratch import free_ports
from paceline_dev.pki import Authority
from paceline_operator.adapters.courier import Pace
from paceline_operator.adapters.post import open_session, post
from paceline_operator.adapters.queue import Key
from paceline_operator.adapters.retry import Retries
from paceline_operator.adapters.webhooks import FRESH_SECONDS, FileWebhooks, Letter, read_urls
from paceline_operator.domain.alerts.notice import Notice
from support.receiver import PATIENCE, Receiver, receiving

STARTS = datetime(2026, 11, 17, 12, tzinfo=UTC)
SOON = Retries(first=0.01, longest=0.05, total=3600.0)


def notice(group: str = "builds", name: str = "PacelineGroupStuck") -> Notice:
    labels = {"alertname": name, "group": group, "namespace": "ci", "severity": "warning"}
    return Notice(name=name, labels=labels, summary="s", description="d", starts_at=STARTS)


def over(fired: Notice) -> Notice:
    return replace(fired, ends_at=STARTS + timedelta(hours=1))


@dataclass
class Office:
    """Webhooks that are open, and what is seen of them."""

    file: Path
    webhooks: FileWebhooks
    counted: Counter[str]
    woken: list[Key]
    now: list[float]
    leads: list[bool] = field(default_factory=lambda: [True])

    def name(self, *urls: str) -> None:
        """Write these into the file, and let it be read."""
        self.file.write_text("".join(f"{url}\n" for url in urls))
        self.now[0] += FRESH_SECONDS


@asynccontextmanager
async def office(tmp_path: Path, *urls: str, pace: Pace | None = None) -> AsyncIterator[Office]:
    file, counted, woken, now, leads = tmp_path / "urls", Counter[str](), list[Key](), [0.0], [True]
    file.write_text("".join(f"{url}\n" for url in urls))
    webhooks = FileWebhooks(
        Letter(file=file), leads=lambda: leads[0], count=lambda result: counted.update([result]), wake=woken.append,
        pace=pace or Pace(gather=0.0, retries=SOON), clock=lambda: now[0],
    )  # fmt: skip
    async with webhooks:
        yield Office(file, webhooks, counted, woken, now, leads)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving(path="/T0/secret-word") as made:
        yield made


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 -- a courier tells nobody
            await asyncio.sleep(0.01)


def groups(body: dict[str, object]) -> list[str]:
    return [each["labels"]["group"] for each in body["alerts"]]  # type: ignore[attr-defined]  # JSON


async def test_an_alert_is_told_once_however_often_it_is_said(tmp_path: Path, receiver: Receiver) -> None:
    async with office(tmp_path, receiver.url) as one:
        assert one.webhooks.told(notice()) is None
        for _ in range(3):
            one.webhooks.tell(notice())
        assert groups(await receiver.next()) == ["builds"]
        await until(lambda: one.webhooks.told(notice()))
        one.webhooks.tell(notice())
        one.webhooks.tell(notice("tests"))
        assert groups(await receiver.next()) == ["tests"]
        one.webhooks.tell(over(notice()))
        assert (await receiver.next())["status"] == "resolved"
        await until(lambda: one.webhooks.told(over(notice())))
    assert len(receiver.posts) == 3
    assert one.counted == {"delivered": 3}
    assert one.woken == [("ci", "builds"), ("ci", "tests"), ("ci", "builds")]


async def test_a_notice_that_is_told_again_is_another_one(tmp_path: Path, receiver: Receiver) -> None:
    async with office(tmp_path, receiver.url) as one:
        one.webhooks.tell(notice())
        await receiver.next()
        one.webhooks.tell(replace(notice(), told_at=STARTS))
        await receiver.next()


async def test_groups_with_the_same_alert_share_a_request(tmp_path: Path, receiver: Receiver) -> None:
    async with office(tmp_path, receiver.url) as one:
        for group in ("a", "b", "c"):
            one.webhooks.tell(notice(group))
            one.webhooks.tell(notice(group, "PacelineQueueLag"))
        found = [await receiver.next(), await receiver.next()]
    assert [(each["groupLabels"]["alertname"], groups(each)) for each in found] == [
        ("PacelineGroupStuck", ["a", "b", "c"]),
        ("PacelineQueueLag", ["a", "b", "c"]),
    ]
    assert len(receiver.posts) == 2


async def test_a_courier_that_broke_begins_anew(tmp_path: Path, receiver: Receiver) -> None:
    async with office(tmp_path, receiver.url, pace=Pace(gather=3600.0)) as one:
        one.webhooks.tell(notice())
        (task,) = [each for each in asyncio.all_tasks() if each.get_name() == "webhook 1"]
        task.cancel()
        await asyncio.wait({task})
        one.webhooks.tell(notice("tests"))
        assert [each.get_name() for each in asyncio.all_tasks()].count("webhook 1") == 1


async def test_a_request_holds_so_many_and_the_others_follow(tmp_path: Path, receiver: Receiver) -> None:
    async with office(tmp_path, receiver.url, pace=Pace(gather=0.0, batch=2)) as one:
        for group in ("a", "b", "c"):
            one.webhooks.tell(notice(group))
        assert [groups(await receiver.next()), groups(await receiver.next())] == [["a", "b"], ["c"]]


@pytest.mark.parametrize("status", [500, 429, 404, 302])
async def test_whoever_does_not_take_it_is_asked_again(tmp_path: Path, receiver: Receiver, status: int) -> None:
    receiver.answers.extend([status] * 3)
    async with office(tmp_path, receiver.url) as one:
        one.webhooks.tell(notice())
        await receiver.next()
        await until(lambda: one.webhooks.told(notice()))
    assert [answered for answered, _ in receiver.posts] == [status] * 3 + [200]
    assert one.counted == {"failed": 3, "delivered": 1}


async def test_a_redirect_is_not_followed(tmp_path: Path, receiver: Receiver) -> None:
    async with receiving() as elsewhere, open_session() as session:
        receiver.answers.append(307)
        receiver.headers = {"Location": elsewhere.url}
        assert (await post(session, receiver.url, {})).trouble == "HTTP 307"
        assert elsewhere.posts == []


async def test_one_that_asks_to_be_left_alone_is(receiver: Receiver) -> None:
    receiver.answers.append(429)
    receiver.headers = {"Retry-After": "30"}
    async with open_session() as session:
        assert (await post(session, receiver.url, {})).wait == 30


async def test_one_that_does_not_answer_is_not_waited_for() -> None:
    gone = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        gone.set()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server, open_session(0.2) as session:
        port = server.sockets[0].getsockname()[1]
        assert (await post(session, f"http://127.0.0.1:{port}/", {})).trouble == "no answer in time"
        async with asyncio.timeout(PATIENCE):
            await gone.wait()


async def test_a_receiver_that_is_away_keeps_no_other_waiting(tmp_path: Path, receiver: Receiver) -> None:
    away = f"http://127.0.0.1:{free_ports(1)[0]}/"
    async with office(tmp_path, away, receiver.url) as one:
        one.webhooks.tell(notice())
        await until(lambda: one.counted["delivered"])
        assert groups(await receiver.next()) == ["builds"]
        assert one.webhooks.told(notice()) is None, "one of them has not heard of it"
        assert one.woken == []
        one.webhooks.tell(notice())
        one.webhooks.tell(notice("tests"))
        assert groups(await receiver.next()) == ["tests"], "and nothing twice"
        one.name(receiver.url)
        one.webhooks.tell(notice())
        assert one.webhooks.told(notice()) is not None
    assert len(receiver.posts) == 2


async def test_who_has_taken_nothing_for_too_long_is_given_up(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answers.append(503)
    async with office(tmp_path, receiver.url, pace=Pace(gather=0.0, retries=replace(SOON, total=0.0))) as one:
        one.webhooks.tell(notice())
        await until(lambda: one.webhooks.told(notice()))
        one.webhooks.tell(over(notice()))
        assert (await receiver.next())["status"] == "resolved"
        await until(lambda: one.webhooks.told(over(notice())))
    assert one.counted == {"failed": 1, "given_up": 1, "delivered": 1}


async def test_what_is_over_before_it_could_be_told_is_told_as_it_is_now(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answers.append(503)
    pace = Pace(gather=0.0, retries=replace(SOON, first=0.5, longest=0.5))
    async with office(tmp_path, receiver.url, pace=pace) as one:
        one.webhooks.tell(notice())
        await until(lambda: receiver.posts)
        one.webhooks.tell(over(notice()))
        assert (await receiver.next())["status"] == "resolved"
    assert [answered for answered, _ in receiver.posts] == [503, 200]


async def test_what_is_over_while_its_beginning_is_on_its_way_is_told_too(tmp_path: Path, receiver: Receiver) -> None:
    async with office(tmp_path, receiver.url) as one:
        receiver.hold = asyncio.Event()
        one.webhooks.tell(notice())
        await until(lambda: receiver.posts)
        one.webhooks.tell(over(notice()))
        receiver.hold.set()
        assert [(await receiver.next())["status"] for _ in range(2)] == ["firing", "resolved"]


async def test_one_alert_that_is_not_taken_does_not_hold_up_others(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answers.append(400)
    async with office(tmp_path, receiver.url) as one:
        one.webhooks.tell(notice())
        one.webhooks.tell(notice(name="PacelineQueueLag"))
        found = [(await receiver.next())["groupLabels"]["alertname"] for _ in range(2)]
    assert found == ["PacelineQueueLag", "PacelineGroupStuck"]


async def test_there_is_room_for_so_many_and_the_rest_comes_when_it_is_said_again(
    tmp_path: Path, receiver: Receiver
) -> None:
    async with office(tmp_path, receiver.url, pace=Pace(gather=0.0, room=2)) as one:
        for group in ("a", "b", "c"):
            one.webhooks.tell(notice(group))
        assert one.counted == {"dropped": 1}
        assert groups(await receiver.next()) == ["a", "b"]
        await until(lambda: one.webhooks.told(notice("b")))
        one.webhooks.tell(notice("c"))
        assert groups(await receiver.next()) == ["c"]


async def test_who_does_not_lead_sends_nothing(tmp_path: Path, receiver: Receiver) -> None:
    async with office(tmp_path, receiver.url) as one:
        one.leads[0] = False
        one.webhooks.tell(notice())
        await until(lambda: one.counted["failed"])
        assert receiver.posts == []
        one.leads[0] = True
        await receiver.next()


async def test_what_one_operator_has_not_told_is_not_told_later(tmp_path: Path, receiver: Receiver) -> None:
    async with office(tmp_path, receiver.url, pace=Pace(gather=3600.0)) as one:
        one.webhooks.tell(notice())
        await one.webhooks.end()
        assert one.webhooks.told(notice()) is None
        assert [each for each in asyncio.all_tasks() if each.get_name().startswith("webhook")] == []


async def test_a_new_url_is_used_and_what_waited_for_the_old_one_goes_there(tmp_path: Path, receiver: Receiver) -> None:
    away = f"http://127.0.0.1:{free_ports(1)[0]}/"
    async with office(tmp_path, away) as one:
        one.webhooks.tell(notice())
        await until(lambda: one.counted["failed"])
        one.name(receiver.url)
        one.webhooks.tell(notice())
        await receiver.next()
        await until(lambda: one.webhooks.told(notice()))


async def test_a_file_that_somebody_has_spoilt_changes_nothing(
    tmp_path: Path, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    async with office(tmp_path, receiver.url) as one:
        one.name("secret-word")
        one.webhooks.tell(notice())
        await receiver.next()
    assert "line 1" in caplog.text
    assert "those from before still count" in caplog.text
    assert "secret-word" not in caplog.text


async def test_no_log_has_a_url_whatever_goes_wrong(
    tmp_path: Path, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    away = f"http://user:secret-word@127.0.0.1:{free_ports(1)[0]}/secret-word"
    receiver.answers.extend([404, 500])
    async with office(tmp_path, receiver.url, away) as one:
        one.webhooks.tell(notice())
        await receiver.next()
        await until(lambda: "webhook 2 did not take" in caplog.text and "webhook 1 takes alerts again" in caplog.text)
    assert "webhook 1 did not take PacelineGroupStuck: HTTP 404" in caplog.text
    assert "secret-word" not in caplog.text


async def test_a_certificate_that_nobody_vouches_for_is_not_believed(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = Authority(tmp_path, "ca").issue("receiver")
    context.load_cert_chain(pair.certificate, pair.key)
    async with receiving(context) as receiver, open_session() as session:
        assert (await post(session, receiver.url, {})).trouble == "ClientConnectorCertificateError"
        assert receiver.posts == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no URL"),
        ("# https://example.com/secret-word\n\n", "has no URL"),
        ("https://example.com/a\nexample.com/secret-word\n", "line 2: write a URL"),
        ("ftp://example.com/secret-word", "line 1"),
        ("https:///secret-word", "line 1"),
        ("https://example.com:port/secret-word", "line 1"),
        ("https://example.com/a secret-word", "line 1"),
    ],
)
def test_what_is_no_url_is_named_by_its_line_and_not_shown(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "urls").write_text(text)
    with pytest.raises(InvalidInputError, match=said) as caught:
        read_urls(tmp_path / "urls")
    assert "secret-word" not in str(caught.value)


def test_urls_are_read_line_by_line_and_each_once(tmp_path: Path) -> None:
    (tmp_path / "urls").write_text("# ours\n https://a.example/x \n\nhttp://b:8080/y?z=1\nhttps://a.example/x\n")
    assert read_urls(tmp_path / "urls") == ("https://a.example/x", "http://b:8080/y?z=1")


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"cannot be read from .*urls: No such file"):
        read_urls(tmp_path / "urls")
