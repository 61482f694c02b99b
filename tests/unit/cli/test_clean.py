"""Nothing secret leaves in a report: each kind by itself, and what it must not take away."""

import base64
import json
from typing import Any

import pytest

from paceline_cli.report.clean import LAST_APPLIED, REMOVED, Cleaner

TOKEN = "ak_0123456789ab_" + "Zz9_-" * 8 + "abc"
HUSH = "hunter2hunter2"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl"


def cleaned(value: Any, **options: Any) -> tuple[Any, list[str]]:
    cleaner = Cleaner(**options)
    return cleaner.thing("file", value), [each.why for each in cleaner.removed]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"used {TOKEN} today", f"used ak_0123456789ab_{REMOVED} today"),
        (f"postgresql://ann:{HUSH}@db:5432/jobs", f"postgresql://ann:{REMOVED}@db:5432/jobs"),
        (f"postgresql://ann:p%40/{HUSH}@db/jobs", f"postgresql://ann:{REMOVED}@db/jobs"),
        (f"Authorization: Bearer {JWT}", f"Authorization: Bearer {REMOVED}"),
        (f"jwt {JWT} end", f"jwt {REMOVED} end"),
        (f"connect password={HUSH} host=db", f"connect password={REMOVED} host=db"),
        (f'{{"api_key": "{HUSH}"}}', f'{{"api_key": "{REMOVED}"}}'),
        (f"PGPASSWORD={HUSH}", f"PGPASSWORD={REMOVED}"),
        (f"-----BEGIN RSA PRIVATE KEY-----\n{HUSH}\n-----END RSA PRIVATE KEY-----", REMOVED),
        ("ghp_" + "a1B2" * 9, REMOVED),
    ],
)
def test_a_secret_in_a_text_goes_and_the_rest_stays(text: str, left: str) -> None:
    cleaner = Cleaner()
    assert cleaner.text("log", text) == left
    assert cleaner.removed


@pytest.mark.parametrize(
    "text",
    [
        "builds-7xk2p registered as incarnation 12",
        "postgresql://ann@db:5432/jobs",
        "image registry.example.com/team/app:1.2.3@sha256:" + "0" * 64,
        "2026-05-01T12:00:00.123Z scaling builds from 1 to 3: 7 jobs want 7 runners",
    ],
)
def test_what_is_none_stays(text: str) -> None:
    cleaner = Cleaner()
    assert cleaner.text("log", text) == text
    assert cleaner.removed == []


def test_a_secret_keeps_its_keys_and_nothing_else() -> None:
    secret = {
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": "db", "namespace": "ci", "annotations": {LAST_APPLIED: HUSH}},
        "data": {"url": base64.b64encode(HUSH.encode()).decode()}, "stringData": {"plain": HUSH},
    }  # fmt: skip
    found, why = cleaned(secret)
    assert found["data"] == {"plain": REMOVED, "url": REMOVED}
    assert found["metadata"]["name"] == "db"
    assert HUSH not in json.dumps(found)
    assert base64.b64encode(HUSH.encode()).decode() not in json.dumps(found)
    assert why == ["the data of a Secret"] * 2


def test_env_values_that_look_like_secrets_go_also_inside_a_template() -> None:
    env: list[dict[str, Any]] = [
        {"name": "SMTP_PASSWORD", "value": HUSH},
        {"name": "DATABASE_URL", "value": "sqlite:///tmp/x"},
        {"name": "HARMLESS", "value": f"postgresql://ann:{HUSH}@db/jobs"},
        {"name": "STRIPE", "value": "aB3" * 10},
        {"name": "LOG_LEVEL", "value": "debug"},
        {"name": "FROM_SECRET", "valueFrom": {"secretKeyRef": {"name": "db", "key": "url"}}},
    ]
    group = {"kind": "RunnerGroup", "spec": {"template": {"spec": {"containers": [{"name": "runner", "env": env}]}}}}
    found, why = cleaned(group)
    shown = found["spec"]["template"]["spec"]["containers"][0]["env"]
    assert [each.get("value") for each in shown] == [REMOVED, REMOVED, REMOVED, REMOVED, "debug", None]
    assert shown[5] == env[5], "where it comes from is no secret"
    assert [each["name"] for each in shown] == [each["name"] for each in env]
    assert "an env value that looks like a secret" in why


def test_the_copy_that_kubectl_keeps_goes_as_a_whole() -> None:
    found, why = cleaned({"metadata": {"annotations": {LAST_APPLIED: f'{{"value": "{HUSH}"}}', "note": "x"}}})
    assert found == {"metadata": {"annotations": {"note": "x"}}}
    assert why == ["a copy of the whole object, with its env"]


def test_what_jobs_carry_goes_unless_it_was_asked_for() -> None:
    job = {"id": 7, "kind": "mail", "payload": {"to": "ann"}, "result": [1], "progress": None, "output": "hello"}
    found, why = cleaned(job)
    assert found == {**job, "payload": REMOVED, "result": REMOVED, "output": REMOVED}
    assert len(why) == 3
    assert cleaned(job, payloads=True) == (job, [])
    kept, _ = cleaned({"payload": {"password": HUSH, "note": f"see {TOKEN}"}}, payloads=True)
    assert HUSH not in json.dumps(kept)
    assert TOKEN not in json.dumps(kept)


def test_the_word_after_an_option_goes_too() -> None:
    words = ["run", "--password", HUSH, "--name", "ann", f"--api-key={HUSH}", "-token", HUSH]
    found, _ = cleaned({"args": words})
    assert found["args"] == ["run", "--password", REMOVED, "--name", "ann", f"--api-key={REMOVED}", "-token", REMOVED]


def test_a_long_line_takes_no_time() -> None:
    line = "x" * 2_000_000
    assert Cleaner().text("log", line) == line
    assert cleaned({"env": [{"name": "BLOB", "value": "a" * 200_000}]})[1] == []


def test_names_of_secrets_stay() -> None:
    spec = {
        "database": {"secretRef": {"name": "db"}, "runnerSecretRef": {"name": "builds-db"}},
        "volumes": [{"secret": {"secretName": "tls"}}], "automountServiceAccountToken": False,
    }  # fmt: skip
    assert cleaned(spec) == (spec, [])


def test_what_was_removed_is_written_down_without_it() -> None:
    cleaner = Cleaner()
    cleaner.thing("a.json", {"spec": {"env": [{"name": "TOKEN", "value": HUSH}]}, "password": HUSH})
    assert {(each.file, each.where) for each in cleaner.removed} == {
        ("a.json", "spec.env[0] TOKEN"),
        ("a.json", "password"),
    }
    assert all(HUSH not in str(each) for each in cleaner.removed)
