"""The contract of a command: what it is given, and what its end means."""

import json
import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest

from paceline.retry import Never, Retry
from paceline_runner.attempt import Broken, Cause, Done
from paceline_runner.children.command import CommandExecutor
from paceline_runner.children.errors import CommandError
from paceline_runner.children.supervisor import Children
from runner.children.parts import (
    BOTH_LOOPS,
    ONE_LOOP,
    TRACE,
    WAIT,
    Work,
    command,
    shell,
)

pytestmark = ONE_LOOP


@pytest.fixture
def executor(children: Children) -> CommandExecutor:
    return CommandExecutor(children)


async def broken(executor: CommandExecutor, work: Work) -> Broken:
    ended = await executor.run(work)
    assert isinstance(ended, Broken), ended
    return ended


@BOTH_LOOPS
async def test_the_payload_comes_on_stdin_and_the_result_goes_to_stdout(executor: CommandExecutor) -> None:
    work = command("cat", payload={"to": "é", "n": [1, 2.5, None]})
    assert await executor.run(work) == Done(work.job.body)


async def test_a_json_result_is_kept_as_it_was_written(executor: CommandExecutor) -> None:
    assert await executor.run(shell("echo '{\"n\": 0.12345678901234567890}'")) == Done('{"n": 0.12345678901234567890}')


async def test_no_output_is_no_result(executor: CommandExecutor) -> None:
    assert await executor.run(shell("exit 0")) == Done(None)
    assert await executor.run(shell("echo; echo")) == Done(None)
    assert await executor.run(shell("exit 0", result="text")) == Done(None)


async def test_a_text_result_becomes_a_json_string(executor: CommandExecutor) -> None:
    assert await executor.run(shell("echo 'a \"b\"'", result="text")) == Done(json.dumps('a "b"\n'))


@pytest.mark.parametrize(
    ("script", "result", "told"),
    [
        ("echo hello", "json", "no JSON"),
        ("echo NaN", "json", "cannot be written as JSON"),
        ("""printf %s '"\\u0000"'""", "json", "NUL"),
        (r"printf '\377'", "text", "no UTF-8"),
        (r"printf '%0100000d' 0 | tr 0 '['", "json", "nested too deeply"),
        ("head -c 1048577 /dev/zero | tr '\\0' 1", "json", "more than 1048576 bytes"),
    ],
    ids=["text", "nan", "nul", "bytes", "deep", "large"],
)
async def test_a_result_that_cannot_be_kept_is_never_tried_again(
    executor: CommandExecutor, script: str, result: str, told: str
) -> None:
    ended = await broken(executor, shell(script, result=result))
    assert told in ended.error
    assert ended.retry_in is None
    assert ended.cause == Cause.BAD_RESULT


async def test_a_result_of_exactly_one_mebibyte_is_taken(executor: CommandExecutor) -> None:
    ended = await executor.run(shell("printf '\"'; head -c 1048574 /dev/zero | tr '\\0' a; printf '\"'"))
    assert isinstance(ended, Done)
    assert len(ended.result or "") == 2**20


@BOTH_LOOPS
async def test_stderr_is_kept_with_the_attempt_whatever_bytes_it_is(executor: CommandExecutor) -> None:
    work = shell(r"printf 'caf\303' >&2; sleep 0.05; printf '\251 \377 \303' >&2")
    assert await executor.run(work) == Done(None)
    assert work.text == "café � �"


