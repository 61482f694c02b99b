"""The charts make the same objects as the kustomizations do."""

import json
import os
from pathlib import Path

import pytest
import yaml

from paceline_dev import REPOSITORY, crds
from paceline_dev.helm.program import CHARTS, Helm
from paceline_dev.images.recipe import default_tag
from paceline_dev.kubectl import Kubectl
from support.charts import by_name, in_the_chart, kustomized, values_option

pytestmark = pytest.mark.timeout(300)

MANIFESTS = REPOSITORY / "manifests"
VALUES = CHARTS / "paceline" / "values"
SYSTEM = "paceline-system"
INSTALLS = {
    "cluster-wide": SYSTEM,
    "namespaced": "paceline",
    "ha": SYSTEM,
    "gateway": SYSTEM,
    "external-metrics": SYSTEM,
}
"""Each kustomization that the chart can be, with the namespace that it names."""


def test_every_install_that_the_chart_can_be_has_its_values() -> None:
    assert {path.stem for path in VALUES.glob("*.yaml")} == INSTALLS.keys()


@pytest.mark.parametrize(("install", "namespace"), INSTALLS.items())
def test_the_chart_makes_the_objects_of_the_kustomization(
    helm: Helm, kubectl: Kubectl, install: str, namespace: str
) -> None:
    wanted = in_the_chart(kustomized(kubectl, MANIFESTS / install))
    found = by_name(helm.template("paceline", namespace, f"--values={VALUES / install}.yaml"))
    assert found.keys() == wanted.keys()
    for key, each in wanted.items():
        assert found[key] == each, key


def test_migration_and_a_databases_authority_are_the_components(helm: Helm, kubectl: Kubectl, tmp_path: Path) -> None:
    around = {
        "resources": [os.path.relpath(MANIFESTS / name, tmp_path) for name in ("cluster-wide", "gateway")],
        "components": [os.path.relpath(MANIFESTS / name, tmp_path) for name in ("migrate", "database-ca")],
        "namespace": SYSTEM,
    }
    (tmp_path / "kustomization.yaml").write_text(json.dumps(around))
    enabled = {"enabled": True}
    values = {"gateway": enabled, "migrate": enabled, "databaseCa": "paceline-database-ca"}
    found = by_name(helm.template("paceline", SYSTEM, values_option(tmp_path, values)))
    assert found == in_the_chart(kustomized(kubectl, tmp_path))


@pytest.mark.parametrize("beside", [(), ("database-ca",)], ids=["alone", "database-ca"])
def test_webhooks_are_the_component_beside_other_volumes_too(
    helm: Helm, kubectl: Kubectl, tmp_path: Path, beside: tuple[str, ...]
) -> None:
    around = {
        "resources": [os.path.relpath(MANIFESTS / "cluster-wide", tmp_path)],
        "components": [os.path.relpath(MANIFESTS / name, tmp_path) for name in (*beside, "webhooks")],
    }
    (tmp_path / "kustomization.yaml").write_text(json.dumps(around))
    values = {"webhooks": {"secretName": "paceline-webhooks"}, "databaseCa": "paceline-database-ca" if beside else ""}
    found = by_name(helm.template("paceline", SYSTEM, values_option(tmp_path, values)))
    wanted = in_the_chart(kustomized(kubectl, tmp_path))
    for each in (found, wanted):
        pod = each["apps/v1", "Deployment", SYSTEM, "paceline-operator"]["spec"]["template"]["spec"]
        for volumes in (pod["volumes"], pod["containers"][0]["volumeMounts"]):
            volumes.sort(key=lambda volume: volume["name"])  # kustomize puts what a patch adds first
            assert len(volumes) == 1 + len(beside)
    assert found == wanted


def test_the_tables_are_made_first_and_what_makes_them_is_there_before(helm: Helm) -> None:
    hooks = {}
    for each in helm.template("paceline", SYSTEM, "--set=migrate.enabled=true"):
        notes = each["metadata"].get("annotations", {})
        if "helm.sh/hook" in notes:
            assert notes["helm.sh/hook"] == "pre-install,pre-upgrade"
            assert "before-hook-creation" in notes["helm.sh/hook-delete-policy"], "or the next upgrade finds it there"
            hooks[each["kind"]] = int(notes["helm.sh/hook-weight"])
    assert hooks.keys() == {"ServiceAccount", "NetworkPolicy", "Job"}
    assert max(hooks["ServiceAccount"], hooks["NetworkPolicy"]) < hooks["Job"]


def test_the_kinds_are_the_models_own_and_outlive_their_release(helm: Helm) -> None:
    found = helm.template("paceline-crds", SYSTEM)
    assert all(each["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"} for each in found)
    wanted = (yaml.safe_load(text) for text in crds.render().values())
    assert by_name(found) == by_name(wanted)


@pytest.mark.parametrize("chart", ["paceline", "paceline-crds"])
def test_a_chart_has_the_version_of_the_tree(chart: str) -> None:
    meta = yaml.safe_load((CHARTS / chart / "Chart.yaml").read_text())
    assert (meta["name"], meta["version"], meta["appVersion"]) == (chart, default_tag(), default_tag())


def test_helm_has_nothing_to_say_against_them(helm: Helm) -> None:
    for values in sorted(VALUES.glob("*.yaml")):
        helm.run("lint", "--strict", str(CHARTS / "paceline"), f"--values={values}")
    helm.run("lint", "--strict", str(CHARTS / "paceline-crds"))
