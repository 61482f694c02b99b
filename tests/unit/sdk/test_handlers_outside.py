"""Kinds whose work is done by a command or a server."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal, TypeAlias, TypedDict

import pytest

from paceline.errors import InvalidInputError, PacelineError
from paceline.handlers import Jobs
from paceline.outside import Command, Http
from paceline.retry import Exponential, Never

Register: TypeAlias = Callable[[Jobs], object]
MINUTE = timedelta(minutes=1)


class Options(TypedDict):
    env: dict[str, str]
    cwd: str
    result: Literal["json", "text"]
    grace: timedelta


def test_a_command_is_kept_with_its_options() -> None:
    jobs = Jobs()
    options = Options(env={"A": "1"}, cwd="/tmp", result="text", grace=MINUTE)
    jobs.command("thumb", ["convert", "-"], retry=Never(), timeout=MINUTE, **options)
    handler = jobs.get("thumb")
    assert handler.outside == Command(argv=("convert", "-"), **options)
    assert (handler.retry, handler.timeout, handler.isolation) == (Never(), MINUTE, None)
    assert handler.place == 'command "convert -"'


def test_a_server_is_kept_with_its_options() -> None:
    jobs = Jobs()
    jobs.http("thumb", "http://localhost:9000/thumbs?key=secret", headers={"X-Key": "1"}, retry=Never(), timeout=MINUTE)
    handler = jobs.get("thumb")
    assert handler.outside == Http(url="http://localhost:9000/thumbs?key=secret", headers={"X-Key": "1"})
    assert (handler.retry, handler.timeout) == (Never(), MINUTE)
    assert handler.place == 'http "http://localhost:9000/thumbs"'


def test_what_is_not_said_is_as_for_functions() -> None:
    jobs = Jobs()
    jobs.command("a", ("true",))
    jobs.http("b", "https://[::1]/")
    assert [jobs.get(kind).retry for kind in jobs.kinds] == [Exponential(), Exponential()]
    assert [jobs.get(kind).timeout for kind in jobs.kinds] == [None, None]


def test_any_json_is_a_payload_and_nothing_else() -> None:
    jobs = Jobs()
    jobs.command("thumb", ["convert", "-"])
    assert jobs.job("thumb", {"a": [1, None]}, priority=7).body == '{"a":[1,null]}'
    with pytest.raises(InvalidInputError, match='payload of "thumb" does not fit'):
        jobs.job("thumb", object())


def test_nobody_calls_it_as_a_function() -> None:
    jobs = Jobs()
    jobs.command("thumb", ["convert", "-"])
    with pytest.raises(PacelineError, match='"thumb" is done by command "convert -": there is no function to call'):
        jobs.get("thumb").call({"a": 1})


def test_a_second_handler_of_the_kind_is_refused_whatever_it_is() -> None:
    jobs = Jobs()
    jobs.command("thumb", ["convert", "-"])
    with pytest.raises(InvalidInputError, match=r'two handlers: command "convert -" and http "http://x/" \(rename'):
        jobs.http("thumb", "http://x/")
    with pytest.raises(InvalidInputError, match=r'two handlers: command "convert -" and .*no_one'):

        @jobs.handler("thumb")
        def no_one(payload: object) -> None: ...


def test_a_long_command_is_shown_in_part_and_a_word_with_a_blank_in_quotes() -> None:
    assert Command(argv=("sh", "-c", "a b")).place == "command \"sh -c 'a b'\""
    assert len(Command(argv=("x" * 500,)).place) == len('command "..."') + 80


def test_what_may_be_secret_is_not_in_the_repr() -> None:
    assert "secret" not in repr(Command(argv=("a",), env={"TOKEN": "secret"}))
    assert "secret" not in repr(Http(url="http://x", headers={"Authorization": "secret"}))


def command(*argv: Any, **options: Any) -> Register:
    return lambda jobs: jobs.command("thumb", list(argv) or ["true"], **options)


def http(url: str = "http://x", **options: Any) -> Register:
    return lambda jobs: jobs.http("thumb", url, **options)


@pytest.mark.parametrize(
    ("register", "words"),
    [
        (lambda jobs: jobs.command("a b", ["true"]), 'kind "a b" is no name'),
        (lambda jobs: jobs.command("thumb", "convert -"), 'command "convert -" is one text (give a list'),
        (lambda jobs: jobs.command("thumb", []), "command must be a list of texts"),
        (lambda jobs: jobs.command("thumb", 5), "command must be a list of texts"),
        (command("convert", 5), "command must be a list of texts"),
        (command("convert", "a\0"), "command must be a list of texts without NUL"),
        (command("", "a"), "command begins with an empty text"),
        (command(cwd=""), "cwd is no folder"),
        (command(env={"A=B": "c"}), 'env has a name "A=B"'),
        (command(env={"": "c"}), 'env has a name ""'),
        (command(env={"A": 1}), 'env "A" must be a text'),
        (command(result="xml"), 'result "xml" is unknown (use json or text)'),
        (command(grace=-MINUTE), "grace -1 day, 23:59:00 is negative"),
        (command(timeout=-MINUTE), 'timeout -1 day, 23:59:00 of "thumb" is out of range'),
        (command(retry=Never), 'of "thumb" is no policy'),
        (http("localhost:9000"), 'url "localhost:9000" is none (write it like'),
        (http("ftp://localhost"), 'url "ftp://localhost" is none'),
        (http("http://"), 'url "http://" is none'),
        (http("http://x:port"), 'url "http://x:port" is none'),
        (http("http://x:0"), 'url "http://x:0" is none'),
        (http("http://x/a b"), 'url "http://x/a b" is none'),
        (http(headers={"X Key": "1"}), 'headers has a name "X Key"'),
        (http(headers={"X-Key": "1\r\nX-Other: 2"}), 'header "X-Key" must be a text of one line'),
        (http(headers={"X-Key": 1}), 'header "X-Key" must be a text of one line'),
        (http(timeout=-MINUTE), 'timeout -1 day, 23:59:00 of "thumb" is out of range'),
    ],
)
def test_a_bad_option_is_named(register: Register, words: str) -> None:
    jobs = Jobs()
    with pytest.raises(InvalidInputError) as caught:
        register(jobs)
    assert words in str(caught.value)
    assert jobs.kinds == ()


@pytest.mark.parametrize("url", ["http://me:secret@x/", "http://me:se/secret@x/", "me:secret@x"])
def test_a_login_in_a_url_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(InvalidInputError, match="a login belongs into headers") as caught:
        Jobs().http("thumb", url)
    assert "secret" not in str(caught.value)