async def test_the_command_is_told_about_its_job_and_not_about_the_runners_database(
    executor: CommandExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PACELINE_DATABASE_URL", "postgresql://secret")
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    monkeypatch.setenv("FROM_RUNNER", "yes")
    env = {"MINE": "1", "DATABASE_URL": "postgresql://other", "PACELINE_FENCE": "0"}
    ended = await executor.run(shell("env", result="text", env=env, tries=2, trace=TRACE))
    assert isinstance(ended, Done)
    found = dict(line.partition("=")[::2] for line in json.loads(ended.result or "").splitlines())
    assert "secret" not in (ended.result or "")
    assert "DATABASE_URL" not in found
    expected = {
        "PACELINE_JOB_ID": "7",
        "PACELINE_FENCE": "41",
        "PACELINE_ATTEMPT": "3",
        "PACELINE_KIND": "thumbs.make",
        "TRACEPARENT": TRACE,
        "MINE": "1",
        "FROM_RUNNER": "yes",
    }
    assert expected.items() <= found.items()


async def test_a_trace_of_the_runners_own_is_not_handed_on(
    executor: CommandExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEPARENT", TRACE)
    assert await executor.run(shell('printf \'"%s"\' "${TRACEPARENT-none}"')) == Done('"none"')


async def test_the_command_runs_in_its_folder(executor: CommandExecutor, tmp_path: Path) -> None:
    assert await executor.run(shell('printf %s "$PWD"', result="text", cwd=str(tmp_path))) == Done(f'"{tmp_path}"')


async def test_an_exit_code_is_tried_again_by_the_policy_and_tells_the_end_of_stderr(executor: CommandExecutor) -> None:
    ended = await broken(executor, shell("seq 100000 >&2; echo the disk is full >&2; exit 3", tries=2))
    assert ended.error.startswith('CommandError: command "sh -c')
    assert "exit code 3" in ended.error
    assert ended.error.endswith("the disk is full")
    assert len(ended.error) < 5000
    assert ended.retry_in == WAIT
    assert ended.cause == Cause.FAILED


async def test_the_policy_sees_the_tries_and_the_exit_code(executor: CommandExecutor) -> None:
    class Policy:
        def decide(self, tries: int, error: BaseException) -> Retry:
            assert isinstance(error, CommandError)
            return Retry(timedelta(seconds=tries * 100 + error.code))

    ended = await broken(executor, shell("exit 3", retry=Policy(), tries=2))
    assert ended.retry_in == timedelta(seconds=303)


async def test_a_policy_that_gives_up_is_heeded(executor: CommandExecutor) -> None:
    ended = await broken(executor, shell("exit 3", retry=Never()))
    assert ended.retry_in is None
    assert "never retried" in ended.error


async def test_exit_code_65_is_never_tried_again(executor: CommandExecutor) -> None:
    ended = await broken(executor, shell("echo no such picture >&2; exit 65"))
    assert ended.retry_in is None
    assert ended.cause == Cause.FAILED
    assert "no such picture" in ended.error


@BOTH_LOOPS
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
async def test_a_signal_is_a_crash_and_is_named(executor: CommandExecutor, number: signal.Signals) -> None:
    ended = await broken(executor, shell(f"kill -{int(number)} $$"))
    assert number.name in ended.error
    assert ended.cause == Cause.CRASHED
    assert ended.retry_in == WAIT


@BOTH_LOOPS
async def test_a_program_that_is_not_there_is_never_tried_again(executor: CommandExecutor, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program")
    odd = tmp_path / "odd"
    odd.write_text("no program")
    odd.chmod(0o755)
    for missing in ("/no/such/program", "no-such-program", str(plain), str(odd), str(tmp_path)):
        ended = await broken(executor, command(missing))
        assert missing in ended.error
        assert ended.retry_in is None
        assert ended.cause == Cause.FAILED
    ended = await broken(executor, command("true", cwd=str(tmp_path / "nowhere")))
    assert str(tmp_path / "nowhere") in ended.error
    assert ended.retry_in is None


async def test_the_program_is_looked_for_on_the_commands_own_path(executor: CommandExecutor, tmp_path: Path) -> None:
    tool = tmp_path / "own-tool"
    tool.write_text("#!/bin/sh\necho 5\n")
    tool.chmod(0o755)
    assert await executor.run(command("own-tool", env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})) == Done("5")


@BOTH_LOOPS
async def test_a_command_that_does_not_read_its_payload_breaks_nothing(executor: CommandExecutor) -> None:
    payload = "x" * 1_000_000
    assert await executor.run(shell("exec <&-; echo 1", payload=payload)) == Done("1")
    assert await executor.run(shell("head -c 10 >/dev/null; echo 2", payload=payload)) == Done("2")
