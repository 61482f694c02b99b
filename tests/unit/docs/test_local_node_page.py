"""The page about the local node names every option and every fault, and no other."""

import re

from typer.core import TyperGroup, TyperOption
from typer.main import get_command

from paceline_dev import REPOSITORY
from paceline_dev.__main__ import app
from paceline_dev.node.faults import parse_node, parse_pod
from paceline_dev.node.node import LocalNode

PAGE = (REPOSITORY / "docs" / "reference" / "local-node.md").read_text()


def rows(heading: str) -> list[list[str]]:
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split(" | ") for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line] for line in lines][1:]


def test_every_option_is_there_with_its_default() -> None:
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    options = {each.opts[0]: each for each in root.commands["node"].params if isinstance(each, TyperOption)}
    told: dict[str, str] = {}
    for row in rows("Options"):
        names = re.findall(r"`(--[\w-]+)`", row[0])
        defaults = re.findall(r"`([^`]+)`", row[1]) if row[1].startswith("`") else []
        told |= dict(zip(names, defaults or [""] * len(names), strict=True))
    assert set(told) == set(options) - {"--help"}
    for name, default in told.items():
        if default:
            assert default == str(options[name].default), name


def test_every_fault_is_there_and_works() -> None:
    for on, annotations, methods, _ in rows("Faults"):
        parse = parse_node if on == "Node" else parse_pod
        for word in re.findall(r"`([^`]+)`", annotations):
            parse(word)
        for method in re.findall(r"`([^`]+)`", methods):
            assert callable(getattr(LocalNode, method))
