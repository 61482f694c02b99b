"""`/docs` and `/openapi.json`: what there is, for people and for programs. Nothing on the page comes from elsewhere."""

import copy
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.requests import Request

from paceline_gateway.door import is_public
from paceline_gateway.examples import EXAMPLES, PLAIN
from paceline_gateway.problem import KIND, Problem, ProblemBody

try:
    from swagger_ui_bundle import swagger_ui_path  # type: ignore[import-untyped]  # it has none
except ModuleNotFoundError:  # then the page says what to install
    swagger_ui_path = None

ASSETS: Final = frozenset({"swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png"})
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""Swagger UI writes style attributes; scripts come from files alone."""
PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Paceline gateway</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="page"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/begin.js"></script>
</body>
</html>
"""
BEGIN: Final = """SwaggerUIBundle({
  url: "docs/openapi.json",
  dom_id: "#page",
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
});
"""
ANSWERS: Final = {
    "401": "There is no good token.",
    "403": "The token is not for this.",
    "429": "Too much: of bad tokens, or of jobs in the pool. Retry-After says when to come back.",
    "503": "Not now: the database is away, or too much is under way. Retry-After says when to come back.",
    "default": "What went wrong, as RFC 9457 has it, with one word for programs in `error`.",
}
router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def page() -> Response:
    """The page."""
    if swagger_ui_path is None:
        raise Problem(404, "not_installed", 'the page needs: pip install "paceline[gateway]"; see /openapi.json')
    return HTMLResponse(PAGE, headers={"Content-Security-Policy": POLICY})


@router.get("/docs/begin.js")
async def begin() -> Response:
    """What starts it."""
    return Response(BEGIN, media_type="text/javascript")


@router.get("/docs/openapi.json")
async def older(request: Request) -> Response:
    """The description as OpenAPI 3.0, the newest that the page can read."""
    return JSONResponse(as_3_0(request.app.openapi()))


@router.get("/docs/{asset}")
async def file(asset: str) -> Response:
    """What the page needs."""
    if swagger_ui_path is None or asset not in ASSETS:
        raise Problem(404, "not_found", "there is no such file")
    return FileResponse(Path(swagger_ui_path) / asset, headers={"Cache-Control": "public, max-age=86400"})


def install(app: FastAPI) -> None:
    """Let the app describe itself with its problems, and with what needs no token."""

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
            app.openapi_schema = with_examples(with_problems(found))
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign]  # FastAPI's own way to extend it


def with_problems(description: dict[str, Any]) -> dict[str, Any]:
    """Every route says what it answers when it does not do what was asked."""
    schemas = description.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = ProblemBody.model_json_schema()
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for path, operations in description["paths"].items():
        for operation in operations.values():
            answers = operation["responses"]
            if "HTTPValidationError" in str(answers.get("422")):
                del answers["422"]
            for code, text in ANSWERS.items():
                if code == "default" or not is_public(path):
                    answers.setdefault(code, {"description": text})
            for code, answer in answers.items():
                if not code.startswith("2") and "content" not in answer:
                    answer["content"] = {KIND: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return description


def with_examples(description: dict[str, Any]) -> dict[str, Any]:
    """Every body and every answer has one. They are put in here since FastAPI leaves out what is null in them."""
    schemas = description["components"]["schemas"]
    for name, shown in EXAMPLES.items():
        schemas[name]["examples"] = list(shown)
    for (method, path, way), example in PLAIN.items():
        operation = description["paths"][path][method]
        said = operation["requestBody"] if way == "body" else operation["responses"][way]
        said["content"]["application/json"]["example"] = example
    return description


def as_3_0(description: dict[str, Any]) -> dict[str, Any]:
    """The same in the words of OpenAPI 3.0, which knows no null, no const and no list of examples."""
    found: dict[str, Any] = _older(copy.deepcopy(description))
    found["openapi"] = "3.0.3"
    found["info"].pop("summary", None)
    return found


def _older(node: Any) -> Any:
    if isinstance(node, list):
        return [_older(each) for each in node]
    if not isinstance(node, dict):
        return node
    made = {key: _older(value) for key, value in node.items()}
    if isinstance(made.get("anyOf"), list) and {"type": "null"} in made["anyOf"]:
        left = [each for each in made.pop("anyOf") if each != {"type": "null"}]
        made |= {"nullable": True} | ({"anyOf": left} if len(left) > 1 else {} if not left else left[0])
    if "const" in made:
        made["enum"] = [made.pop("const")]
    if isinstance(made.get("examples"), list):
        made["example"] = made.pop("examples")[0]
    for bound in ("Minimum", "Maximum"):
        if isinstance(made.get(f"exclusive{bound}"), int | float) and not isinstance(made[f"exclusive{bound}"], bool):
            made[bound.lower()], made[f"exclusive{bound}"] = made[f"exclusive{bound}"], True
    if "prefixItems" in made:
        made["items"] = {"anyOf": made.pop("prefixItems")}
    return made
