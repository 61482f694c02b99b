"""Sockets of runners: one at a time for each registration, nothing lost with one that goes, and everybody told why."""

import json
from typing import Any

import pytest

from gateway.conftest import Site, state, until
from gateway.runners.client import HELLO, dialled, opened
from paceline.job import NewJob
from paceline.queue import Queue
from paceline.reading import Reader

LEASE_OVER = "UPDATE paceline.incarnation SET lease_until = clock_timestamp() WHERE id = $1"
LEFT = "SELECT extract(epoch FROM lease_until - clock_timestamp()) FROM paceline.incarnation WHERE id = $1"


async def test_each_run_counts_one_down_and_ready_sets_it_anew(address: str, token: str, queue: Queue) -> None:
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(4)])
    async with dialled(address, token) as socket:
        runs = [await socket.ask(2), await socket.next("run")]
        await socket.beat(*runs)
        ready = "SELECT count(*) FROM paceline.job WHERE state = 'r'"
        assert await queue.database.value(ready) == 2
        await socket.send("ready", want=1)
        runs.append(await socket.next("run"))
        await socket.beat(*runs)
        assert await queue.database.value(ready) == 1
        await socket.send("ready", want=0)
        await socket.beat(*runs)
        await queue.enqueue("mail")
        await socket.beat(*runs)
        assert await queue.database.value(ready) == 2


async def test_the_least_loaded_is_served_first(site: Site, address: str, queue: Queue) -> None:
    names = ("busy", "idle")
    tokens = [await site.tokens.create("rk", pool="builds", runner=name) for name in names]
    async with dialled(address, tokens[0], slots=4) as busy, dialled(address, tokens[1], slots=4) as idle:
        await busy.send("ready", want=1)
        await idle.send("ready", want=4)
        for socket in (busy, idle):
            await socket.beat()
        for _ in range(3):
            made = await queue.enqueue("mail")
            assert (await idle.next("run"))["id"] == made.id
        await idle.send("ready", want=0)
        await idle.beat()
        made = await queue.enqueue("mail")
        assert (await busy.next("run"))["id"] == made.id


async def test_a_thousand_that_are_wanted_come_little_by_little_and_all_of_them(
    address: str, token: str, queue: Queue
) -> None:
    made = await queue.enqueue_many([NewJob(kind="mail") for _ in range(250)])
    async with dialled(address, token, slots=1000) as socket:
        await socket.send("ready", want=1000)
        got = [(await socket.next("run"))["id"] for _ in made]
    assert sorted(got) == sorted(each.id for each in made)


@pytest.mark.usefixtures("unhurried")
async def test_a_welcome_that_resumes_says_as_much_as_the_first(address: str, token: str) -> None:
    async with dialled(address, token, heartbeat_seconds=60) as first:
        first.drop()
    async with dialled(address, token, heartbeat_seconds=60, **first.resume()) as again:
        assert again.welcome == {**first.welcome, "resumed": True}
        assert again.welcome["lease_seconds"] == 150


async def test_the_old_socket_is_closed_when_another_gateway_has_the_new_one(
    site: Site, address: str, token: str, queue: Queue
) -> None:
    async with dialled(address, token, heartbeat_seconds=60) as old:
        await old.send("ready", want=1)
        await old.beat()
        async with dialled(await site.start(), token, **old.resume()) as new:
            made = await queue.enqueue("mail")
            assert (await new.ask())["id"] == made.id
            assert await old.closed() == 4409
            await new.beat()
            left = float(await queue.database.value(LEFT, new.incarnation))
            assert left > 30, "the end of the old one means nothing: the lease is 150 s"


async def test_a_new_socket_at_the_same_gateway_ends_the_old_one(address: str, token: str) -> None:
    async with dialled(address, token) as old, dialled(address, token, **old.resume()) as new:
        assert await old.closed() == 4409
        assert (await new.beat())["verdict"] == "ok"


@pytest.mark.usefixtures("unhurried")
async def test_what_arrived_is_kept_and_what_did_not_goes_back_at_once(
    site: Site, address: str, token: str, queue: Queue
) -> None:
    arrived, lost = await queue.enqueue("mail"), await queue.enqueue("mail")
    async with dialled(address, token) as socket:
        run = await socket.ask(2)
        await socket.next("run")
        socket.drop()
    async with dialled(await site.start(), token, **socket.resume(run)) as again:
        assert (again.welcome["resumed"], again.welcome["refused"]) == (True, [])
        assert await state(queue, arrived.id) == "running"
        assert (await again.ask())["id"] == lost.id
    (attempt,) = await Reader(queue.database).job_attempts(lost.id)
    assert (attempt.outcome, attempt.cause) == ("handed_back", "Undelivered")


