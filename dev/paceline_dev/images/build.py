"""Builds the images that are not there yet as they should be, in the order in which they need each other."""

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from paceline.testing.postgres import bundled
from paceline.testing.scratch import last_words
from paceline_dev import REPOSITORY
from paceline_dev.cache import cache_root, locked
from paceline_dev.errors import DevError
from paceline_dev.images.base import find_base, image_id, label_of
from paceline_dev.images.context import Member, members, pack
from paceline_dev.images.recipe import (
    EXAMPLES,
    KEY_LABEL,
    POSTGRES,
    RECIPES,
    RUNNER,
    Recipe,
    build_arguments,
    build_key,
    default_tag,
    read_source,
)
from paceline_dev.images.wheels import find_wheels
from paceline_dev.kind.engine import Engine
from paceline_dev.progress import Reporter, Task

# Docker's old builder says "Step 3/9 : RUN x", BuildKit "#7 [build 3/9] RUN x".
_STEP = re.compile(r"^(?:Step \d+/\d+ :|#\d+ \[[^]]*\]) (.+)")


@dataclass(frozen=True, slots=True)
class Image:
    """An image that the engine has."""

    reference: str
    size: int
    """Bytes, with its base."""


def build_images(
    engine: Engine, report: Reporter, tag: str = "", *,
    again: bool = False, recipes: Sequence[Recipe] = RECIPES, root: Path = REPOSITORY,
) -> list[Image]:  # fmt: skip
    """All of them under one tag; `again` builds also what has not changed, from its first line.

    `root` is the tree that they are made from: this one, or that of a release.
    """
    tag = tag or default_tag(root)
    with locked(cache_root() / "images" / "build.lock", report.line):
        base = find_base(engine, report)
        for recipe in recipes:
            _build_one(engine, recipe, root, base, tag, report, again=again)
    return [_look(engine, f"{recipe.name}:{tag}") for recipe in recipes]


def _look(engine: Engine, reference: str) -> Image:
    found = engine.docker("image", "inspect", "--format", "{{.Size}}", reference)
    return Image(reference, int(found.stdout))


def _build_one(
    engine: Engine, recipe: Recipe, root: Path, base: str, tag: str, report: Reporter, *, again: bool
) -> None:
    source, reference = read_source(root), f"{recipe.name}:{tag}"
    arguments, parent, wheels = build_arguments(source, base), base, None
    if recipe.lock:
        arch = engine.docker("version", "--format", "{{.Server.Arch}}").stdout.strip()
        wheels = find_wheels(recipe.lock, arch, report, root)
    if not recipe.lock:
        parent = f"{RUNNER.name}:{tag}"
        # The old builder makes also the stage that is not asked for: any image does, Node's need not be here.
        arguments = {"RUNNER": parent} | ({"NODE": base} if recipe is EXAMPLES else {})
    content = members(root / recipe.folder, recipe.containerfile, wheels)
    _build(engine, recipe, reference, content, arguments, parent, source.epoch or 0, report, again=again)


def _build(
    engine: Engine, recipe: Recipe, reference: str, content: Sequence[Member], arguments: Mapping[str, str],
    parent: str, time: int, report: Reporter, *, again: bool = False,
) -> None:  # fmt: skip
    key = build_key(recipe, content, arguments, image_id(engine, parent))
    if again or label_of(engine, reference) != key:
        options = build_options(recipe, reference, arguments, key) + (["--no-cache"] if again else [])
        with tempfile.TemporaryFile() as context, report.task(f"building {reference}") as task:
            pack(content, context, time)
            context.seek(0)
            log = cache_root() / "images" / f"{recipe.name.rpartition('/')[2]}.log"
            _run(engine, options, context, log, task)


def build_postgres(engine: Engine, report: Reporter) -> str:
    """PostgreSQL with the programs of this environment, for stories of an install that brings its own."""
    reference = f"{POSTGRES.name}:18"
    with locked(cache_root() / "images" / "build.lock", report.line):
        base = find_base(engine, report)
        content = [*members(REPOSITORY / POSTGRES.folder, POSTGRES.containerfile), *_postgres_programs()]
        _build(engine, POSTGRES, reference, content, {"BASE": base}, base, 0, report)
    return reference


def _postgres_programs() -> Iterator[Member]:
    """Where they find each other: their libraries are beside the package."""
    programs = bundled().folder.parent
    site = programs.parents[1]
    folders = [*(programs / name for name in ("bin", "lib", "share")), site / f"{programs.parent.name}.libs"]
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        yield Member(f"programs/{path.relative_to(site).as_posix()}", path)


def _run(engine: Engine, options: list[str], context: IO[bytes], log: Path, task: Task) -> None:
    with log.open("w") as said:
        process = subprocess.Popen(
            [engine.program, "build", *options, "-"],
            env=_environment(engine),
            stdin=context,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                said.write(line)
                if step := _STEP.match(line):
                    task.advance(step[1])
    if process.returncode != 0:
        raise DevError(f"an image cannot be built: {last_words(log.read_text())} (log: {log})")


def build_options(recipe: Recipe, reference: str, arguments: Mapping[str, str], key: str) -> list[str]:
    """What `docker build` is told; never a network."""
    pairs = [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]
    return [
        "--network", "none", "--force-rm", "--file", recipe.containerfile, "--tag", reference,
        "--label", f"{KEY_LABEL}={key}", *pairs,
    ]  # fmt: skip


def _environment(engine: Engine) -> dict[str, str]:
    # Debian's client has no buildx; both builders make the same layers of our Containerfiles.
    builder = {"DOCKER_BUILDKIT": "0"} if engine.local else {"BUILDKIT_PROGRESS": "plain"}
    return engine.client_environment() | builder
