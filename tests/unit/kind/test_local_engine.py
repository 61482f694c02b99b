"""The daemons are started only inside a network that has been found closed, and are cleared away whole."""

import os
from pathlib import Path

import pytest

from paceline_dev.errors import DevError
from paceline_dev.kind import daemons, local_engine, sweep
from paceline_dev.kind.daemons import Record
from paceline_dev.kind.local_engine import containerd_config, dockerd_command
from paceline_dev.kind.namespace import Namespace, is_namespace
from paceline_dev.kind.places import Places
from paceline_dev.kind.sweep import cgroup_folders, remove_cgroups


class Daemons:
    """What would have been started."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []

    def start(self, command: list[str], *_: object) -> Record:
        self.commands.append(command)
        return Record(os.getpid(), 0, "")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """An engine whose network exists, on a machine where nothing is really started or removed."""
    monkeypatch.setattr("paceline_dev.kind.places.RUN", tmp_path / "run")
    monkeypatch.setattr("paceline_dev.kind.places.NETNS", tmp_path / "netns")
    monkeypatch.setattr(Namespace, "create", lambda _: None)
    monkeypatch.setattr(Namespace, "delete", lambda _: None)
    return Places(tmp_path / "kind")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Daemons:
    made = Daemons()
    monkeypatch.setattr(daemons, "start", made.start)
    return made


def test_nothing_is_started_in_a_network_with_a_way_out(
    here: Places, started: Daemons, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leaky(*_: object) -> None:
        raise DevError("is not closed")

    monkeypatch.setattr(local_engine, "require_contained", leaky)
    with pytest.raises(DevError, match="is not closed"):
        local_engine._start(here, Path("/packages"))
    assert started.commands == []


def test_a_daemon_outside_of_its_network_is_stopped_at_once(
    here: Places, started: Daemons, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: list[Places] = []
    monkeypatch.setattr(local_engine, "require_contained", lambda *_: None)
    monkeypatch.setattr(local_engine, "stop", stopped.append)
    monkeypatch.setattr(Namespace, "number", lambda _: 1)  # this process, which plays the daemon, is in another
    monkeypatch.setattr(Path, "is_socket", lambda _: True)

    with pytest.raises(DevError, match="containerd does not run in the network namespace"):
        local_engine._start(here, Path("/packages"))

    assert stopped == [here]
    assert len(started.commands) == 1


def test_both_daemons_are_started_inside(here: Places, started: Daemons, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_engine, "require_contained", lambda *_: None)
    monkeypatch.setattr(local_engine, "answers", lambda *_: True)
    monkeypatch.setattr(Namespace, "number", lambda _: Path("/proc/self/ns/net").stat().st_ino)
    monkeypatch.setattr(Path, "is_socket", lambda _: True)

    local_engine._start(here, Path("/packages"))

    assert [command[:4] for command in started.commands] == [
        ["nsenter", f"--net={here.namespace_file}", "--", "containerd"],
        ["nsenter", f"--net={here.namespace_file}", "--", "dockerd"],
    ]


def test_an_engine_whose_network_was_opened_is_stopped_and_keeps_its_images(
    here: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leaky(*_: object) -> None:
        raise DevError("is not closed")

    stopped: list[Places] = []
    monkeypatch.setattr(local_engine, "require_contained", leaky)
    monkeypatch.setattr(sweep, "stop_processes", stopped.append)
    for folder in (here.run, here.data):
        folder.mkdir(parents=True)

    with pytest.raises(DevError, match="is not closed"):
        local_engine.require_closed(here)

    assert stopped == [here]
    assert not here.run.exists()
    assert here.data.is_dir()


def test_a_daemon_that_dies_is_told_by_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "log").write_text('level=info\nfailed to start daemon: driver not supported: "overlay2"\n')
    with pytest.raises(DevError, match=r"dockerd ended while starting: failed to start daemon: .*overlay2"):
        local_engine._refuse_dead("dockerd", Record(2**22 + 1, 0, ""), tmp_path / "log", deadline=2**60)


def test_dockerd_has_nothing_of_the_machines(here: Places) -> None:
    command = dockerd_command(here)
    assert "--config-file=/dev/null" in command
    assert f"--cgroup-parent=/{here.cgroup}" in command
    assert f"--label=dev.paceline.engine={here.tag}" in command
    assert f"--data-root={here.data}/docker" in command
    assert not [word for word in command if "/var/" in word or "/etc/" in word]
    assert f'address = "{here.containerd_socket}"' in containerd_config(here)


def test_a_file_that_a_crash_left_is_no_namespace(tmp_path: Path) -> None:
    (tmp_path / "left").touch()
    assert not is_namespace(tmp_path / "left")
    assert not is_namespace(tmp_path / "none")
    assert is_namespace(Path("/proc/self/ns/net"))


def test_cgroups_of_an_engine_are_found_in_both_versions_and_removed_from_the_inside(tmp_path: Path) -> None:
    for controller in ("cpu", "memory"):
        (tmp_path / controller / "paceline-1" / "docker" / "kubelet").mkdir(parents=True)
        (tmp_path / controller / "paceline-2").mkdir()
    (tmp_path / "paceline-1" / "a").mkdir(parents=True)

    assert len(cgroup_folders("paceline-1", tmp_path)) == 3
    remove_cgroups(cgroup_folders("paceline-1", tmp_path))

    assert cgroup_folders("paceline-1", tmp_path) == []
    assert len(cgroup_folders("paceline-2", tmp_path)) == 2


def test_the_state_of_an_engine_goes_and_its_caches_stay(here: Places) -> None:
    for folder in (here.run, here.data / "docker", here.cache / "packages", here.cache / "node-image"):
        folder.mkdir(parents=True)
    sweep.remove_state(here)
    assert not here.run.exists()
    assert not here.data.exists()
    assert sorted(path.name for path in here.cache.iterdir()) == ["node-image", "packages"]
