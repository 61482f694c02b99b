"""What goes into a report: what is ours, from wherever it can be had."""

import json
import tarfile
from pathlib import Path

from paceline_cli.report.bundle import Bundle
from paceline_cli.report.clean import Cleaner
from paceline_cli.report.collect import Collector
from postgres.cli.process import unpacked
from unit.cli.cluster import Memory, at, thing

OURS = {"labels": {"paceline.dev/group": "builds"}}
OPERATOR = {"labels": {"app.kubernetes.io/name": "paceline"}}


def event(kind: str, name: str) -> dict[str, object]:
    return thing("Event", f"{name}.1", regarding={"kind": kind, "namespace": "ci", "name": name})


def cluster() -> Memory:
    return Memory(
        thing("RunnerGroup", "builds", spec={"database": {"secretRef": {"name": "db"}}}),
        thing("Runner", "builds-x1"), thing("Pod", "builds-x1-1", metadata=OURS),
        thing("Pod", "shop"), thing("Pod", "operator-1", "paceline-system", metadata=OPERATOR),
        thing("Secret", "db", data={"url": "aHVzaA=="}), thing("Secret", "other", data={"url": "aHVzaA=="}),
        thing("Lease", "main-operator", "paceline-system", metadata={"managedFields": [{"manager": "paceline"}]}),
        thing("Lease", "some-operator", "elsewhere", metadata={"managedFields": [{"manager": "some"}]}),
        event("Pod", "builds-x1-1"), event("Pod", "shop"), event("RunnerGroup", "builds"),
    )  # fmt: skip


async def collected(memory: Memory, file: Path) -> tuple[dict[str, str], Collector]:
    with Bundle(file) as bundle:
        collector = Collector(bundle, Cleaner(), lambda _: None)
        await collector.objects(at(memory))
        await collector.secrets(at(memory))
        await collector.events(at(memory))
    with tarfile.open(file) as archive:
        return unpacked(archive), collector


async def test_only_what_is_ours_is_collected(tmp_path: Path) -> None:
    texts, collector = await collected(cluster(), tmp_path / "r.tar.gz")
    assert set(texts) == {
        "objects/ci/runnergroup/builds.json", "objects/ci/runner/builds-x1.json", "objects/ci/pod/builds-x1-1.json",
        "objects/paceline-system/pod/operator-1.json", "objects/paceline-system/lease/main-operator.json",
        "objects/ci/secret/db.json", "events.json",
    }  # fmt: skip
    about = [each["regarding"]["name"] for each in json.loads(texts["events.json"])]
    assert about == ["builds-x1-1", "builds"]
    assert "aHVzaA==" not in "".join(texts.values())
    assert collector.failed == []


async def test_what_cannot_be_had_is_written_down_and_the_rest_collected(tmp_path: Path) -> None:
    memory = cluster()
    memory.forbidden = {("Pod", "ci"), ("Lease", None), ("Event", "ci")}
    texts, collector = await collected(memory, tmp_path / "r.tar.gz")
    assert {"objects/ci/runnergroup/builds.json", "objects/paceline-system/pod/operator-1.json"} <= set(texts)
    assert [each["what"] for each in collector.failed] == ["Pods in ci", "Events"]
    del memory.objects["Secret", "ci", "db"]
    _, collector = await collected(memory, tmp_path / "s.tar.gz")
    assert {"what": "Secret ci/db", "why": "it is not there"} in collector.failed
