"""The settings on the page are those that the tests run with."""

import configparser
import re

from paceline_dev import REPOSITORY
from paceline_dev.pgbouncer import SETTINGS

PAGE = (REPOSITORY / "docs/how-to/pgbouncer.md").read_text()


def test_the_settings_that_are_shown_are_the_ones_that_are_tested() -> None:
    shown, tested = configparser.ConfigParser(), configparser.ConfigParser()
    (block,) = re.findall(r"```ini\n(.*?)```", PAGE, re.DOTALL)
    shown.read_string(block)
    tested.read_string(SETTINGS)
    assert {"pool_mode", "auth_type", "auth_file"} <= set(shown["pgbouncer"])
    for name, value in shown["pgbouncer"].items():
        assert name == "auth_file" or tested["pgbouncer"][name] == value
    assert all("auth_user=" in settings["databases"].popitem()[1] for settings in (shown, tested))


def test_the_warning_on_the_page_is_the_operators() -> None:
    (said,) = re.findall(r"`(a database sends no wake-ups[^`]*)`", PAGE)
    assert " ".join(said.split()) in (REPOSITORY / "operator/paceline_operator/adapters/bell.py").read_text()
