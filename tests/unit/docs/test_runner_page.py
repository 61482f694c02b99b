"""The page about the runner names what there is: every option, variable, cause, code and path, and no other."""

import inspect
import re

import pytest
from typer.core import TyperGroup, TyperOption
from typer.main import get_command

from paceline_cli.main import app
from paceline_dev import REPOSITORY
from paceline_runner import keeper, server
from paceline_runner.attempt import Cause

PAGE = (REPOSITORY / "docs" / "reference" / "runner.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The cells of all tables under a heading."""
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split(" | ") for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line] for line in lines]


def options() -> list[TyperOption]:
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    return [each for each in root.commands["run"].params if isinstance(each, TyperOption) and each.name != "help"]


def test_every_option_is_there_with_its_variable_and_its_default() -> None:
    told = {row[0]: row[1:3] for row in rows("Options")[1:]}
    for option in options():
        names = [option.envvar] if isinstance(option.envvar, str) else list(option.envvar or ())
        variables, default = told.pop(f"`{max(option.opts, key=len)}`")
        assert variables == ", ".join(f"`{name}`" for name in names)
        known = getattr(option.default, "value", option.default)
        if known not in (None, ""):
            assert default == f"`{known}`", option.name
    assert not told, "these are no options"


def test_every_cause_of_a_failure_is_there() -> None:
    causes = {value for name, value in vars(Cause).items() if name.isupper()}
    assert {row[0].strip("`") for row in rows("Metrics") if re.fullmatch(r"`[A-Z]\w+`", row[0])} == causes


def test_every_path_of_the_port_is_there() -> None:
    source = inspect.getsource(server)
    routes = {f"`{method} {path}`" for method, path in re.findall(r'case "(GET|POST)", "([^"]+)":', source)}
    routes.add("`POST /cluster/nodes/{name}/drain`")
    assert {row[0] for row in rows("Port")[1:] if row[0] != "---"} == routes


@pytest.mark.parametrize("code", ["0", "1", "2", str(keeper.FENCED)])
def test_every_exit_code_is_there(code: str) -> None:
    assert code in {row[0] for row in rows("Exit codes of `paceline run`")}
    if code not in ("2",):
        assert code in (get_command(app).commands["run"].help or "")  # type: ignore[attr-defined]  # it is a group
