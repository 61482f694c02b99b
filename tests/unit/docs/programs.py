"""Whether a command of a page can be typed: what it names must be there, in the form in which it is named."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import yaml
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command

from paceline_cli.main import app
from paceline_dev import REPOSITORY, chart_docs
from paceline_dev.__main__ import app as dev_app
from paceline_dev.crds import root_schema
from paceline_dev.reference.http import described
from paceline_operator.api.v1alpha1 import RESOURCES
from paceline_operator.domain import names

OURS = get_command(app)
TOOLS = get_command(dev_app)
TARGETS = frozenset(re.findall(r"^([a-z0-9-]+):.*##", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
VERBS = frozenset(
    {
        "annotate", "apply", "cordon", "create", "delete", "describe", "drain", "events", "exec", "explain", "get",
        "kustomize", "label", "logs", "patch", "port-forward", "rollout", "scale", "uncordon", "wait",
    }
)  # fmt: skip
KINDS = {name: each for each in RESOURCES for name in (*each.short_names, each.singular, each.plural)}
ANNOTATIONS = frozenset(
    value for value in vars(names).values() if isinstance(value, str) and value.startswith("paceline.dev/")
)
ROUTES = [re.compile(re.sub(r"\{\w+\}", "[^/?]+", path) + r"(?:\?.*)?$") for path in described()["paths"]]
OTHERS = frozenset(
    {
        "./roll.sh", "./start.sh", "cd", "cp", "curl", "docker", "echo", "export", "git", "grep", "journalctl", "kind",
        "node", "pg_dump", "pg_dumpall", "pg_restore", "psql", "sed", "seq", "sleep", "systemctl", "umask",
    }
)  # fmt: skip
"""Programs of which nothing more is known here."""
PLACES = re.compile(r"^(?:path/to/paceline/)?((?:manifests|crds|runner-image|docs|bench|dev)/?[\w./-]*)$")


def problem(words: list[str], beside: Path = REPOSITORY) -> str:
    """What is wrong with a command that is typed in the folder of a page; nothing if it can be typed."""
    program, *rest = words
    if program.endswith("python"):
        return _python(rest, beside)
    if program == "uvicorn":
        return _beside(f"{rest[0].partition(':')[0]}.py", beside)
    if check := PROGRAMS.get(program):
        return check(rest)
    return "" if program in OTHERS else f"{program} is no program that pages use"


def _python(words: list[str], beside: Path) -> str:
    if words[:2] == ["-m", "paceline_dev"]:
        return typed(TOOLS, words[2:])
    if words[0] == "-m":
        return "" if find_spec(words[1]) or words[1] == "paceline_bench" else f"there is no module {words[1]}"
    return _beside(words[0], beside)


def _beside(name: str, folder: Path) -> str:
    return "" if (folder / name).is_file() else f"{name} is not beside the page"


def typed(command: object, words: list[str], *, whole: bool = True) -> str:
    """Whether the real parser takes the words. Not `whole`: arguments may be missing, as in a sentence."""
    name = []
    while isinstance(command, TyperGroup):
        if not words or words[0].startswith("-"):
            return (
                ""
                if not words or words[0] in ("--help", "--version", "--install-completion")
                else f"unknown {words[0]}"
            )
        name.append(words[0])
        command = command.commands.get(words[0])
        words = words[1:]
    if not isinstance(command, TyperCommand):
        return f"there is no command {' '.join(name)}"
    if command.context_settings.get("allow_extra_args"):
        return ""
    context = command.context_class(command, info_name=" ".join(name))
    try:
        given, left, _ = command.make_parser(context).parse_args(list(words))
    except Exception as error:  # whichever class of usage error the parser has
        said = str(getattr(error, "message", error))
        return "" if said.endswith("requires an argument.") and not whole else f"{' '.join(name)}: {said}"
    if left:
        return f"{' '.join(name)} takes no {left}"
    missing = [
        each.name
        for each in command.params
        if isinstance(each, TyperArgument) and each.required and not given.get(each.name or "")
    ]
    return f"{' '.join(name)} lacks {missing}" if missing and whole else ""


def _paceline(words: list[str]) -> str:
    return typed(OURS, words)


def _kubectl(words: list[str]) -> str:
    if words[0] == "paceline":
        return typed(OURS, words[1:])
    if words[0] not in VERBS:
        return f"kubectl {words[0]} is no verb that pages use"
    if "--" in words:
        return problem(words[words.index("--") + 1 :])
    if words[0] == "explain" and (wrong := _explained(words[1])):
        return wrong
    if words[0] == "annotate" and words[1] in KINDS:
        keys = {re.split(r"[=-]?$|=", word)[0] for word in words[2:] if word.startswith("paceline.dev/")}
        if unknown := keys - ANNOTATIONS:
            return f"unknown annotations {unknown}"
    return next((wrong for word in words if (wrong := _place(word))), "")


def _explained(path: str) -> str:
    """Whether a field is there."""
    kind, *fields = path.split(".")
    if kind not in KINDS:
        return f"{kind} is none of our kinds"
    schema = root_schema(KINDS[kind])
    for field in fields:
        properties = schema.get("properties")
        found = properties.get(field) if isinstance(properties, dict) else None
        if not isinstance(found, dict):
            return f"there is no field {path}"
        schema = found
    return ""


def _make(words: list[str]) -> str:
    unknown = [word for word in words if "=" not in word and word not in TARGETS]
    return f"make has no target {unknown}" if unknown else ""


def _helm(words: list[str]) -> str:
    if words[0] not in ("install", "upgrade", "uninstall", "template", "get"):
        return f"helm {words[0]} is no verb that pages use"
    schema = yaml.safe_load((chart_docs.CHART / "values.schema.json").read_text())
    values = yaml.safe_load((chart_docs.CHART / "values.yaml").read_text())
    known = {each.path for each in chart_docs.values_of(schema, values)}
    given = {after.partition("=")[0] for word, after in pairwise(words) if word == "--set"}
    if unknown := given - known:
        return f"the chart has no values {unknown}"
    return next((wrong for word in words if (wrong := _place(word))), "")


def _curl(words: list[str]) -> str:
    for word in words:
        path = re.sub(r"^(?:https?://[^/]+|\$\w+)", "", word)
        if path.startswith(("/v1/", "/cluster/", "/runner/", "/health/")) and not any(
            each.match(path) for each in ROUTES
        ):
            return f"no gateway has {path}"
    return ""


def _pip(words: list[str]) -> str:
    text = (REPOSITORY / "pyproject.toml").read_text()
    for word in words:
        if match := re.match(r"(?:paceline|\.)\[([\w,]+)\]", word):
            unknown = [each for each in match[1].split(",") if f"\n{each} = [" not in text]
            if unknown:
                return f"there are no extras {unknown}"
    return ""


def _place(word: str) -> str:
    match = PLACES.match(word)
    return f"{word} is not in the repository" if match and not Path(REPOSITORY / match[1]).exists() else ""


def _in_cluster(words: list[str]) -> str:
    return problem(words)


PROGRAMS: dict[str, Callable[[list[str]], str]] = {
    "paceline": _paceline, "kubectl": _kubectl, "make": _make, "helm": _helm, "curl": _curl, "pip": _pip,
    "paceline-cluster": _in_cluster,
}  # fmt: skip
