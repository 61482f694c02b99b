"""`paceline webhook test`: each receiver is told of an alert and its end, and the answer says who took it."""

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from paceline.testing.scratch import free_ports
from paceline_cli.main import app
from paceline_dev import REPOSITORY
from paceline_dev.pki import Authority
from support.receiver import Receiver, receiving


async def webhook_test(*words: str, **env: str) -> tuple[int, str]:
    """In a thread, since the command has a loop of its own."""
    done = await asyncio.to_thread(CliRunner().invoke, app, ["webhook", "test", *words], env=env)
    return done.exit_code, done.output


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving(path="/secret-word") as made:
        yield made


def urls(tmp_path: Path, *found: str) -> str:
    (tmp_path / "urls").write_text("\n".join(found))
    return str(tmp_path / "urls")


async def test_each_receiver_is_told_and_the_answer_says_who_took_it(tmp_path: Path, receiver: Receiver) -> None:
    away = f"http://127.0.0.1:{free_ports(1)[0]}/secret-word"
    file = urls(tmp_path, away, receiver.url)
    code, said = await webhook_test("--group", "ci/builds", PACELINE_WEBHOOK_URL_FILE=file)
    assert said == "webhook 1: did not take it (ClientConnectorError)\nwebhook 2: took it\n"
    assert code == 1
    first, second = [body for _, body in receiver.posts]
    assert (first["status"], second["status"]) == ("firing", "resolved")
    assert first["commonLabels"].items() >= {"alertname": "PacelineTest", "namespace": "ci", "group": "builds"}.items()
    assert (REPOSITORY / first["commonAnnotations"]["runbook_url"]).is_file()
    assert first["alerts"][0]["fingerprint"] == second["alerts"][0]["fingerprint"]


async def test_in_the_form_that_the_operator_has(tmp_path: Path, receiver: Receiver) -> None:
    file = urls(tmp_path, receiver.url)
    code, _ = await webhook_test("--webhook-url-file", file, PACELINE_WEBHOOK_FORM="slack")
    assert code == 0
    assert [body.keys() for _, body in receiver.posts] == [{"path", "text"}] * 2


async def test_an_authority_of_ones_own_is_named_by_the_environment(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = Authority(tmp_path, "ca").issue("receiver")
    context.load_cert_chain(pair.certificate, pair.key)
    async with receiving(context) as receiver:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "paceline_cli", "webhook", "test", "--webhook-url-file", urls(tmp_path, receiver.url),
            env={**os.environ, "SSL_CERT_FILE": str(tmp_path / "ca.crt")}, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        said, _ = await process.communicate()
    assert (process.returncode, said) == (0, b"webhook 1: took it\n")


@pytest.mark.parametrize(("file", "said"), [("nowhere", "cannot be read from nowhere"), ("", "no receiver is named")])
async def test_without_a_file_it_says_what_to_do(file: str, said: str) -> None:
    code, told = await webhook_test(PACELINE_WEBHOOK_URL_FILE=file)
    assert code == 1
    assert told.startswith("error: ")
    assert said in told
