"""A child gets what it is given and nothing else, and leaves nothing behind."""

import asyncio
import os
import resource
import signal
from pathlib import Path

import psutil
import pytest

from paceline_runner.children.errors import NotStartedError
from paceline_runner.children.program import Program
from paceline_runner.children.supervisor import Children
from runner.children.parts import PATIENCE, Said, free_numbers, is_buried, is_dead, open_descriptors, start

OF_GLIBC = 0b11 << 31
"""Signals 32 and 33 are glibc's own: nobody can set them, and make leaves them ignored."""


async def test_a_child_has_three_descriptors_even_if_many_are_started_at_once(children: Children) -> None:
    async def look() -> str:
        said = Said()
        child = await start(children, "sh", "-c", "ls /proc/$$/fd", said=said)
        await child.wait()
        await child.rest()
        await child.end()
        return said.data.decode()

    assert set(await asyncio.gather(*(look() for _ in range(20)))) == {"0\n1\n2\n"}


async def test_a_child_leads_a_session_of_its_own_with_no_signal_ignored_or_blocked(children: Children) -> None:
    said = Said()
    child = await start(children, "sh", "-c", "grep -E 'Sig(Ign|Blk)' /proc/self/status", said=said)
    assert os.getsid(child.pid) == os.getpgid(child.pid) == child.pid
    await child.wait()
    await child.rest()
    await child.end()
    masks = [int(line.split()[1], 16) for line in said.data.decode().splitlines()]
    assert [mask & ~OF_GLIBC for mask in masks] == [0, 0]


async def test_environment_arguments_and_folder_arrive_byte_for_byte(children: Children, tmp_path: Path) -> None:
    odd, said = "a\udcff\n'\"é", Said()
    program = Program(
        argv=["sh", "-c", 'printf "%s|%s|%s" "$1" "$ODD" "$PWD"', "sh", odd],
        env={"ODD": odd, "PATH": os.environ["PATH"]},
        cwd=str(tmp_path),
    )
    child = await children.start(program, stdout=said.add, stderr=said.add)
    await child.wait()
    await child.rest()
    await child.end()
    assert bytes(said.data) == os.fsencode(f"{odd}|{odd}|{tmp_path}")


async def test_a_child_that_was_ended_is_buried(children: Children) -> None:
    child = await start(children, "sleep", "60")
    await child.end()
    assert await child.wait() == -signal.SIGKILL
    second = await start(children, "true")  # the guard has heard all that was said before
    await second.end()
    assert is_buried(child.pid)


async def test_strays_do_not_become_zombies(children: Children) -> None:
    said = Said()
    child = await start(children, "sh", "-c", "setsid sh -c 'echo $$; exec sleep 0.3' &", said=said)
    stray = int(await said.line())
    await child.wait()
    await child.end()
    assert is_dead(stray)
    second = await start(children, "true")
    await second.wait()
    await second.end()
    assert is_buried(stray)


async def test_a_start_that_is_cancelled_leaves_nothing(children: Children) -> None:
    first = await start(children, "true")
    await first.end()
    before = open_descriptors()
    for steps in range(1, 6):
        starting = asyncio.create_task(start(children, "sleep", "60"))
        for _ in range(steps):
            await asyncio.sleep(0)
        if starting.cancel():
            with pytest.raises(asyncio.CancelledError):
                await starting
        else:  # it was there before we could say so
            await starting.result().end()
    last = await start(children, "true")
    await last.wait()
    assert children.guard_pid is not None
    for each in psutil.Process(children.guard_pid).children():
        assert each.pid == last.pid or is_dead(each.pid)
    await last.end()
    assert open_descriptors() <= before


async def test_a_program_that_could_not_be_started_is_buried(children: Children) -> None:
    with pytest.raises(NotStartedError):
        await start(children, "/no/such/program")
    second = await start(children, "sleep", "60")
    assert children.guard_pid is not None
    others = [each for each in psutil.Process(children.guard_pid).children() if each.pid != second.pid]
    assert psutil.wait_procs(others, timeout=PATIENCE)[1] == []
    await second.end()


async def test_too_few_descriptors_are_an_error_and_not_a_leak(children: Children) -> None:
    first = await start(children, "true")
    await first.end()
    before = open_descriptors()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in free_numbers()[:7]:  # it needs seven
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        try:
            with pytest.raises(NotStartedError, match="Too many open files"):
                await start(children, "true")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert open_descriptors() <= before


async def test_a_variable_that_no_program_can_have_is_told(children: Children) -> None:
    for env in ({"A=B": ""}, {"": ""}, {"A": "\0"}):
        with pytest.raises(NotStartedError, match="environment") as caught:
            await children.start(Program(argv=["true"], env=env), stdout=Said().add, stderr=Said().add)
        assert caught.value.hopeless
