"""Every claim of SECURITY.md names a test. Whether it is there: test_links."""

from typing import Any

import yaml

from paceline_dev import REPOSITORY
from paceline_operator.api.v1alpha1 import RunnerGroup, SecretReference
from paceline_operator.domain.objects import build_pod
from unit.docs.test_links import TESTS

SAMPLES = REPOSITORY / "manifests" / "samples"
PAGES = {name: (REPOSITORY / name).read_text() for name in ("SECURITY.md", "docs/how-to/operate.md")}


def test_enough_tests_are_named() -> None:
    assert [page for page, text in PAGES.items() if len(TESTS.findall(text)) < 5] == []


def test_every_line_of_the_tables_names_one() -> None:
    """But those of versions, and those that say what is meant to be possible."""
    for line in PAGES["SECURITY.md"].partition("## Who could do what")[2].partition("## Secrets")[0].splitlines():
        if line.startswith("|") and not line.startswith(("|---", "| can", "| cannot")):
            assert TESTS.search(line), line


def test_the_sample_policy_closes_the_port_of_every_runner_to_all_but_one_namespace() -> None:
    policy = yaml.safe_load((SAMPLES / "network-policy.yaml").read_text())["spec"]
    group = RunnerGroup.model_validate(yaml.safe_load((SAMPLES / "plain.yaml").read_text()))
    pod: dict[str, Any] = build_pod(group, "plain-x2k4b", "u", 1, "here")
    (chosen,) = policy["podSelector"]["matchExpressions"]
    assert chosen["operator"] == "Exists"
    assert chosen["key"] in pod["metadata"]["labels"]
    assert policy["policyTypes"] == ["Ingress"]
    (way,) = policy["ingress"]
    assert [each.keys() for each in way["from"]] == [{"namespaceSelector"}]
    (runner,) = pod["spec"]["containers"]
    assert [each["port"] for each in way["ports"]] == [each["name"] for each in runner["ports"]]


def test_a_secret_of_another_namespace_cannot_be_named() -> None:
    assert set(SecretReference.model_fields) == {"name"}
