"""A runner that cannot start says so in one line that names the fix, and exits 1."""

import asyncio
import contextlib
import os
import sys
from pathlib import Path

import pytest

GOOD = {"PACELINE_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/x", "PACELINE_APP": "shop:jobs"}


async def _run(folder: Path, *words: str, **variables: str) -> tuple[int, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PACELINE_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "paceline_cli", "run", *words, cwd=folder, env={**kept, **GOOD, **variables},
        stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        _, err = await asyncio.wait_for(process.communicate(), 30)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    assert process.returncode is not None
    return process.returncode, err.decode()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import nothing_like_this", 'cannot be imported: ModuleNotFoundError: No module named'),
        ("def broken(:", "cannot be imported: SyntaxError"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
        ("jobs = 5", "has a int of that name, no Jobs"),
        ("other = 5", "has nothing of that name"),
        ("from paceline import Jobs\njobs = Jobs()", "has no handlers"),
        (
            "from paceline import Jobs\njobs = Jobs()\n"
            "@jobs.handler('a')\ndef one(p): ...\n@jobs.handler('a')\ndef two(p): ...",
            'kind "a" has two handlers',
        ),
        (
            "from paceline import Jobs\njobs = Jobs()\n@jobs.handler('a')\ndef one(p, q: int): ...",
            'a parameter "q: int" that nobody fills',
        ),
    ],
)  # fmt: skip
async def test_handlers_that_cannot_be_had(tmp_path: Path, source: str, message: str) -> None:
    (tmp_path / "shop.py").write_text(source)
    code, err = await _run(tmp_path)
    assert code == 1
    assert message in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--app", "shop"], 'app "shop" is no place of handlers (write it like shop.jobs:jobs)'),
        (["--app", "nowhere:jobs"], 'there is no module "nowhere"'),
        (["--slots", "0"], "slots 0 is out of range"),
        (["--dispatchers", "9"], "dispatchers 9 is out of range (1 to 4)"),
        (["--stale-threshold", "12"], "stale threshold 12 s is too short for a heartbeat every 10 s (at least 16 s"),
        (["--name", "Big Name"], 'name "Big Name" is none for a runner'),
        (["--listen", "here:http"], 'listen address "here:http" is none (write it like 0.0.0.0:8080)'),
        (["--group", "a/b/c"], 'group "a/b/c" is none (write it like builds or ci/builds)'),
        (["--tags", "linux,b@d"], 'tag "b@d" is no name'),
        (["--taint", "gpu:Nope"], "Nope"),
        (["--database-url", "mysql://x"], "does not begin with postgresql://"),
    ],
)
async def test_options_that_make_no_sense(tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "shop.py").write_text("from paceline import Jobs\njobs = Jobs()\n@jobs.handler('a')\ndef one(p): ...\n")
    code, err = await _run(tmp_path, *words)
    assert code == 1
    assert message in err


async def test_the_project_may_say_it_all_and_a_mistyped_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("from paceline import Jobs\njobs = Jobs()\n@jobs.handler('a')\ndef one(p): ...\n")
    (tmp_path / "pyproject.toml").write_text('[tool.paceline]\napp = "shop:jobs"\nslots = 0\n')
    code, err = await _run(tmp_path)
    assert (code, "slots 0 is out of range" in err) == (1, True)
    (tmp_path / "pyproject.toml").write_text("[tool.paceline]\nslot = 5\n")
    code, err = await _run(tmp_path)
    assert code == 2
    assert '"slot"' in err.replace("│", "").replace("\n", " ")


async def test_no_database_at_all_names_every_way_to_give_one(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("from paceline import Jobs\njobs = Jobs()\n@jobs.handler('a')\ndef one(p): ...\n")
    code, err = await _run(tmp_path, PACELINE_DATABASE_URL="")
    assert code == 1
    assert "PACELINE_DATABASE_URL or DATABASE_URL" in err
