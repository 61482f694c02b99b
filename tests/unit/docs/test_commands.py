"""What a page tells people to type can be typed."""

import re
from collections.abc import Iterator

import pytest

from paceline_dev import REPOSITORY
from paceline_dev.site.markdown import Block, spans
from unit.docs.pages import PAGES, all_blocks, is_generated, text_of
from unit.docs.programs import OURS, problem, typed
from unit.docs.shell import commands, split

PLACEHOLDER = re.compile(r"[\[\]|…]|\.\.\.")


def shown() -> Iterator[tuple[str, list[str]]]:
    """Every command of every block, with where it stands."""
    for place, block in all_blocks("console", "bash", ""):
        for words in commands(block):
            yield place, words


def named() -> Iterator[tuple[str, list[str]]]:
    """Our own commands within sentences, as far as they are written out."""
    for page in PAGES:
        for span in spans(text_of(page)):
            if (
                re.match(r"(?:kubectl )?paceline [a-z]", span)
                and not PLACEHOLDER.search(span)
                and not is_generated(page)
            ):
                for words in split(span):
                    if words[0] == "paceline" or words[:2] == ["kubectl", "paceline"]:
                        yield f"{page}: {span}", words[words.index("paceline") + 1 :]


def test_every_command_of_a_block_can_be_typed() -> None:
    assert len(list(shown())) > 200
    wrongs = [(place, problem(words, (REPOSITORY / place).parent)) for place, words in shown()]
    assert [f"{place}: {wrong}" for place, wrong in wrongs if wrong] == []


def test_every_command_in_a_sentence_is_there_with_its_options() -> None:
    assert len(list(named())) > 100
    assert [f"{place}: {wrong}" for place, words in named() if (wrong := typed(OURS, words, whole=False))] == []


def test_every_line_of_a_script_is_a_command() -> None:
    script = (
        "for node in a b; do\n  curl -X POST \\\n    http://$node/v1/job\n"
        "  while make everything | grep ok; do sleep 2; done\ndone"
    )
    found = [*commands(Block("bash", script, 1, 0))]
    assert [words[0] for words in found] == ["curl", "make", "grep", "sleep"]
    assert [bool(problem(words)) for words in found] == [True, True, False, False]


@pytest.mark.parametrize(
    "line",
    [
        "paceline enqeue mail", "paceline enqueue mail --prio 3", "paceline jobs show",
        "paceline jobs list extra words",
        "kubectl paceline status --watchh", "kubectl frobnicate rgrp", "kubectl apply -k manifests/nowhere",
        "kubectl annotate rgrp builds paceline.dev/tainted=x", "kubectl explain rgrp.spec.slot", "make everything",
        "helm install paceline manifests/chart/paceline --set imag.repository=x", "pip install 'paceline[operators]'",
        "pip install '.[testing,runners]'",
        "curl http://gateway/v1/job", "kubectl exec deployment/x -- paceline webhook tset",
        "paceline-cluster kubctl get",
        "python -m paceline_dev nodes", "python -m no_such_module", "python no_such_program.py", "uvicorn nowhere:app",
    ],
)  # fmt: skip
def test_what_cannot_be_typed_is_found(line: str) -> None:
    (words,) = split(line)
    assert problem(words)
