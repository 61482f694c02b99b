"""The count of tests against real things comes from what they used, and a skip cannot hide one in CI."""

import json
from pathlib import Path

import pytest

from paceline_dev.__main__ import real_parts
from paceline_dev.errors import DevError

TESTS = """
import pytest

@pytest.fixture
def postgres(): ...

def test_real(postgres): ...

def test_plain(): ...

def test_real_but_failing(postgres): assert False
"""
BOUNCED = """
import pytest

@pytest.fixture(params=["pg18", "pg18-bouncer"])
def postgres(request): ...

@pytest.fixture
def bouncer(): ...

def test_on_each_server(postgres): ...

def test_its_own(bouncer): ...
"""
SKIPPED = "import pytest\n\ndef test_wants_a_tool(): pytest.skip('chromium is not installed')\n"


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.delenv("CI", raising=False)
    pytester.makeconftest('pytest_plugins = ["support.real"]')
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    return pytester


@pytest.mark.parametrize("workers", ["0", "2"])
def test_only_passed_tests_that_used_the_real_thing_are_counted(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    suite.makepyfile(TESTS)
    counts = suite.path / "out" / "counts.json"
    monkeypatch.setenv("PACELINE_REAL_PARTS", str(counts))
    result = suite.runpytest_subprocess("-n", workers)
    result.assert_outcomes(passed=2, failed=1)
    nobody = dict.fromkeys(("apiserver", "browser", "kind", "pgbouncer", "prometheus"), 0)
    assert json.loads(counts.read_text()) == {**nobody, "postgres": 1}


def test_what_ran_behind_pgbouncer_is_counted_apart(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    suite.makepyfile(BOUNCED)
    counts = suite.path / "counts.json"
    monkeypatch.setenv("PACELINE_REAL_PARTS", str(counts))
    suite.runpytest_subprocess("-n", "0").assert_outcomes(passed=3)
    assert json.loads(counts.read_text())["pgbouncer"] == 2


def test_a_skip_is_a_failure_in_ci_that_tells_its_reason(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.makepyfile(SKIPPED)
    suite.runpytest_subprocess("-n", "0").assert_outcomes(skipped=1)
    monkeypatch.setenv("CI", "true")
    result = suite.runpytest_subprocess("-n", "0")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*failure when CI=true*chromium is not installed*"])


def test_a_required_part_that_no_test_used_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = tmp_path / "counts.json"
    counts.write_text('{"postgres": 3, "apiserver": 0}')
    real_parts(counts, ["postgres"])
    assert "postgres 3, apiserver 0" in capsys.readouterr().out
    with pytest.raises(DevError, match="no test ran against the real apiserver, browser"):
        real_parts(counts, ["apiserver", "browser", "postgres"])
