"""The description of the API: whole, and shown by a page that loads nothing from elsewhere."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema

from gateway.conftest import Client
from paceline_gateway.door import is_public


async def test_the_page_and_all_that_it_loads_come_from_us(nobody: Client) -> None:
    page = await nobody.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "http" not in policy
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(loaded) == 4
    for path in loaded:
        answer = await nobody.get(f"/{path}")
        assert answer.status_code == 200, path
        assert answer.content
    assert not re.search(r"https?://|<script>|onload=", page.text)
    began = (await nobody.get("/docs/begin.js")).text
    assert 'url: "docs/openapi.json"' in began


async def test_no_other_file_is_to_be_had(nobody: Client) -> None:
    for path in ("/docs/index.html", "/docs/..%2f__init__.py", "/docs/%2e%2e/%2e%2e/__init__.py"):
        assert (await nobody.get(path)).status_code in (401, 404)


async def test_every_route_says_who_may_and_what_goes_wrong(nobody: Client) -> None:
    told = (await nobody.get("/openapi.json")).json()
    assert told["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    assert {"/v1/jobs", "/v1/call", "/runner/runs", "/cluster/nodes/{node}/drain", "/metrics"} <= told["paths"].keys()
    for path, operations in told["paths"].items():
        for operation in operations.values():
            problem = operation["responses"]["default"]["content"]["application/problem+json"]
            assert problem["schema"] == {"$ref": "#/components/schemas/Problem"}
            assert bool(operation.get("security")) is not is_public(path), path
            assert ("401" in operation["responses"]) is not is_public(path), path
            assert operation.get("summary") or operation.get("description"), path
    assert "HTTPValidationError" not in json.dumps(told)
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(told)):
        assert found_at(told, reference) is not None, reference
    assert told["components"]["schemas"]["Node"]["examples"]


async def test_every_body_and_every_answer_has_examples_that_fit_it(nobody: Client) -> None:
    told = (await nobody.get("/openapi.json")).json()
    looked_at = 0
    for what, content in spoken(told):
        schema = {**content["schema"], "components": told["components"]}
        shown = examples_of(told, content)
        assert shown, what
        for example in shown:
            fits = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
            assert not [error.message for error in fits.iter_errors(example)], what
            assert "incarnation" not in example or example["incarnation"] == 62, f"{what}: another story"
        looked_at += 1
    assert looked_at > 55


async def test_the_page_gets_what_it_can_read(nobody: Client) -> None:
    newer, older = (await nobody.get("/openapi.json")).json(), (await nobody.get("/docs/openapi.json")).json()
    assert older["openapi"] == "3.0.3"
    assert older["paths"].keys() == newer["paths"].keys()
    text = json.dumps(older)
    assert '"null"' in json.dumps(newer)
    for word in ('"type": "null"', '"const"', '"prefixItems"'):
        assert word not in text
    group = next(
        each for each in older["paths"]["/cluster/nodes/{node}/drain"]["post"]["parameters"] if each["name"] == "group"
    )
    assert (group["schema"]["type"], group["schema"]["nullable"]) == ("string", True)


def spoken(told: Any) -> Iterator[tuple[str, Any]]:
    """What is sent and answered as JSON where all went well."""
    for path, operations in told["paths"].items():
        for method, operation in operations.items():
            ways = {"body": operation["requestBody"]} if "requestBody" in operation else {}
            ways |= {code: each for code, each in operation["responses"].items() if code.startswith("2")}
            for way, each in ways.items():
                if content := each.get("content", {}).get("application/json"):
                    yield f"{method.upper()} {path}: {way}", content


def examples_of(told: Any, content: Any) -> list[Any]:
    """Those that the page shows: beside the schema, or in it."""
    if "example" in content:
        return [content["example"]]
    schema = content["schema"]
    if "$ref" in schema:
        schema = found_at(told, schema["$ref"].removeprefix("#/"))
    return list(schema.get("examples", []))


def found_at(told: Any, reference: str) -> Any:
    for part in reference.split("/"):
        told = told[part]
    return told
