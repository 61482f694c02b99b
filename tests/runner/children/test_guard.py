"""Nothing that a runner started goes on without it, however the runner ends or hangs."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable

import psutil
import pytest

from paceline_runner.children.errors import NotStartedError
from paceline_runner.children.supervisor import Children
from runner.children.parts import FAMILY, ONE_LOOP, PATIENCE, Owner, Said, family_of, is_dead, start

StartOwner = Callable[..., Owner]
LONG = 600.0
"""Seconds to live, where it is not their end that children die of."""


def test_a_runner_killed_with_sigkill_takes_children_grandchildren_and_guard_with_it(owner: StartOwner) -> None:
    runner = owner(LONG, "sh", "-c", FAMILY)
    family = family_of(runner.guard)
    assert {runner.child, *map(int, runner.words)} <= {each.pid for each in family}
    assert len(family) == 3  # sh, the sleep in its group, and the one that left it

    runner.send(signal.SIGKILL)

    assert all(is_dead(each.pid) for each in family)
    assert is_dead(runner.guard)


def test_a_killed_runner_is_noticed_although_a_fork_of_it_holds_its_sockets(owner: StartOwner) -> None:
    runner = owner(LONG, "sh", "-c", "echo fork; exec sleep 60")
    assert runner.fork

    runner.send(signal.SIGKILL)

    assert is_dead(runner.child)
    assert is_dead(runner.guard)
    assert not is_dead(runner.fork, timeout=0)


def test_a_stopped_runner_loses_its_children_at_the_deadline(owner: StartOwner) -> None:
    runner = owner(8, "sh", "-c", FAMILY)
    family = family_of(runner.guard)
    assert len(family) == 3

    runner.send(signal.SIGSTOP)

    assert all(is_dead(each.pid) for each in family)
    assert psutil.Process(runner.process.pid).status() == psutil.STATUS_STOPPED
    assert psutil.pid_exists(runner.child), "its number must not be given to another while the runner knows it"
    runner.send(signal.SIGCONT)
    assert runner.line() == "ended\n"


def test_a_child_of_a_stopped_runner_dies_with_its_guard(owner: StartOwner) -> None:
    runner = owner(LONG, "sh", "-c", "echo up; exec sleep 60")
    runner.send(signal.SIGSTOP)

    os.kill(runner.guard, signal.SIGKILL)

    assert is_dead(runner.child)


@ONE_LOOP
async def test_renewing_moves_the_deadline_and_not_renewing_kills() -> None:
    began = time.monotonic()
    children = Children(began + 6)
    child = await start(children, "sleep", "60")

    thread = threading.Thread(target=children.renew, args=[began + 7])
    thread.start()
    thread.join()

    assert await child.wait() == -signal.SIGKILL
    assert 7 <= time.monotonic() - began < PATIENCE
    await child.end()
    await children.close()


@ONE_LOOP
async def test_the_deadline_never_moves_back(children: Children) -> None:
    children.renew(time.monotonic() - 1)
    child = await start(children, "true")
    assert await child.wait() == 0
    await child.end()


@ONE_LOOP
async def test_nothing_is_started_after_the_deadline_until_somebody_renews() -> None:
    children = Children(time.monotonic() - 1)
    with pytest.raises(NotStartedError, match="lease has run out"):
        await start(children, "true")
    children.renew(time.monotonic() + LONG)
    child = await start(children, "true")
    assert await child.wait() == 0
    await child.end()
    await children.close()


async def test_there_is_no_guard_before_the_first_child_and_one_for_all(children: Children) -> None:
    assert children.guard_pid is None
    both = [await start(children, "sleep", "60") for _ in range(2)]
    (guard,) = {psutil.Process(each.pid).ppid() for each in both}
    assert os.getsid(guard) != os.getsid(0), "a Ctrl-C for the runner is none for the guard"
    for each in both:
        await each.end()


async def test_kill_all_from_another_thread_kills_every_group_at_once(children: Children) -> None:
    said = [Said(), Said()]
    both = [await start(children, "sh", "-c", "sleep 60 & echo $!; wait", said=each) for each in said]
    grandchildren = [int(await each.line()) for each in said]

    thread = threading.Thread(target=children.kill_all)
    thread.start()
    thread.join()

    assert all(is_dead(pid) for pid in grandchildren)
    for each in both:
        assert await each.wait() == -signal.SIGKILL
        await each.end()


async def test_kill_all_reaches_a_child_that_is_just_being_started(children: Children) -> None:
    first = await start(children, "true")
    await first.end()
    starting = asyncio.create_task(start(children, "sleep", "60"))
    await asyncio.sleep(0)  # the guard has been asked, and has not answered yet

    children.kill_all()

    async with asyncio.timeout(PATIENCE):
        child = await starting
        assert await child.wait() == -signal.SIGKILL
    await child.end()


async def test_a_guard_that_dies_takes_its_children_with_it_and_is_replaced(children: Children) -> None:
    said = Said()
    child = await start(children, "sh", "-c", "sleep 60 & echo $!; wait", said=said)
    grandchild, guard = int(await said.line()), children.guard_pid
    assert guard is not None

    os.kill(guard, signal.SIGKILL)

    assert await child.wait() == -signal.SIGKILL
    assert child.lost
    assert is_dead(child.pid)
    assert is_dead(grandchild)
    await child.end()
    async with asyncio.timeout(PATIENCE):
        second = await start(children, "true")
        assert await second.wait() == 0
    assert not second.lost
    assert children.guard_pid != guard
    await second.end()


@ONE_LOOP
async def test_a_guard_that_dies_during_a_start_is_told(children: Children) -> None:
    first = await start(children, "true")
    await first.end()
    assert children.guard_pid is not None
    starting = asyncio.create_task(start(children, "sleep", "60"))
    os.kill(children.guard_pid, signal.SIGKILL)
    try:
        child = await starting  # the start was quicker
    except NotStartedError as error:
        assert "guard" in str(error)  # noqa: PT017 -- either end is right
    else:
        assert await child.wait() == -signal.SIGKILL
        await child.end()


@ONE_LOOP
async def test_the_guard_does_not_heed_a_signal_for_the_whole_service(children: Children) -> None:
    child = await start(children, "sleep", "60")
    guard = children.guard_pid
    assert guard is not None
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(guard, number)
    second = await start(children, "true")
    assert await second.wait() == 0
    assert children.guard_pid == guard
    assert psutil.pid_exists(child.pid)
    await second.end()
    await child.end()


async def test_close_ends_children_and_guard() -> None:
    children = Children(time.monotonic() + LONG)
    child = await start(children, "sleep", "60")
    guard = children.guard_pid
    assert guard is not None
    await children.close()
    assert not psutil.pid_exists(guard)
    assert is_dead(child.pid)
    children.renew(time.monotonic() + 1)  # a heartbeat that comes too late harms nobody
    await child.end()
