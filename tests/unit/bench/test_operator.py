"""The pieces of the operator's bench that need no cluster."""

import io
from pathlib import Path
from typing import Any

import pytest

from paceline_bench import budgets, on_site
from paceline_bench.bench import Run
from paceline_bench.crew import ready_status, registration
from paceline_bench.death import ended
from paceline_bench.errors import NotMeasuredError
from paceline_bench.measure import Measurement, Missing
from paceline_bench.operator import BENCH, CREATING, DEATHS, THOUSAND, WRITES
from paceline_bench.operator_command import command
from paceline_bench.parts import NOT_WANTED, take
from paceline_bench.site import apart_from_lease, group
from paceline_bench.writes import per_life
from paceline_dev.audit import Write
from paceline_dev.errors import DevError
from paceline_dev.progress import PlainReporter
from paceline_operator.api.core import Pod
from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.names import LABEL_GROUP, LABEL_REVISION, LABEL_RUNNER
from paceline_operator.domain.objects import build_pod, template_problem
from paceline_operator.domain.revision import revision_of


def _write(resource: str, code: int = 200, *, dry_run: bool = False) -> Write:
    return Write("o", "patch", resource, "", "bench", "x", code, dry_run)


def _run(*only: str) -> Run:
    return Run(report=PlainReporter(io.StringIO()), only=frozenset(only))


def test_every_write_to_a_runner_or_pod_counts_and_the_others_are_told_apart() -> None:
    found = [
        *[_write("runners")] * 6, *[_write("pods")] * 2, _write("pods", 409), _write("events"),
        _write("runnergroups"), _write("poddisruptionbudgets"),
        _write("pods", 201, dry_run=True),
    ]  # fmt: skip
    assert {each.name: each.value for each in per_life(found, 2)} == {
        "writes_per_life": 4.5, "event_writes_per_life": 0.5, "group_writes_per_life": 1.0,
        "dry_runs_per_group": 1,
    }  # fmt: skip


def test_a_lease_that_is_renewed_every_second_is_no_work() -> None:
    assert apart_from_lease([_write("leases"), _write("pods"), _write("leases")]) == [_write("pods")]


def test_an_operator_that_wrote_nothing_is_no_result() -> None:
    with pytest.raises(NotMeasuredError, match="no write"):
        per_life([_write("events")], 2)


def test_every_figure_has_a_label_and_every_budget_a_figure() -> None:
    derived = {each.name for each in BENCH.derived}
    named = {*CREATING, *WRITES, *DEATHS, *THOUSAND} | derived
    assert named == set(BENCH.labels)
    assert {each.name for each in budgets.load("operator")} <= named
    assert {name for plot in BENCH.plots for name in plot.names} <= named


async def test_a_part_is_left_out_only_if_nobody_wants_any_of_its_figures() -> None:
    async def part() -> list[Measurement]:
        return [Measurement("a", 1, "s")]

    assert await take(_run("c"), ("a", "b"), part) == [Missing("a", NOT_WANTED), Missing("b", NOT_WANTED)]
    assert await take(_run("a"), ("a", "b"), part) == [Measurement("a", 1, "s"), Missing("b", NOT_WANTED)]


async def test_a_figure_that_was_wanted_and_did_not_come_says_why() -> None:
    async def broken() -> list[Measurement]:
        raise NotMeasuredError("it did not become ready")

    reason = "it did not become ready"
    assert await take(_run(), ("a", "b"), broken) == [Missing("a", reason), Missing("b", reason)]
    assert await take(_run("b"), ("a", "b"), broken) == [Missing("a", NOT_WANTED), Missing("b", reason)]

    async def half() -> list[Measurement]:
        return [Measurement("a", 1, "s")]

    missing = (await take(_run(), ("a", "b"), half))[1]
    assert isinstance(missing, Missing)
    assert missing.reason == "its part gave no such figure"


def test_a_group_of_the_bench_is_one_that_the_operator_can_make_pods_of() -> None:
    model = RunnerGroup.model_validate(group("builds", 400))
    assert template_problem(model) == ""
    assert (model.spec.slots, model.spec.replicas, model.pool) == (1, 400, "builds")


def test_a_pretended_runner_says_what_the_one_in_the_pod_would() -> None:
    model = RunnerGroup.model_validate(group("builds", 1, scheduled=False))
    pod = build_pod(model, "builds-7xk2p", "uid-of-runner", 1, "bench")
    variables = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}  # type: ignore[call-overload, index, union-attr]  # parsed JSON
    pod["metadata"]["uid"] = "uid-of-pod"  # type: ignore[call-overload, index]  # parsed JSON
    said = registration(pod)
    assert (said.name, f"{said.namespace}/{said.group}") == (variables["PACELINE_NODE_ID"], variables["PACELINE_GROUP"])
    assert (said.install, said.revision) == (variables["PACELINE_INSTALL"], revision_of(model))
    assert (said.pod_uid, said.hostname, said.external) == ("uid-of-pod", "builds-7xk2p-1", False)
    assert pod["spec"]["schedulerName"] == "nobody"  # type: ignore[call-overload, index]  # parsed JSON
    assert {LABEL_GROUP, LABEL_RUNNER, LABEL_REVISION} == set(pod["metadata"]["labels"])  # type: ignore[arg-type, call-overload, index]  # parsed JSON


def test_a_pretended_status_is_one_of_a_ready_pod_that_has_not_ended() -> None:
    pod = {"metadata": {"name": "x", "uid": "u", "namespace": "n"}, "spec": {}, **ready_status()}
    read = Pod.model_validate(pod)
    assert {each.type: each.status for each in read.status.conditions}["Ready"] == "True"
    assert not ended(pod)


def test_a_container_that_has_terminated_is_an_end() -> None:
    assert ended({"status": {"containerStatuses": [{"state": {"terminated": {"exitCode": 137}}}]}})
    assert not ended({"status": {}})


def test_the_operator_looks_after_the_benchs_namespace_on_loopback_only() -> None:
    said = command(Path("k"), 8123).arguments
    assert said[1:] == (
        "operator", "--namespaces", "bench", "--install", "bench", "--kubeconfig", "k", "--lease-namespace", "bench",
        "--listen", "127.0.0.1:8123", "--log-format", "json",
    )  # fmt: skip


async def test_a_cluster_that_does_not_work_costs_its_own_figures_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> object:
        raise DevError("etcd ended (log: /some/where)")

    monkeypatch.setattr(on_site, "site", broken)
    with pytest.raises(NotMeasuredError) as caught:
        await on_site.on_site(Any, Any, Any, Any)  # type: ignore[arg-type]  # it fails before it looks at them
    assert "/some/where" not in str(caught.value)
    assert "/some/where" in capsys.readouterr().err
