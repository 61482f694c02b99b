"""Values of the chart: wrong ones are refused with their place, secret ones have none, the others do what they say."""

import json
from pathlib import Path

import pytest
import yaml

from paceline_dev import chart_docs
from paceline_dev.errors import DevError
from paceline_dev.helm.program import CHARTS, RELEASE, Helm
from support.charts import Json, by_name, values_option

pytestmark = pytest.mark.timeout(300)

SYSTEM = "paceline-system"
WRONG: list[tuple[Json, str]] = [
    ({"operator": {"replicas": 0}}, "/operator/replicas"),
    ({"operator": {"replicas": "two"}}, "/operator/replicas"),
    ({"operator": {"replica": 3}}, "replica"),
    ({"operators": {"replicas": 3}}, "operators"),
    ({"scope": "Everywhere"}, "/scope"),
    ({"image": {"tag": 1.0}}, "/image/tag"),
    ({"image": {"repository": "registry.example.com/paceline-operator:0.2.0"}}, "/image/repository"),
    ({"operator": {"spread": "hard"}}, "/operator/spread"),
    ({"gateway": {"service": {"port": 80000}}}, "/gateway/service/port"),
    ({"gateway": {"ingress": {"enabled": True, "host": "gateway.example.com"}}}, "/gateway/ingress/tlsSecretName"),
    ({"gateway": {"ingress": {"enabled": True, "tlsSecretName": "tls"}}}, "/gateway/ingress/host"),
    ({"scope": "Namespace", "externalMetrics": {"enabled": True}}, "/externalMetrics/enabled"),
    ({"operator": {"enabled": False}, "externalMetrics": {"enabled": True}}, "/externalMetrics/enabled"),
    ({"migrate": {"secretName": ""}}, "/migrate/secretName"),
    ({"webhooks": {"secretName": "https://hooks.example.com/x"}}, "/webhooks/secretName"),
    ({"webhooks": {"form": "teams"}}, "/webhooks/form"),
    ({"webhooks": {"runbooks": "https://wiki.example.com"}}, "/webhooks/runbooks"),
    ({"gateway": {"podAnnotations": {"scrape": True}}}, "/gateway/podAnnotations/scrape"),
]


@pytest.mark.parametrize(("values", "place"), WRONG, ids=lambda part: part if isinstance(part, str) else "")
def test_a_wrong_value_is_refused_with_its_place(helm: Helm, tmp_path: Path, values: Json, place: str) -> None:
    done = helm.run("template", RELEASE, str(CHARTS / "paceline"), values_option(tmp_path, values), check=False)
    assert done.returncode != 0
    assert "values don't meet the specifications of the schema" in done.stderr
    assert f"'{place}'" in done.stderr


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"gateway": {"databaseUrl": "postgresql://ann:secret-word@db/x"}}, "databaseUrl"),
        ({"migrate": {"url": "postgresql://ann:secret-word@db/x"}}, "url"),
        (
            {"gateway": {"env": [{"name": "PACELINE_DATABASE_URL", "value": "postgresql://ann:secret-word@db/x"}]}},
            "/gateway/env/0/value",
        ),
        ({"operator": {"env": [{"name": "MY_TOKEN", "value": "secret-word"}]}}, "/operator/env/0/value"),
    ],
    ids=["gateway", "migrate", "url", "token"],
)
def test_what_is_secret_is_no_value(helm: Helm, tmp_path: Path, values: Json, place: str) -> None:
    done = helm.run("template", RELEASE, str(CHARTS / "paceline"), values_option(tmp_path, values), check=False)
    assert done.returncode != 0
    assert f"'{place}'" in done.stderr
    assert "secret-word" not in done.stdout + done.stderr


def test_a_secret_is_never_made_only_named(helm: Helm, tmp_path: Path) -> None:
    enabled = {"enabled": True}
    shown = [{"name": "PACELINE_LOG_LEVEL", "value": "debug"}]
    hidden = [{"name": "MY_TOKEN", "valueFrom": {"secretKeyRef": {"name": "mine", "key": "token"}}}]
    values = {"gateway": {**enabled, "env": hidden}, "migrate": enabled, "operator": {"env": shown}}
    found = helm.template("paceline", SYSTEM, values_option(tmp_path, values))
    assert "Secret" not in {each["kind"] for each in found}
    variables = {
        each["name"]: each.get("value")
        for document in found
        if document["kind"] in ("Deployment", "Job")
        for each in document["spec"]["template"]["spec"]["containers"][0]["env"]
    }
    plain = {name for name, value in variables.items() if value is not None}
    assert plain == {"PACELINE_LOG_LEVEL", "PACELINE_DATABASE_SECRET"}
    assert {"PACELINE_DATABASE_URL", "MY_TOKEN"} < variables.keys()


