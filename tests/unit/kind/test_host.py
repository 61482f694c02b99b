"""What a machine lacks for an engine of our own is said in one line."""

import os
import platform
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from paceline_dev.errors import DevError
from paceline_dev.kind.host import available_memory, require_local_engine, require_memory
from paceline_dev.kind.places import Places

WHY = "no Docker engine answers"
MEMINFO = "MemTotal:       24683624 kB\nMemFree:         1048576 kB\nMemAvailable:    1048576 kB\n"


@pytest.fixture
def good(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Places:
    """A machine that has everything."""
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**40))
    return Places(tmp_path / "kind")


def refusal(here: Places) -> str:
    with pytest.raises(DevError) as caught:
        require_local_engine(here, WHY)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_a_machine_that_has_everything_is_taken(good: Places) -> None:
    require_local_engine(good, WHY)


def test_without_linux_there_must_be_docker(good: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert refusal(good) == f"{WHY}, and an engine of our own needs Linux: start Docker and run this again"


def test_without_root_there_must_be_docker(good: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert refusal(good) == f"{WHY}, and an engine of our own needs root: start Docker, or run this as root"


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ({"ip"}, "needs ip, which is not here (Debian: iproute2): install that, or start Docker"),
        ({"nsenter", "dpkg"}, "needs dpkg, nsenter, which are not here (Debian: dpkg util-linux): install that"),
        ({"apt-get"}, "needs apt-get, which is not here"),
    ],
)
def test_missing_programs_are_named_with_their_packages(
    good: Places, monkeypatch: pytest.MonkeyPatch, missing: set[str], told: str
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name in missing else f"/usr/bin/{name}")
    assert told in refusal(good)


def test_a_full_disk_is_refused_before_anything_is_fetched(good: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2**29))
    assert refusal(good).startswith(f"the local engine needs about 1.0 GiB in {good.cache}, which has 0.5 GiB free")


def test_too_little_memory_is_refused_with_the_figures(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text(MEMINFO)
    with pytest.raises(DevError) as caught:
        require_memory(meminfo=tmp_path / "meminfo")
    assert str(caught.value) == (
        "a cluster needs about 2 GiB of memory, and 1.0 GiB are available: end something large and run this again"
    )


def test_enough_or_unknown_memory_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text(MEMINFO.replace("MemAvailable:    1048576", "MemAvailable:    4048576"))
    require_memory(meminfo=tmp_path / "meminfo")
    require_memory(meminfo=tmp_path / "none")
    assert available_memory("MemTotal: 1 kB\n") is None
