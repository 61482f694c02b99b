"""What `paceline run --gateway` is told when it starts: one line names what is wrong, and nobody else is disturbed."""

import datetime
import ipaddress
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from paceline.queue import Queue
from paceline.tokens import Tokens
from runner.gateway.door import Dial, Door, TokenOf
from runner.process import until

UNKNOWN = "rk_0123456789ab_" + "x" * 43


async def _refused(dial: Dial, *words: str, **variables: str) -> str:
    """The one line that it says."""
    runner = await dial("r1", *words, wait=False, **variables)
    assert await runner.ended() == 1, runner.log
    return runner.lines[-1]


@pytest.mark.parametrize(
    ("words", "variables", "message"),
    [
        (["--pool", "builds"], {}, "--pool: not with --gateway (leave it out, and its variable)"),
        (["--taint", "a:NoClaim"], {"PACELINE_POD_UID": "7"}, "--taint, --pod-uid: not with --gateway (leave them out"),
        ([], {"PACELINE_DATABASE_URL": "postgresql://a@b/c"}, "--database-url: not with --gateway"),
        (["--dispatchers", "2", "--stale-threshold", "60"], {}, "--dispatchers, --stale-threshold: not with --gateway"),
        ([], {"PACELINE_GATEWAY": "", "PACELINE_TOKEN_FILE": "x"}, "--token-file: not without --gateway"),
        ([], {"PACELINE_TOKEN": ""}, "no token is given: use --token-file, or set PACELINE_TOKEN"),
        (["--token-file", "nowhere"], {}, "token-file nowhere cannot be read"),
        ([], {"PACELINE_TOKEN": "pk_0123456789ab_" + "x" * 43}, "PACELINE_TOKEN has no token of a runner"),
        ([], {"PACELINE_GATEWAY": "gateway.example.com"}, 'gateway "gateway.example.com" is no address of one'),
        ([], {"PACELINE_GATEWAY": "https://me:secret@host"}, 'gateway "host" is no address of one'),
        (["--gateway-ca", "shop.py"], {}, "gateway-ca shop.py has no certificates in PEM"),
        (["--heartbeat-interval", "20"], {}, "heartbeat interval 20 s is out of range (1 to 15 with a gateway)"),
    ],
)
async def test_options_that_make_no_sense(
    dial: Dial, words: list[str], variables: dict[str, str], message: str
) -> None:
    said = await _refused(dial, *words, **variables)
    assert said.startswith(f"error: {message}")
    assert "xxx" not in said


async def test_a_token_that_is_not_good_is_one_line_and_exit_code_1(dial: Dial) -> None:
    said = await _refused(dial, PACELINE_TOKEN=UNKNOWN)
    assert "the token is not good: wrong, expired or revoked" in said
    assert "xxx" not in said


async def test_a_name_or_a_group_that_the_token_is_not_for_is_told_before_anybody_is_replaced(
    queue: Queue, dial: Dial, token: TokenOf
) -> None:
    there = await dial("r1")
    said = await _refused(dial, "--name", "r2")
    assert 'the token is for runner "r1" of pool "builds", not for "r2"' in said
    said = await _refused(dial, "--group", "ci/builds")
    assert 'the token is for runner "r1" of pool "builds", not for group ci/builds' in said
    assert there.process.returncode is None
    await queue.database.value("SELECT paceline.put_group('main', 'ci', 'builds', 'builds')")
    of_group = await Tokens(queue.database).create("rk", group="builds", namespace="ci", runner="desk")
    said = await _refused(dial, "--group", "builds", PACELINE_TOKEN=of_group)
    assert 'the token is for runner "desk" of group ci/builds, not for group default/builds' in said
    runner = await dial("r1", "--group", "ci/builds", "--name", "desk", PACELINE_TOKEN=of_group)
    await runner.said("registered as desk in pool builds")


async def test_a_name_that_another_group_has_is_told(queue: Queue, dial: Dial) -> None:
    tokens = []
    for group in ("builds", "other"):
        await queue.database.value("SELECT paceline.put_group('main', 'ci', $1, $1)", group)
        tokens.append(await Tokens(queue.database).create("rk", group=group, namespace="ci", runner="r1"))
    there = await dial("r1", PACELINE_TOKEN=tokens[0])
    said = await _refused(dial, PACELINE_TOKEN=tokens[1])
    assert 'a Runner called "r1" belongs to group "builds"' in said
    assert there.process.returncode is None


async def test_the_token_comes_from_a_file_and_a_database_of_the_handlers_is_no_business_of_ours(
    queue: Queue, dial: Dial, token: TokenOf, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(await token("r1") + "\n")
    own = "postgresql://handlers@nowhere/own"
    runner = await dial("r1", "--token-file", str(tmp_path / "token"), PACELINE_TOKEN="", DATABASE_URL=own)
    made = await queue.enqueue("mail", {"to": "ann"})
    await until(queue, made.id, "done")
    assert (await token("r1")).split("_")[2] not in runner.log


def _certificate(folder: Path) -> tuple[Path, Path]:
    """Of a gateway at 127.0.0.1, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gateway")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    certificate, secret = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    return certificate, secret


@pytest.fixture
async def tls(gateway_url: str, tmp_path: Path) -> AsyncIterator[tuple[Door, Path]]:
    certificate, key = _certificate(tmp_path)
    made = Door(gateway_url, tls_certificate=str(certificate), tls_key=str(key))
    await made.open()
    yield made, certificate
    await made.shut()


async def test_tls_is_checked_against_the_systems_certificates_or_those_that_are_given(
    queue: Queue, dial: Dial, tls: tuple[Door, Path]
) -> None:
    door, certificate = tls
    distrustful = await dial("r1", url=door.url, wait=False)
    await distrustful.said("waiting for the gateway")
    assert "--gateway-ca" in distrustful.log
    distrustful.send(signal.SIGTERM)
    assert await distrustful.ended() == 0
    await dial("r1", "--gateway-ca", str(certificate), url=door.url)
    made = await queue.enqueue("mail", {"to": "ann"})
    await until(queue, made.id, "done")