@pytest.mark.usefixtures("unhurried")
async def test_runs_that_are_not_its_own_any_more_are_refused_when_it_comes_back(
    address: str, token: str, queue: Queue
) -> None:
    made = await queue.enqueue("mail")
    async with dialled(address, token) as socket:
        run = await socket.ask()
        socket.drop()
    hand_back = "SELECT paceline.hand_back($1, ARRAY[$2::bigint], ARRAY[$3::bigint])"
    await queue.database.value(hand_back, socket.incarnation, run["id"], run["fence"])
    async with dialled(address, token, **socket.resume(run)) as again:
        assert again.welcome["refused"] == [made.id]


async def test_who_comes_back_too_late_is_new(address: str, token: str, queue: Queue) -> None:
    async with dialled(address, token) as socket:
        pass
    await queue.database.value("SELECT paceline.fence_incarnation($1, 'Disconnected')", socket.incarnation)
    async with dialled(address, token, **socket.resume()) as again:
        assert again.welcome["resumed"] is False
        assert again.incarnation != socket.incarnation


async def test_all_that_was_said_is_answered_before_the_close(address: str, token: str, queue: Queue) -> None:
    made = await queue.enqueue_many([NewJob(kind="mail") for _ in range(2)])
    async with dialled(address, token) as socket:
        runs = [await socket.ask(2), await socket.next("run")]
        for run in runs:
            await socket.send("complete", id=run["id"], fence=run["fence"])
        await socket.send("goodbye")
        assert [(await socket.next("accepted"))["id"] for _ in runs] == [each.id for each in made]
        assert await socket.closed() == 1000


