"""Which engine is taken, and what its clients get to see. `docker` is a shell script here."""

import json
import os
from pathlib import Path

import pytest

from paceline_dev.errors import DevError
from paceline_dev.kind import engine as engines
from paceline_dev.kind.engine import Engine, find_engine, judge_info, users_engine
from paceline_dev.kind.namespace import Namespace
from paceline_dev.progress import PlainReporter

INFO: dict[str, object] = {"ServerVersion": "28.2.2", "OSType": "linux", "Labels": []}
DOCKER = """#!/bin/sh
here=$(dirname "$0")
echo "$@" >> "$here/calls"
case $1 in
info) cat "$here/info"; exit $(cat "$here/status") ;;
import) cat > /dev/null ;;
run) [ -f "$here/broken" ] && { echo "OCI runtime create failed" >&2; exit 125; }; echo "kind v0.33.0" ;;
fail) echo "first line" >&2; echo "Error: no such thing" >&2; exit 1 ;;
esac
"""


class Docker:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "docker").write_text(DOCKER)
        (folder / "docker").chmod(0o755)
        (folder / "kind").touch(0o755)
        self.answers(INFO)

    def answers(self, info: dict[str, object] | str, status: int = 0) -> None:
        (self.folder / "info").write_text(info if isinstance(info, str) else json.dumps(info))
        (self.folder / "status").write_text(str(status))

    @property
    def kind(self) -> Path:
        return self.folder / "kind"


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    folder = tmp_path / "docker-on-path"
    folder.mkdir()
    made = Docker(folder)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PACELINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PACELINE_ENGINE", raising=False)
    monkeypatch.setattr(engines, "find_kind", lambda _: made.kind)
    monkeypatch.setattr(engines, "ensure_running", lambda *_: tmp_path / "packages")
    return made


def test_a_docker_that_works_is_used_as_it_is(docker: Docker) -> None:
    found = find_engine(PlainReporter())
    assert not found.local
    assert found.exports() == []
    assert found.inside(["kubectl", "get"]) == ["kubectl", "get"]
    calls = (docker.folder / "calls").read_text()
    assert "run --rm --privileged --network=none" in calls
    assert "pull" not in calls


@pytest.mark.parametrize(
    ("status", "output", "lack"),
    [
        (0, json.dumps(INFO), ""),
        (1, "", "no Docker engine answers"),
        (1, json.dumps(INFO | {"ServerVersion": ""}), "no Docker engine answers"),
        (0, json.dumps(INFO | {"ServerErrors": ["Cannot connect"]}), "no Docker engine answers"),
        (0, json.dumps(INFO | {"OSType": "windows"}), "the Docker engine runs windows containers"),
        (0, json.dumps(INFO | {"Labels": ["dev.paceline.engine=0"]}), "DOCKER_HOST names an engine of Paceline's"),
        (0, json.dumps(INFO | {"Labels": None}), ""),
        (0, "Client:", "docker info gives an answer that is no JSON"),
    ],
)
def test_an_engine_is_judged_by_its_answer(status: int, output: str, lack: str) -> None:
    assert judge_info(status, output) == lack


def test_a_docker_that_answers_and_cannot_run_gives_way_to_our_own(docker: Docker) -> None:
    (docker.folder / "broken").touch()
    said = users_engine(docker.kind)
    assert isinstance(said, str)
    assert "answers but runs no privileged container" in said
    assert find_engine(PlainReporter()).local


def test_a_docker_that_does_not_answer_gives_way_to_our_own(docker: Docker, tmp_path: Path) -> None:
    docker.answers("", status=1)
    found = find_engine(PlainReporter())
    assert found.local
    assert found.program == tmp_path / "packages" / "bin" / "docker"
    assert found.exports()[0].startswith("export DOCKER_HOST=unix:///run/paceline-")


def test_the_user_may_force_either(docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_ENGINE", "local")
    assert find_engine(PlainReporter()).local
    docker.answers("", status=1)
    monkeypatch.setenv("PACELINE_ENGINE", "docker")
    with pytest.raises(DevError, match="no Docker engine answers: start Docker, or unset PACELINE_ENGINE"):
        find_engine(PlainReporter())


def test_an_unknown_engine_is_refused(docker: Docker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_ENGINE", "podman")
    with pytest.raises(DevError, match='PACELINE_ENGINE is "podman": use docker, local, or leave it out'):
        find_engine(PlainReporter())


def test_everything_of_a_local_engine_is_run_inside_its_network(docker: Docker) -> None:
    ours = Engine(docker.folder / "docker", docker.kind, "unix:///s", Namespace("n", Path("/run/netns/n")))
    assert ours.inside(["kind", "create"]) == ["nsenter", "--net=/run/netns/n", "--", "kind", "create"]


def test_proxies_and_other_engines_of_the_user_do_not_reach_ours(
    docker: Docker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid")
    monkeypatch.setenv("http_proxy", "http://proxy.invalid")
    monkeypatch.setenv("DOCKER_CONTEXT", "far-away")
    monkeypatch.setenv("DOCKER_HOST", "tcp://elsewhere:2375")
    ours = Engine(docker.folder / "docker", docker.kind, "unix:///s", Namespace("n", Path("/run/netns/n")))

    environment = ours.client_environment()

    assert environment["DOCKER_HOST"] == "unix:///s"
    assert not {"HTTPS_PROXY", "http_proxy", "DOCKER_CONTEXT"} & set(environment)
    theirs = Engine(docker.folder / "docker", docker.kind, None, None)
    assert theirs.client_environment()["DOCKER_HOST"] == "tcp://elsewhere:2375"


def test_a_failure_is_docker_own_last_words(docker: Docker) -> None:
    found = Engine(docker.folder / "docker", docker.kind, None, None)
    with pytest.raises(DevError, match=r"^docker fail now failed: Error: no such thing$"):
        found.docker("fail", "now", "and more")
    assert found.docker("fail", check=False).returncode == 1
