"""Whatever the OpenAPI document allows or forbids, the gateway answers as it says, and never by a fault of its own."""

import asyncio
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from gateway.conftest import Client, Registered, Site
from paceline.queue import Queue
from paceline_gateway.app import create_app
from paceline_gateway.settings import Settings

DOCUMENT: dict[str, Any] = create_app(Settings(database_url="postgresql://nowhere/none")).openapi()
OPERATIONS = [
    (method, path)
    for path, methods in DOCUMENT["paths"].items()
    if path.startswith(("/v1/", "/runner/", "/cluster/"))
    for method in methods
]
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 10
"""Of each sort and operation: 900 requests in all."""


def test_all_routes_are_in_the_document() -> None:
    assert {path for _, path in OPERATIONS if path.startswith("/v1/")} == {
        "/v1/jobs", "/v1/jobs/{job}", "/v1/jobs/{job}/logs", "/v1/jobs/{job}/cancel", "/v1/jobs/{job}/retry",
        "/v1/call", "/v1/dead", "/v1/dead/redrive", "/v1/dead/purge", "/v1/cron", "/v1/cron/{name}",
        "/v1/cron/{name}/pause", "/v1/cron/{name}/resume", "/v1/pools", "/v1/pools/{pool}",
        "/v1/pools/{pool}/kinds", "/v1/pools/{pool}/keys", "/v1/pools/{pool}/pause", "/v1/pools/{pool}/resume",
        "/v1/tokens", "/v1/tokens/{number}/revoke",
    }  # fmt: skip
    assert {path for _, path in OPERATIONS if path.startswith("/runner/")} == {
        "/runner/me", "/runner/register", "/runner/runs", "/runner/heartbeat", "/runner/drain", "/runner/deregister",
        *(f"/runner/runs/{{job}}/{about}" for about in ("complete", "fail", "hand-back", "progress", "extend", "log")),
    }  # fmt: skip
    assert {path for _, path in OPERATIONS if path.startswith("/cluster/")} == {
        "/cluster/nodes", "/cluster/nodes/{node}/drain", "/cluster/groups", "/cluster/groups/{group}/decisions",
        "/cluster/runners", "/cluster/unclaimable", "/cluster/database", "/cluster/promote",
    }  # fmt: skip


def waits(body: dict[str, Any]) -> bool:
    """Whether a call would be waited for."""
    seconds = body.get("timeout_seconds", 30)
    return isinstance(seconds, int | float) and seconds > 0


@pytest.fixture
async def there(runner: Client, register: Registered, queue: Queue) -> dict[str, int | str]:
    """What there is to be spoken of: a group, its runner, and a run that it has."""
    group = await queue.database.value("SELECT paceline.put_group('', '', 'builds', 'builds', false)")
    made, me = await queue.enqueue("mail"), await register()
    (run,) = (await runner.get("/runner/runs", params={"incarnation": me})).json()["runs"]
    return {"group": group, "node": "laptop", "job": made.id, "incarnation": me, "fence": run["fence"]}


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.name.lower())
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
async def test_it_answers_as_the_document_says(
    site: Site, address: str, there: dict[str, int | str], runner: Client, method: str, path: str, mode: GenerationMode
) -> None:
    token = f"Bearer {await site.tokens.create('ak')}"
    headers = {"authorization": runner.headers["authorization"] if path.startswith("/runner/") else token}
    operation = schemathesis.openapi.from_dict(DOCUMENT)[path][method]
    numbers = iter(range(1_000_000))

    @settings(
        max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: schemathesis.Case[Any]) -> None:
        if path == "/v1/call" and isinstance(case.body, dict) and waits(case.body):
            case.body["timeout_seconds"] = 0.05  # nobody is there to do it
        if "wait" in case.query or path == "/runner/runs":
            case.query["wait"] = 0
        if mode is GenerationMode.POSITIVE and next(numbers) % 2:  # every other one is of what there is
            for said in (case.path_parameters, case.query, case.body):
                if isinstance(said, dict):
                    said.update({name: value for name, value in there.items() if name in said})
        answer = case.call_and_validate(base_url=address, headers=headers, checks=CHECKS, timeout=30)
        assert answer.status_code < 500 or (path, answer.status_code) == ("/v1/call", 504)

    await asyncio.to_thread(ask)