async def test_a_goodbye_says_that_a_handler_is_stuck(address: str, token: str, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    async with dialled(address, token) as socket:
        await socket.ask()
        await socket.send("goodbye", cause="HandlerStuck")
        assert await socket.closed() == 1000
    (lost,) = await Reader(queue.database).job_attempts(made.id)
    assert (lost.outcome, lost.cause) == ("lost", "HandlerStuck")


async def test_a_drain_by_the_runner_itself_brings_nothing_more(address: str, token: str, queue: Queue) -> None:
    async with dialled(address, token) as socket:
        await socket.send("ready", want=2)
        await socket.send("drain")
        assert (await socket.beat())["verdict"] == "draining"
        made = await queue.enqueue("mail")
        await socket.send("ready", want=2)
        await socket.beat()
        assert await state(queue, made.id) == "ready"


async def test_every_report_is_answered_with_what_it_was_about(address: str, token: str, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    async with dialled(address, token) as socket:
        run = await socket.ask()
        reports: list[dict[str, Any]] = [
            {"type": "progress", "value": 0.5}, {"type": "extend", "seconds": 60}, {"type": "log", "text": "half\n"},
            {"type": "fail", "error": "bad", "final": True, "cause": "TimedOut"},
        ]  # fmt: skip
        about = {"id": run["id"], "fence": run["fence"]}
        for report in reports:
            await socket.connection.send(json.dumps({**report, **about}))
            assert await socket.any() == {"type": "accepted", "about": report["type"], **about}
            await socket.connection.send(json.dumps({**report, "id": run["id"], "fence": run["fence"] - 1}))
            assert (await socket.any())["type"] == "refused"
    seen = await Reader(queue.database).job_detail(made.id)
    assert seen is not None
    assert (seen.state, seen.cause) == ("dead", "TimedOut")


async def test_a_report_that_cannot_count_is_explained_and_the_run_stays(
    address: str, token: str, queue: Queue
) -> None:
    made = await queue.enqueue("mail")
    async with dialled(address, token) as socket:
        run = await socket.ask()
        about = {"id": run["id"], "fence": run["fence"]}
        for _ in range(6):  # more often than frames that cannot be understood are answered
            await socket.send("complete", **about, result="\0")
            problem = await socket.next("problem")
            assert (problem["error"], problem["about"], problem["id"]) == ("invalid", "complete", made.id)
        await socket.send("complete", **about, result=1)
        assert (await socket.next("accepted"))["id"] == made.id


async def test_who_lets_a_run_lapse_is_told_and_gets_nothing_until_it_asks_again(
    address: str, token: str, queue: Queue
) -> None:
    made = await queue.enqueue("mail")
    async with dialled(address, token) as socket:
        assert (await socket.ask(2))["id"] == made.id
        await queue.database.value("UPDATE paceline.offer SET until = clock_timestamp()")
        assert await socket.next("lapsed") == {"type": "lapsed"}
        other = await queue.enqueue("mail")
        await socket.beat()
        assert [await state(queue, each.id) for each in (made, other)] == ["ready", "ready"]
        assert (await socket.ask())["id"] == made.id


async def test_a_cancel_is_told_once_and_with_the_fence(address: str, token: str, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    async with dialled(address, token) as socket:
        run = await socket.ask()
        await queue.cancel(made.id)
        assert await socket.next("cancel") == {"type": "cancel", "id": made.id, "fence": run["fence"]}
        await queue.database.value("SELECT paceline.drain($1)", socket.incarnation)
        assert (await socket.any())["type"] == "drain", "a second cancel would have come first"
        assert (await socket.beat(run))["cancelled"] == [made.id]


@pytest.mark.parametrize(
    ("cause", "code"), [("Evicted", 4409), ("Replaced", 4409), ("Revoked", 4401), ("LeaseExpired", 4408)]
)
async def test_an_end_is_told_with_its_cause_and_its_code(
    site: Site, address: str, token: str, queue: Queue, cause: str, code: int
) -> None:
    async with dialled(address, token) as socket:
        if cause == "Revoked":
            await site.tokens.revoke(token.split("_")[1])
        elif cause == "LeaseExpired":
            await queue.database.value(LEASE_OVER, socket.incarnation)
        else:
            await queue.database.value("SELECT paceline.fence_incarnation($1, $2)", socket.incarnation, cause)
        assert (await socket.next("fenced"))["cause"] == cause
        assert await socket.closed() == code


async def test_a_token_that_expires_ends_its_socket_as_one_that_is_revoked(
    address: str, token: str, queue: Queue
) -> None:
    async with dialled(address, token) as socket:
        await queue.database.value("UPDATE paceline.token SET expires_at = clock_timestamp()")
        assert (await socket.next("fenced"))["cause"] == "Revoked"
        assert await socket.closed() == 4401

    async def gone() -> object:
        found = await queue.database.value("SELECT cause FROM paceline.incarnation WHERE id = $1", socket.incarnation)
        return found == "Revoked"

    await until(gone)


NO_HELLOS = (
    '{"type": "ready", "want": 1}', "{", '{"type": "hello"}', '{"type": "hello", "kinds": ["a b"]}', b"\0", "[" * 5000
)  # fmt: skip


@pytest.mark.parametrize("first", NO_HELLOS)
async def test_a_first_frame_that_is_no_hello_is_explained(address: str, token: str, first: str | bytes) -> None:
    async with opened(address, token) as socket:
        await socket.connection.send(first)
        problem = await socket.any()
        assert (problem["type"], problem["error"]) == ("problem", "bad_frame")
        assert await socket.closed() == 4400


async def test_a_registration_that_is_refused_is_explained(site: Site, address: str, token: str, queue: Queue) -> None:
    register = "SELECT paceline.register('laptop', 'builds', '{*}', p_external => false)"
    await queue.database.value(register)
    async with opened(address, token) as socket:
        await socket.connection.send(json.dumps(HELLO))
        problem = await socket.any()
        assert problem["error"] == "name_taken"
        assert await socket.closed() == 4400


async def test_a_producer_has_no_business_here(site: Site, address: str) -> None:
    async with opened(address, await site.tokens.create("pk", pool="builds")) as socket:
        assert await socket.closed() == 4401


async def test_a_socket_without_a_word_is_not_waited_for_for_ever(
    address: str, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paceline_gateway.runners.session.HELLO_SECONDS", 0.1)
    async with opened(address, token) as socket:
        assert (await socket.any())["error"] == "bad_frame"
        assert await socket.closed() == 4400


async def test_who_does_not_read_is_closed_and_its_runs_go_back(
    address: str, token: str, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paceline_gateway.runners.outbox.PATIENCE_SECONDS", 1.0)
    await queue.enqueue_many([NewJob(kind="mail", payload="x" * 900_000) for _ in range(60)])
    async with opened(address, token, max_queue=1, compression=None) as socket:  # what is not read stays on the wire
        await socket.connection.send(json.dumps({**HELLO, "slots": 60}))
        socket.welcome = await socket.next("welcome")
        await socket.send("ready", want=60)
        running = "SELECT count(*) FROM paceline.job WHERE state = 'x'"
        await until(lambda: queue.database.value(running))

        async def given_up() -> object:
            return await queue.database.value("SELECT suspect FROM paceline.incarnation")

        await until(given_up)
        assert await queue.database.value(running) < 60, "most of them had never gone out"
        socket.drop()


async def test_the_database_may_go_and_come_back(site: Site, address: str, token: str, queue: Queue) -> None:
    made = await queue.enqueue("mail")
    async with dialled(address, token) as socket:
        run = await socket.ask()
        await socket.beat(run)
        role = site.url.split("//")[1].split(":")[0]
        await queue.database.value(f"ALTER ROLE {role} NOLOGIN")
        end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = $1"
        await queue.database.value(end, role)
        await socket.send("complete", id=run["id"], fence=run["fence"])
        assert await socket.closed() == 1013
        await queue.database.value(f"ALTER ROLE {role} LOGIN")
    async with opened(address, token) as again:
        await again.connection.send(json.dumps({**HELLO, **socket.resume(run)}))
        assert (await again.next("welcome"))["resumed"] is True
        await again.send("complete", id=run["id"], fence=run["fence"])
        assert (await again.next("accepted"))["id"] == made.id
