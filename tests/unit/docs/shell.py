"""Commands as a page shows them: found, put together from their lines, and split where a shell would split them."""

import re
import shlex
from collections.abc import Iterator

from paceline_dev.site.markdown import Block

STARTS = re.compile(r"(?:paceline|kubectl|make|helm|pip|PYTHONPATH=\S+) ")
ENDS = frozenset({"|", "||", "&&", "&", ";", "(", ")"})
REDIRECTS = frozenset({">", ">>", "<"})
WORDS = frozenset({"for", "while", "do", "done", "if", "then", "fi", "in"})
SCRIPTS = frozenset({"bash", "sh"})
"""Languages of blocks of which every line is typed."""


def commands(block: Block) -> Iterator[list[str]]:
    """Every command of a block: lines after a `$` with those after a `>` below; without any `$`, those that look so."""
    if block.language in SCRIPTS:
        for line in block.code.replace("\\\n", " ").splitlines():
            yield from split(line)
        return
    lines = block.code.splitlines()
    prompted = any(line.startswith("$ ") for line in lines)
    whole = ""
    for line in [*lines, "$ "]:
        if whole and (line.startswith("> ") or whole.endswith("\\")):
            whole = f"{whole.removesuffix(chr(92))} {line.removeprefix('> ')}"
            continue
        if whole:
            yield from split(whole)
        whole = (
            line.removeprefix("$ ") if line.startswith("$ ") else line if not prompted and STARTS.match(line) else ""
        )


def split(line: str) -> Iterator[list[str]]:
    """The commands of one line, without redirections, assignments before them, and the words of the shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[str] = []
    skip = False
    for token in [*lexer, ";"]:
        if skip:
            skip = False
        elif token in REDIRECTS:
            skip = True
        elif token in ENDS:
            if words := _without_shell(found):
                yield words
            found = []
        else:
            found.append(token)


def _without_shell(words: list[str]) -> list[str]:
    if words and words[0] == "for":
        return []
    while words and (words[0] in WORDS or re.match(r"[A-Z_]+=", words[0])):
        words = words[1:]
    return words
