"""The page about the HTTP API names every route, field and word that it has."""

import re
from pathlib import Path

import pytest

from paceline_gateway import dead, jobs
from paceline_gateway.app import create_app
from paceline_gateway.bodies import MOST_JOBS, JobBody
from paceline_gateway.cron import EntryBody
from paceline_gateway.pools import KeyBody, KindBody, LimitsBody
from paceline_gateway.settings import Settings
from paceline_gateway.tokens import TokenBody

PAGE = (Path(__file__).parents[3] / "docs/reference/http-api.md").read_text()
SOURCES = Path(jobs.__file__).parent
ROUTES = [
    (method.upper(), path.replace("{job}", "{id}").replace("{number}", "{id}"))
    for path, methods in create_app(Settings(database_url="postgresql://nowhere/none")).openapi()["paths"].items()
    if path.startswith("/v1/")
    for method in methods
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_route_is_there(method: str, path: str) -> None:
    shown = PAGE.replace("`.../resume`", "`POST /v1/cron/{name}/resume`")
    assert f"`{method} {path}`" in shown


BODIES = (JobBody, EntryBody, dead.Which, LimitsBody, KindBody, KeyBody, TokenBody)


@pytest.mark.parametrize("field", sorted({field for body in BODIES for field in body.model_fields}))
def test_every_field_is_there(field: str) -> None:
    assert f"`{field}`" in PAGE or f'"{field}"' in PAGE


@pytest.mark.parametrize("module", ["call", "jobs", "dead", "cron", "pools", "tokens", "identity"])
def test_every_word_of_an_error_is_there(module: str) -> None:
    words = re.findall(r'Problem\(\s*\d+, "(\w+)"', (SOURCES / f"{module}.py").read_text())
    assert words
    for word in words:
        assert f"`{word}`" in PAGE


def test_the_limits_are_those_of_the_code() -> None:
    assert f"up to {MOST_JOBS:,}" in PAGE
    assert f"at most {jobs.LONGEST_WAIT}" in PAGE
    assert f"`limit` is at most {jobs.MOST_LISTED}" in PAGE
    assert f"at most {dead.MOST:,}" in PAGE
