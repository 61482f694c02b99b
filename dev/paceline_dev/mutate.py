"""Breaks the guards one by one, each in a copy of the tree, and wants to see the test that watches it turn red.

A test that stays green while its guard is broken proves nothing. The list is data: `tests/mutations/*.toml`.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from paceline.testing.scratch import last_words, memory_folder
from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError
from paceline_dev.progress import Reporter

ROOTS = ("sdk", "operator", "runner-image", "gateway", "cli", "dev")
LEFT_OUT = (".git", ".venv", "build", "dist", "__pycache__", ".mypy_cache", ".ruff_cache", ".hypothesis")
TEST_SECONDS = 300
PARALLEL = 2
PYTEST_FAILED = 1
FAILED = re.compile(r"\b\d+ failed\b")
"""A test that failed, not a fixture that broke: pytest ends with 1 for both."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One guard broken: in `file`, `find` becomes `replace`, and then `test` must fail."""

    name: str
    file: str
    find: str
    replace: str
    test: str

    def apply(self, tree: Path) -> None:
        """Break the guard in a copy of the tree; a text that is gone or not unique is an error of the list."""
        path = tree / self.file
        text = path.read_text() if path.is_file() else ""
        if text.count(self.find) != 1:
            raise DevError(
                f'mutation "{self.name}": its text occurs {text.count(self.find)} times in {self.file}, '
                "not once: bring tests/mutations up to date with the code"
            )
        path.write_text(text.replace(self.find, self.replace))


class Verdict(Enum):
    """What became of the test when its guard was broken."""

    RED = "red"
    GREEN = "stayed green"
    BROKEN = "could not run"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A mutation and what came of it; `detail` is for the reader of a bad one."""

    mutation: Mutation
    verdict: Verdict
    seconds: float
    detail: str


def load(folder: Path = REPOSITORY / "tests" / "mutations") -> list[Mutation]:
    """All mutations, in the order of files and lines; a name occurs once."""
    found: list[Mutation] = []
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text()).get("mutation", []):
            try:
                found.append(Mutation(**entry))
            except TypeError as error:
                raise DevError(f"{path.name}: a mutation has name, file, find, replace and test: {error}") from None
    names = [mutation.name for mutation in found]
    for name in {name for name in names if names.count(name) > 1}:
        raise DevError(f'tests/mutations: two mutations are called "{name}"')
    return found


def choose(mutations: Sequence[Mutation], sample: int | None, seed: int | None, report: Reporter) -> list[Mutation]:
    """All of them, or some at random by a seed that is printed, so that a bad draw can be drawn again."""
    if sample is None:
        return list(mutations)
    seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    report.line(f"{min(sample, len(mutations))} of {len(mutations)} mutations, seed {seed}")
    return random.Random(seed).sample(mutations, min(sample, len(mutations)))  # noqa: S311 -- a draw, not a secret


def run(mutations: Iterable[Mutation], report: Reporter) -> list[Outcome]:
    """Try each, two at a time, and say what came of it."""
    outcomes = []
    with ThreadPoolExecutor(PARALLEL) as pool:
        for outcome in pool.map(attempt, mutations):
            report.line(f"{outcome.verdict.value}: {outcome.mutation.name} ({outcome.seconds:.1f} s){outcome.detail}")
            outcomes.append(outcome)
    return outcomes


def attempt(mutation: Mutation, source: Path = REPOSITORY) -> Outcome:
    """Break one guard in a copy and run its test there."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="paceline-mutant-", dir=memory_folder()) as scratch:
        tree = Path(scratch) / "tree"
        shutil.copytree(source, tree, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        mutation.apply(tree)
        done = _test(tree, mutation.test)
    words = last_words(done.stdout + done.stderr)
    seconds = time.monotonic() - started
    if done.returncode == PYTEST_FAILED and FAILED.search(last_words(done.stdout)):
        return Outcome(mutation, Verdict.RED, seconds, "")
    if done.returncode == 0:
        return Outcome(mutation, Verdict.GREEN, seconds, f": {mutation.test} does not notice")
    return Outcome(mutation, Verdict.BROKEN, seconds, f": {mutation.test}: {words}")


def _test(tree: Path, test: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "PACELINE_REAL"))}
    environment["PYTHONPATH"] = os.pathsep.join(str(tree / root) for root in ROOTS)
    command = [sys.executable, "-m", "pytest", "-q", "-x", test]
    try:
        return subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=TEST_SECONDS
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -1, "", f"no answer after {TEST_SECONDS} s")
