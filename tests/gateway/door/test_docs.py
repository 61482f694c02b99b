"""The description of the API: whole, and shown by a page that loads nothing from elsewhere."""

import json
import re
from typing import Any

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


def found_at(told: Any, reference: str) -> Any:
    for part in reference.split("/"):
        told = told[part]
    return told