def test_what_is_said_of_a_pod_reaches_it_and_not_its_security(helm: Helm, tmp_path: Path) -> None:
    place = {
        "priorityClassName": "high",
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
    }
    said = {**place, "podAnnotations": {"note": "x"}}
    values = {
        "image": {"repository": "registry.example.com:5000/operator", "tag": "main", "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "registry"}],
        "install": "east",
        "operator": said,
        "gateway": {"enabled": True, **said},
    }
    found = by_name(helm.template("paceline", SYSTEM, values_option(tmp_path, values)))
    plain = by_name(helm.template("paceline", SYSTEM, "--set=gateway.enabled=true"))
    for part in ("operator", "gateway"):
        template = found["apps/v1", "Deployment", SYSTEM, f"paceline-{part}"]["spec"]["template"]
        usual = plain["apps/v1", "Deployment", SYSTEM, f"paceline-{part}"]["spec"]["template"]["spec"]
        pod, (container,), (before,) = template["spec"], template["spec"]["containers"], usual["containers"]
        assert template["metadata"]["annotations"] == {"note": "x"}
        assert {key: pod[key] for key in place} == place
        assert pod["imagePullSecrets"] == [{"name": "registry"}]
        assert (container["image"], container["imagePullPolicy"]) == (
            "registry.example.com:5000/operator:main",
            "Always",
        )
        assert (pod["securityContext"], container["securityContext"]) == (
            usual["securityContext"],
            before["securityContext"],
        )
        named = {"name": "PACELINE_INSTALL", "value": "east"}
        assert (named in container["env"]) is (part == "operator")
    (own, _) = found["rbac.authorization.k8s.io/v1", "Role", SYSTEM, "paceline-operator-lease"]["rules"]
    assert own["resourceNames"] == ["east-operator"], "its Lease is called after it"


def test_how_webhooks_are_written_reaches_the_operator(helm: Helm, tmp_path: Path) -> None:
    said = {"secretName": "hooks", "form": "slack", "runbooks": "https://wiki.example.com/paceline/"}
    found = by_name(helm.template("paceline", SYSTEM, values_option(tmp_path, {"webhooks": said})))
    pod = found["apps/v1", "Deployment", SYSTEM, "paceline-operator"]["spec"]["template"]["spec"]
    variables = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
    assert variables["PACELINE_WEBHOOK_FORM"] == "slack"
    assert variables["PACELINE_WEBHOOK_RUNBOOKS"] == "https://wiki.example.com/paceline/"
    assert pod["volumes"] == [{"name": "webhooks", "secret": {"secretName": "hooks"}}]


def test_an_ingress_has_tls_and_leads_to_the_gateway(helm: Helm, tmp_path: Path) -> None:
    ingress = {"enabled": True, "className": "nginx", "host": "gateway.example.com", "tlsSecretName": "gateway-tls"}
    values = {"gateway": {"enabled": True, "ingress": ingress}}
    found = by_name(helm.template("paceline", SYSTEM, values_option(tmp_path, values)))
    spec = found["networking.k8s.io/v1", "Ingress", SYSTEM, "paceline-gateway"]["spec"]
    assert spec["tls"] == [{"hosts": ["gateway.example.com"], "secretName": "gateway-tls"}]
    (rule,) = spec["rules"]
    assert rule["host"] == "gateway.example.com"
    (path,) = rule["http"]["paths"]
    service = found["v1", "Service", SYSTEM, path["backend"]["service"]["name"]]
    assert path["backend"]["service"]["port"]["name"] in {each["name"] for each in service["spec"]["ports"]}


@pytest.mark.parametrize(
    ("ingress", "told"),
    [
        ({"enabled": True, "trustedProxies": ["10.244.0.0/16", "192.0.2.1"]}, "10.244.0.0/16 192.0.2.1"),
        ({"enabled": True}, None),
        ({"enabled": False, "trustedProxies": ["10.244.0.0/16"]}, None),
    ],
)
def test_the_gateway_believes_the_proxies_of_its_ingress_and_no_others(
    helm: Helm, tmp_path: Path, ingress: dict[str, object], told: str | None
) -> None:
    named = {"host": "gateway.example.com", "tlsSecretName": "gateway-tls", **ingress}
    values = {"gateway": {"enabled": True, "ingress": named}}
    found = by_name(helm.template("paceline", SYSTEM, values_option(tmp_path, values)))
    pod = found["apps/v1", "Deployment", SYSTEM, "paceline-gateway"]["spec"]["template"]["spec"]
    variables = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
    assert variables.get("PACELINE_TRUST_PROXY") == told


def test_whoever_installs_is_told_how_to_go_on(helm: Helm) -> None:
    options = ["--set=gateway.enabled=true", "--dry-run=client", "--namespace=ours"]
    said = helm.run("install", RELEASE, str(CHARTS / "paceline"), *options).stdout.partition("NOTES:")[2]
    assert "deployment/paceline-operator -n ours" in said
    assert "paceline migrate" in said
    assert "http://paceline-gateway.ours.svc:80" in said


def test_a_value_that_only_the_schema_or_only_the_file_knows_is_found(tmp_path: Path) -> None:
    schema = json.loads((CHARTS / "paceline" / "values.schema.json").read_text())
    values = yaml.safe_load((CHARTS / "paceline" / "values.yaml").read_text())
    unset = [each.path for each in chart_docs.values_of(schema, values) if each.default is None]
    assert unset == [f"{part}.resources.claims" for part in ("operator", "gateway", "migrate")]
    values["gateway"]["colour"] = "red"
    with pytest.raises(DevError, match="gateway has colour"):
        list(chart_docs.values_of(schema, values))
