"""The tool that checks the tests: it must itself tell red from green, and from a test that never ran."""

import re
from pathlib import Path

import pytest

from paceline_dev.errors import DevError
from paceline_dev.mutate import Mutation, Outcome, Verdict, attempt, choose, load
from paceline_dev.progress import PlainReporter

GUARD = "def allowed(age: int) -> bool:\n    return age >= 18\n"
TEST = "from guard import allowed\n\n\ndef test_a_child_is_refused():\n    assert not allowed(17)\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "sdk").mkdir()
    (tmp_path / "sdk" / "guard.py").write_text(GUARD)
    (tmp_path / "test_guard.py").write_text(TEST)
    return tmp_path


def _try(tree: Path, replace: str, find: str = "age >= 18") -> Outcome:
    return attempt(Mutation("the age", "sdk/guard.py", find, replace, "test_guard.py"), tree)


def test_a_broken_guard_that_its_test_notices_is_red_and_the_source_is_untouched(tree: Path) -> None:
    assert _try(tree, "age >= 8").verdict is Verdict.RED
    assert (tree / "sdk" / "guard.py").read_text() == GUARD


def test_a_broken_guard_that_nobody_notices_is_told(tree: Path) -> None:
    outcome = _try(tree, "age > 18")
    assert outcome.verdict is Verdict.GREEN
    assert "test_guard.py does not notice" in outcome.detail


def test_a_mutation_that_breaks_the_import_is_not_taken_for_red(tree: Path) -> None:
    assert _try(tree, "age >=").verdict is Verdict.BROKEN


def test_a_mutation_that_breaks_a_fixture_is_not_taken_for_red(tree: Path) -> None:
    broken = "import pytest\n@pytest.fixture\ndef people(): return 1 / 0\ndef test_people(people): pass\n"
    (tree / "test_guard.py").write_text(broken)
    assert _try(tree, "age >= 8").verdict is Verdict.BROKEN


def test_a_test_that_does_not_exist_is_not_taken_for_red(tree: Path) -> None:
    outcome = attempt(Mutation("x", "sdk/guard.py", "age >= 18", "True", "test_guard.py::test_gone"), tree)
    assert outcome.verdict is Verdict.BROKEN


@pytest.mark.parametrize(("find", "times"), [("age > 21", 0), ("age", 2)])
def test_a_text_that_is_gone_or_not_unique_is_an_error(tree: Path, find: str, times: int) -> None:
    with pytest.raises(DevError, match=rf'"the age": its text occurs {times} times in sdk/guard.py'):
        _try(tree, "x", find=find)


def test_the_same_seed_draws_the_same_sample_and_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    many = [Mutation(str(number), "", "", "", "") for number in range(50)]
    report = PlainReporter()
    drawn = choose(many, 5, None, report)
    seed = int(capsys.readouterr().err.rpartition("seed ")[2])
    assert len(drawn) == 5
    assert choose(many, 5, seed, report) == drawn


def test_a_mutation_with_a_field_missing_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "half.toml").write_text('[[mutation]]\nname = "half"\nfile = "x"\n')
    with pytest.raises(DevError, match=r"half.toml: a mutation has name, file, find, replace and test"):
        load(tmp_path)


def test_two_mutations_of_one_name_are_refused(tmp_path: Path) -> None:
    entry = '[[mutation]]\nname = "twin"\nfile = "x"\nfind = "a"\nreplace = "b"\ntest = "t"\n'
    (tmp_path / "twins.toml").write_text(entry * 2)
    with pytest.raises(DevError, match='two mutations are called "twin"'):
        load(tmp_path)


def test_every_listed_mutation_still_fits_the_code(tmp_path: Path) -> None:
    """Here, because `make test` runs only five of them."""
    from paceline_dev import REPOSITORY

    mutations = load()
    assert mutations
    for mutation in mutations:
        source = REPOSITORY / mutation.file
        copy = tmp_path / mutation.file
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(source.read_text())
        mutation.apply(tmp_path)
        assert (REPOSITORY / mutation.test.partition("::")[0]).exists(), mutation.name


def test_no_mutation_is_made_in_a_function_that_a_later_schema_version_replaces() -> None:
    """It would change nothing that runs."""
    from paceline_dev import REPOSITORY

    defines = re.compile(r"CREATE (?:OR REPLACE )?FUNCTION (paceline\.\w+)\(")
    newest: dict[str, str] = {}
    renamed: set[str] = set()
    for path in sorted((REPOSITORY / "sdk/paceline/sql").glob("*/*.sql")):
        text = path.read_text()
        newest |= {name: str(path.relative_to(REPOSITORY)) for name in defines.findall(text)}
        renamed |= set(re.findall(r"ALTER FUNCTION (paceline\.\w+)\([^)]*\) RENAME", text))
    for mutation in load():
        if mutation.file.endswith(".sql"):
            before = (REPOSITORY / mutation.file).read_text().partition(mutation.find)[0] + mutation.find
            inside = defines.findall(before)[-1:]
            assert not inside or inside[0] in renamed or newest[inside[0]] == mutation.file, mutation.name
