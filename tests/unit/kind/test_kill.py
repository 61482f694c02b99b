"""A container is killed on its own node, and one that is not there is said to be missing."""

from pathlib import Path

import pytest

from cluster.place import Json
from paceline_dev.errors import DevError
from paceline_dev.kind.kill import kill_container

POD: Json = {
    "metadata": {"name": "builds-7xk2p-1"},
    "spec": {"nodeName": "paceline-worker"},
    "status": {"containerStatuses": [{"name": "runner", "containerID": "containerd://c0ffee"}, {"name": "new"}]},
}


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A docker that notes what it is asked, and finds the process 42."""
    program = tmp_path / "docker"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" "$2" "$6" > {tmp_path}/asked\ncat {tmp_path}/found\n')
    program.chmod(0o755)
    (tmp_path / "found").write_text("/proc/42\n")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path


def test_it_is_looked_for_on_the_node_of_its_pod_by_its_id(docker: Path) -> None:
    kill_container(POD, "runner")
    assert (docker / "asked").read_text().splitlines() == ["exec", "paceline-worker", "c0ffee"]


def test_one_that_has_no_process_is_an_error(docker: Path) -> None:
    (docker / "found").write_text("")
    with pytest.raises(DevError, match=r"container runner of pod builds-7xk2p-1 .* no such process"):
        kill_container(POD, "runner")


@pytest.mark.parametrize("name", ["new", "other"])
def test_one_that_has_not_started_is_an_error(docker: Path, name: str) -> None:
    with pytest.raises(DevError, match=f"container {name} .* does not run"):
        kill_container(POD, name)
    assert not (docker / "asked").exists()
