"""A job that cannot be stored is refused when it is made, and the message names the field."""

import json
import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, TypeAdapter

from paceline.errors import InvalidInputError
from paceline.job import MOST_NESTED, NAME_LIMIT, PAYLOAD_LIMIT, NewJob, decode, milliseconds
from paceline.queue import COLUMNS, TYPES, arrays

SECOND = timedelta(seconds=1)
NAIVE = datetime(2026, 1, 1)
AWARE = datetime(2026, 1, 1, tzinfo=UTC)
CYCLE: list[object] = []
CYCLE.append(CYCLE)
DEEP: list[object] = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, null, "x"]}', {"a": [1, 2.5, None, "x"]}),
        ("9" * 4300, int("9" * 4300)),
        ("9" * 4301, "9" * 4301),
        ('{"a": ' + "9" * 4301 + ', "b": 1}', {"a": "9" * 4301, "b": 1}),
        ("9" * 400 + ".5", "9" * 400 + ".5"),
        ("[" * MOST_NESTED + "]" * MOST_NESTED, json.loads("[" * MOST_NESTED + "]" * MOST_NESTED)),
        ("[" * (MOST_NESTED + 1) + "]" * (MOST_NESTED + 1), "[" * (MOST_NESTED + 1) + "]" * (MOST_NESTED + 1)),
        ("[" * 100_000 + "]" * 100_000, "[" * 100_000 + "]" * 100_000),
        (json.dumps([{}] * 500), [{}] * 500),
    ],
    ids=["plain", "long", "too long", "too long within", "no real", "nested", "too nested", "far too nested", "wide"],
)
def test_json_is_decoded_and_what_cannot_be_shown_stays_text(text: str, value: object) -> None:
    found = decode(text)
    assert found == value
    TypeAdapter(JsonValue).dump_json([[[{"payload": found}]]])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": ""}, 'kind "" is no name'),
        ({"kind": "a b"}, 'kind "a b" is no name'),
        ({"kind": "mail\n"}, "is no name"),
        ({"kind": ".mail"}, 'kind ".mail" is no name'),
        ({"kind": "a" * 129}, "is no name (at most 128"),
        ({"payload": "x" * PAYLOAD_LIMIT}, f"payload has {PAYLOAD_LIMIT + 2} bytes, the limit is {PAYLOAD_LIMIT}"),
        ({"payload": "ü" * (PAYLOAD_LIMIT // 2)}, f"payload has {PAYLOAD_LIMIT + 2} bytes"),
        ({"payload": {"a": object()}}, "payload cannot be written as JSON"),
        ({"payload": {1, 2}}, "payload cannot be written as JSON"),
        ({"payload": b"raw"}, "payload cannot be written as JSON"),
        ({"payload": CYCLE}, "payload cannot be written as JSON"),
        ({"payload": math.nan}, "payload cannot be written as JSON"),
        ({"payload": [1.0, -math.inf]}, "payload cannot be written as JSON"),
        ({"payload": "a\0b"}, "payload contains a NUL character"),
        ({"payload": {"a\0b": 1}}, "payload contains a NUL character"),
        ({"priority": 11}, "priority 11 is out of range (0 to 9"),
        ({"priority": -1}, "priority -1 is out of range"),
        ({"delay": -SECOND}, "delay -1 day, 23:59:59 is negative"),
        ({"expires_in": -SECOND}, "expires_in -1 day, 23:59:59 is negative"),
        ({"timeout": -SECOND}, "timeout -1 day, 23:59:59 is negative"),
        ({"run_at": NAIVE}, "run_at 2026-01-01 00:00:00 has no time zone"),
        ({"expires_at": NAIVE}, "expires_at 2026-01-01 00:00:00 has no time zone"),
        ({"delay": SECOND, "run_at": AWARE}, "delay and run_at exclude each other"),
        ({"expires_in": SECOND, "expires_at": AWARE}, "expires_in and expires_at exclude each other"),
        ({"key": ""}, "key must have 1 to 512 characters"),
        ({"key": "a" * (NAME_LIMIT + 1)}, "key must have 1 to 512 characters"),
        ({"key": "a\0"}, "key contains a NUL character"),
        ({"key_limit": 2}, "key_limit is given without a key"),
        ({"key": "k", "key_limit": 0}, "key_limit 0 is out of range"),
        ({"dedupe": ""}, "dedupe must have 1 to 512 characters"),
        ({"dedupe": "\0"}, "dedupe contains a NUL character"),
        ({"trace": "\0"}, "trace contains a NUL character"),
        ({"tags": ("a,b",)}, 'tag "a,b" is no name'),
        ({"tags": ("",)}, 'tag "" is no name'),
        ({"tags": ("a" * 64,)}, "is no name (at most 63"),
        ({"tolerations": ("gpu:NoClam",)}, 'toleration "gpu:NoClam" has an unknown effect'),
        ({"max_tries": 0}, "max_tries 0 is out of range (1 to 32767)"),
        ({"max_tries": 32768}, "max_tries 32768 is out of range"),
        ({"max_losses": -1}, "max_losses -1 is out of range (0 to 32767)"),
        ({"max_tries": 2.5}, "max_tries 2.5 is not a whole number"),
        ({"payload": "\ud800"}, "payload contains a lone surrogate"),
        ({"key": "\ud800"}, "key contains a lone surrogate"),
        ({"payload": DEEP}, "payload is nested too deeply"),
        ({"timeout": timedelta(days=25)}, "timeout 25 days, 0:00:00 is too long (at most 24 days)"),
        ({"delay": timedelta(days=99_999)}, "delay 99999 days, 0:00:00 is too long"),
        ({"key": "k", "key_limit": 2**31}, "key_limit 2147483648 is out of range"),
        ({"tags": "ab"}, 'tags is the text "ab" (give a tuple of texts)'),
    ],
)
def test_a_bad_field_is_named(fields: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        NewJob(**{"kind": "mail", **fields})  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_six_characters_that_look_like_a_nul_are_none() -> None:
    assert json.loads(NewJob(kind="mail", payload=r"\u0000").body) == r"\u0000"


def test_the_limits_themselves_are_allowed() -> None:
    job = NewJob(
        kind="a" * 128, payload="x" * (PAYLOAD_LIMIT - 2), priority=9, key="k" * NAME_LIMIT, key_limit=1,
        tags=("t" * 63,), max_tries=32767, max_losses=0, delay=timedelta(0),
    )  # fmt: skip
    assert len(job.body) == PAYLOAD_LIMIT


def test_tags_and_tolerations_are_written_as_the_database_compares_them() -> None:
    job = NewJob(kind="mail", tags=("b", "a", "b"), tolerations=(" gpu ", "*"))
    assert job.tag_list == "a,b"
    assert job.toleration_list == "*,gpu"


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=20)))
def test_a_timeout_is_never_rounded_down(span: timedelta) -> None:
    kept = milliseconds(span)
    assert kept is not None
    assert span <= timedelta(milliseconds=kept) < span + timedelta(milliseconds=2)


def test_a_column_that_no_job_uses_is_not_sent() -> None:
    sent = dict(zip(COLUMNS, arrays([NewJob(kind="mail"), NewJob(kind="sms", key="k")]), strict=True))
    assert len(COLUMNS) == len(TYPES)
    assert sent["p_kind"] == ["mail", "sms"]
    assert sent["p_key"] == [None, "k"]
    assert sent["p_run_at"] is None
    assert sent["p_dedupe"] is None
