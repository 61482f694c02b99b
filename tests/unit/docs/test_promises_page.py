"""Each promise names a test and a mutation that are there, and the mutation is of that promise."""

import re
import tomllib

from paceline_dev import REPOSITORY

PAGE = (REPOSITORY / "docs" / "explanation" / "promises.md").read_text()
ROW = re.compile(
    r"^\| (\d+) \| .* \| `(tests/\S+?)::(\w+)` \| `(tests/mutations/\w+\.toml)`: \*(.+?)\* \|$", re.MULTILINE
)
ROWS = ROW.findall(PAGE)


def test_there_are_ten() -> None:
    assert [int(number) for number, *_ in ROWS] == list(range(1, 11))


def test_each_test_is_one_of_its_promise() -> None:
    for number, path, *_ in ROWS:
        assert f"test_promise_{int(number):02}_" in path
        first = (REPOSITORY / path).read_text().splitlines()[0]
        assert first.startswith(f'"""Promise {number}:')


def test_each_broken_guard_is_there() -> None:
    for _, _, _, path, name in ROWS:
        known = [each["name"] for each in tomllib.loads((REPOSITORY / path).read_text())["mutation"]]
        assert name in known, f"{path} has no {name}"
