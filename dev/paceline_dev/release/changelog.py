"""What the change log says of one version: the notes of its release."""

import re
from typing import Final

from paceline_dev.errors import DevError

NAME: Final = "CHANGELOG.md"
UNRELEASED: Final = "Unreleased"
HEADING: Final = re.compile(r"^## \[(?P<version>[^]]+)\](?: - (?P<day>\S+))?[^\n]*$", re.MULTILINE)
DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


def notes(text: str, version: str) -> str:
    """The text under the heading of a version, which must say the day unless it is `Unreleased`."""
    headings = [*HEADING.finditer(text)]
    for number, heading in enumerate(headings):
        if heading["version"] != version:
            continue
        if version != UNRELEASED and not DAY.fullmatch(heading["day"] or ""):
            raise DevError(f"{NAME}: the section [{version}] has no day: write `## [{version}] - YYYY-MM-DD`")
        end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
        if found := text[heading.end() : end].strip():
            return found + "\n"
        raise DevError(f"{NAME}: the section [{version}] is empty: say what is new for users")
    raise DevError(f"{NAME} has no section [{version}]: put `## [{version}] - YYYY-MM-DD` under [{UNRELEASED}]")
