"""A manifest with a fault is found before it meets a cluster."""

import shutil
from pathlib import Path

import pytest

from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError
from paceline_dev.manifests import validate

SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: x}
spec: {ports: [{port: 80, tagretPort: 8000}]}
"""
GROUP = """
apiVersion: paceline.dev/v1alpha1
kind: RunnerGroup
metadata: {name: x}
spec: {database: {secretRef: {name: d}}, slot: 4, autoscaling: {maxReplicas: none}, template: {spec: {any: thing}}}
"""
MONITOR = """
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: x}
spec: {selector: {matchLabels: {a: b}}, endpoints: [{port: metrics, honourLabels: true}]}
"""
GENERATOR = """
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: []
configMapGenerator: [{name: x, files: [gone.json]}]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copytree(REPOSITORY / "crds", tmp_path / "crds")
    shutil.copytree(REPOSITORY / "manifests", tmp_path / "manifests")
    return tmp_path


def test_what_we_ship_is_valid(root: Path) -> None:
    validate(root)
    assert list((root / "manifests").rglob("*.yaml"))


def test_a_misspelt_field_of_a_builtin_kind_is_named_with_its_file(root: Path) -> None:
    (root / "manifests" / "service.yaml").write_text(SERVICE)
    with pytest.raises(DevError, match=r"manifests/service.yaml: v1 Service: .*tagretPort"):
        validate(root)


def test_what_does_not_say_what_it_is_is_named(root: Path) -> None:
    (root / "manifests" / "nothing.yaml").write_text("metadata: {name: x}")
    with pytest.raises(DevError, match=r"manifests/nothing.yaml: a document has no apiVersion and no kind"):
        validate(root)


def test_every_fault_of_our_own_kind_is_told_at_once(root: Path) -> None:
    (root / "manifests" / "group.yaml").write_text(GROUP)
    with pytest.raises(DevError) as caught:
        validate(root)
    assert "'slot' was unexpected" in str(caught.value)
    assert "$.spec.autoscaling.maxReplicas: 'none' is not of type 'integer'" in str(caught.value)
    assert "template" not in str(caught.value)


def test_a_kind_that_nobody_defines_is_refused(root: Path) -> None:
    (root / "manifests" / "odd.yaml").write_text("apiVersion: paceline.dev/v9\nkind: Odd\n")
    (root / "manifests" / "older.yaml").write_text("apiVersion: extensions/v1beta1\nkind: Ingress\n")
    with pytest.raises(DevError) as caught:
        validate(root)
    assert "no CRD in crds/ defines paceline.dev/v9 Odd" in str(caught.value)
    assert "knows no extensions/v1beta1 Ingress" in str(caught.value)


def test_a_component_that_is_not_there_is_named(root: Path) -> None:
    (root / "manifests" / "mine").mkdir()
    (root / "manifests" / "mine" / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\ncomponents: [../migrate, ../immigrate]\n"
    )
    with pytest.raises(DevError) as caught:
        validate(root)
    assert str(caught.value).splitlines()[1:] == [
        "manifests/mine/kustomization.yaml: its component ../immigrate is not there"
    ]


def test_only_the_kinds_of_others_that_are_listed_go_through_unchecked(root: Path) -> None:
    (root / "manifests" / "pooler.yaml").write_text("apiVersion: postgresql.cnpg.io/v1\nkind: Pooler\n")
    with pytest.raises(DevError, match=r"knows no postgresql.cnpg.io/v1 Pooler"):
        validate(root)


def test_a_template_is_left_to_helm_and_only_in_a_chart(root: Path) -> None:
    stray = root / "manifests" / "samples" / "templates" / "service.yaml"
    stray.parent.mkdir()
    stray.write_text(SERVICE)
    with pytest.raises(DevError, match=r"manifests/samples/templates/service.yaml: v1 Service"):
        validate(root)


def test_a_misspelt_field_of_the_prometheus_operator_is_named(root: Path) -> None:
    (root / "manifests" / "monitor.yaml").write_text(MONITOR)
    with pytest.raises(DevError, match=r"ServiceMonitor: \$\.spec\.endpoints\[0\]: .*honourLabels"):
        validate(root)


def test_a_file_that_a_config_map_is_made_of_must_be_there(root: Path) -> None:
    (root / "manifests" / "other").mkdir()
    (root / "manifests" / "other" / "kustomization.yaml").write_text(GENERATOR)
    with pytest.raises(DevError, match=r"its resource gone\.json is not there"):
        validate(root)
