"""The page about the runner protocol has every route, frame, field and close code of the code, and no other."""

import ast
import inspect
import json
import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from paceline_dev import REPOSITORY
from paceline_dev.reference.http import described
from paceline_dev.site.markdown import blocks, spans
from paceline_gateway.runners import frames, outbox, runs, session
from paceline_gateway.runners.poll import Found, Left, Me

PAGE = (REPOSITORY / "docs" / "reference" / "runner-protocol.md").read_text()
FROM_RUNNERS: dict[str, type[BaseModel]] = {
    get_args(each.model_fields["type"].annotation)[0]: each
    for each in (frames.HelloFrame, *get_args(get_args(frames.Frame)[0]))
}
ANSWERS: tuple[type[BaseModel], ...] = (Me, Found, Left, runs.Run, runs.Welcome, runs.Beat)
REQUESTS: tuple[type[BaseModel], ...] = (runs.Hello, runs.Heartbeat, runs.Owner, runs.Leave)
PAYLOAD = {"to"}
"""In the example of a run."""


def sent() -> tuple[set[str], set[str]]:
    """Types of the frames that a gateway sends, and the fields that it names where it sends them."""
    types: set[str] = set()
    fields: set[str] = set()
    tree = ast.parse(inspect.getsource(session) + inspect.getsource(outbox))
    functions = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    for node in chain.from_iterable(ast.walk(each) for each in functions):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "put":
            types |= {str(each.value) for each in ast.walk(node.args[0]) if isinstance(each, ast.Constant)}
            fields |= {each.arg for each in node.keywords if each.arg}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "run_text":
            types |= {str(each.value.value) for each in node.keywords if isinstance(each.value, ast.Constant)}
        if isinstance(node, ast.Dict):
            fields |= {str(each.value) for each in node.keys if isinstance(each, ast.Constant)}
    return types, fields


def rows(head: str) -> list[list[str]]:
    """The cells of the table with this head."""
    (table,) = re.findall(rf"^\| {re.escape(head)} \|.*\n\|-.*\n((?:\|.*\n?)+)", PAGE, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]


def typed(head: str) -> set[str]:
    """The types of frames in the first cells of a table: whole ones, and names of others like it."""
    cells = [row[0] for row in rows(head)]
    return {name for cell in cells for found in re.findall(r'"type": "(\w+)"|`(\w+)`', cell) for name in found if name}


def examples() -> Iterator[dict[str, Any]]:
    """Every JSON object of the page."""
    texts = [*(each.code for each in blocks(PAGE) if each.language == "json"), *spans(PAGE)]
    for text in (each for each in texts if each.startswith("{")):
        yield json.loads(text.replace(", ...}", "}"))


def keys(value: Any) -> set[str]:
    within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = set(value) if isinstance(value, dict) else set()
    return own | {name for each in within for name in keys(each)}


def of(*models: type[BaseModel]) -> set[str]:
    return {name for model in models for name in model.model_fields}


def known() -> set[str]:
    """Every field that anybody sends."""
    return of(*FROM_RUNNERS.values(), *ANSWERS, *REQUESTS, frames.Resume) | sent()[1]


def test_the_frames_of_a_runner_are_those_that_a_gateway_reads() -> None:
    assert typed("you send") | {"hello"} == FROM_RUNNERS.keys()


def test_the_frames_of_a_gateway_are_those_that_it_sends() -> None:
    assert typed("you get") | {"welcome"} == sent()[0]


def test_a_frame_is_shown_with_fields_that_it_has() -> None:
    shown = [each for each in examples() if each.get("type") in FROM_RUNNERS.keys() - sent()[0]]
    assert {each["type"] for each in shown} >= {"hello", "ready", "heartbeat", "complete", "goodbye"}
    assert [each for each in shown if set(each) - of(FROM_RUNNERS[each["type"]])] == []


def test_every_field_is_told() -> None:
    told = {name for each in examples() for name in keys(each)} | set(re.findall(r"`(\w+)`", PAGE))
    told |= set(re.findall(r'"(\w+)":', PAGE)) | set(re.findall(r"`(\w+): \w+`", PAGE))
    assert known() - told == set()


def test_no_field_is_told_that_there_is_not() -> None:
    assert {name for each in examples() for name in keys(each)} - known() - PAYLOAD == set()


@pytest.mark.parametrize(
    "model",
    [runs.Complete, runs.Fail, runs.HandBack, runs.Progress, runs.Extend, runs.Log],
    ids=lambda each: each.__name__,
)
def test_what_is_said_of_a_run_has_the_fields_of_its_row(model: type[BaseModel]) -> None:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", model.__name__).lower()
    told = {row[0]: set(re.findall(r"`(\w+)`", row[1])) for row in rows("path")}
    assert told[f"`{name}`"] == of(model) - {"fence"}


def test_every_route_is_there_and_no_other() -> None:
    told = set(re.findall(r"`((?:GET|POST) /runner/[\w/{}]+)", PAGE)) - {"POST /runner/runs/{id}/"}
    told |= {f"POST /runner/runs/{{id}}/{row[0].strip('`')}" for row in rows("path")}
    routes = {
        f"{method.upper()} {path.replace('{job}', '{id}')}"
        for path, methods in described()["paths"].items()
        if path.startswith("/runner/")
        for method in methods
    }
    assert told == routes | {"GET /runner/connect"}


def test_the_close_codes_are_those_of_the_code() -> None:
    numbers = [each for module in (session, outbox) for each in vars(module).values() if isinstance(each, int)]
    assert {int(row[0]) for row in rows("close code")} == {each for each in numbers if 1000 <= each < 5000}
