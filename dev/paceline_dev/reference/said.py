"""What the source says under each member of an enumeration, and under which comment it stands."""

import ast
import inspect
import re
import textwrap
from dataclasses import dataclass
from enum import StrEnum

from paceline_dev.errors import DevError

HEADING = re.compile(r"^    # (.+)$")


@dataclass(frozen=True, slots=True)
class Member:
    """One word, what it means, and the comment above it and its neighbours."""

    word: str
    meaning: str
    heading: str


def members(kind: type[StrEnum]) -> list[Member]:
    """All of them in their order; one that nobody has explained is an error."""
    source = textwrap.dedent(inspect.getsource(kind))
    lines = source.splitlines()
    (body,) = ast.parse(source).body
    assert isinstance(body, ast.ClassDef)
    found = []
    for node, after in zip(body.body, [*body.body[1:], None], strict=True):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            word = str(node.value.value)
            if not (isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)):
                raise DevError(f"{kind.__name__} has no sentence under {word}: say what it means")
            found.append(Member(word, inspect.cleandoc(str(after.value.value)), _above(lines, node.lineno)))
    return found


def _above(lines: list[str], number: int) -> str:
    return next((match[1] for line in reversed(lines[:number]) if (match := HEADING.match(line))), "")
