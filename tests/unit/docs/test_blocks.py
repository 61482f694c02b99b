"""Manifests, programs and SQL of the pages fit what there is."""

import ast
import importlib
import re
from typing import Any

import jsonschema
import yaml

from paceline_dev.crds import root_schema
from paceline_dev.reference.sql import for_logins
from paceline_operator.api.schema import PRESERVE_UNKNOWN
from paceline_operator.api.v1alpha1 import GROUP, RESOURCES, VERSION, RunnerGroup
from unit.docs.pages import all_blocks

CALLED = re.compile(r"\bpaceline\.(\w+)\s*\(")
SCHEMAS = {each.kind: each for each in RESOURCES}


def closed(schema: Any) -> Any:
    """The schema of a kind as `kubectl apply` reads it: a field that it does not know is an error."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if isinstance(made.get("properties"), dict) and not made.get(PRESERVE_UNKNOWN) and made.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


def manifest_problem(document: Any) -> str:
    """What the API server would say to it; of a part of a manifest, to its fields."""
    api, kind = document.get("apiVersion"), document.get("kind")
    if api is None and set(document) == {"spec"}:
        whole = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "RunnerGroup", "metadata": {"name": "builds"}}
        spec = {"database": {"secretRef": {"name": "db"}}, "template": {}} | document["spec"]
        return manifest_problem(whole | {"spec": spec})
    if api != f"{GROUP}/{VERSION}":
        return ""
    if kind not in SCHEMAS:
        return f"there is no kind {kind}"
    schema = closed(root_schema(SCHEMAS[kind]))
    schema["properties"]["metadata"] = {"type": "object"}
    try:
        jsonschema.validate(document, schema)
        if kind == "RunnerGroup":
            RunnerGroup.model_validate(document)
    except ValueError as error:
        return str(error)
    except jsonschema.ValidationError as error:
        return f"{error.json_path}: {error.message}"
    return ""


def test_every_manifest_would_be_taken() -> None:
    documents = [(place, each) for place, block in all_blocks("yaml") for each in yaml.safe_load_all(block.code)]
    assert len(documents) >= 15
    assert [f"{place}: {wrong}" for place, each in documents if (wrong := manifest_problem(each))] == []


def test_a_manifest_with_a_field_that_there_is_not_is_found() -> None:
    assert "slot" in manifest_problem({"spec": {"slot": 4}})
    assert "minReplicas" in manifest_problem({"spec": {"autoscaling": {"maxReplicas": 5, "minReplicas": -1}}})
    assert "minReplica" in manifest_problem({"spec": {"autoscaling": {"maxReplicas": 5, "minReplica": 1}}})
    assert manifest_problem({"spec": {"autoscaling": {"maxReplicas": 5, "minReplicas": 1}}}) == ""


def python_problem(code: str) -> str:
    """Whether it can be compiled, and whether what it imports of ours is there."""
    try:
        tree = ast.parse(code)
        compile(code, "page", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        return str(error)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("paceline"):
            module = importlib.import_module(node.module or "")
            missing = [each.name for each in node.names if not hasattr(module, each.name)]
            if missing:
                return f"{node.module} has no {missing}"
    return ""


def test_every_program_compiles_and_imports_what_is_there() -> None:
    programs = [(place, block.code) for place, block in all_blocks("python")]
    assert len(programs) > 20
    assert [f"{place}: {wrong}" for place, code in programs if (wrong := python_problem(code))] == []


def test_a_program_that_imports_what_is_not_there_is_found() -> None:
    assert python_problem("from paceline import Queues")
    assert python_problem("await (")


def test_every_function_is_one_that_a_login_may_call() -> None:
    known = {each.name for each in for_logins()}
    called = [(place, set(CALLED.findall(block.code))) for place, block in all_blocks("sql")]
    assert called
    assert [f"{place}: {names - known}" for place, names in called if not names or names - known] == []


def test_a_block_in_a_list_is_indented_so_that_the_site_shows_it_there() -> None:
    found = all_blocks("console", "yaml", "python", "sql", "json", "")
    assert [f"{place}: indent it by 4" for place, block in found if block.indent % 4] == []
