"""external.metrics.k8s.io: in whose words it answers, and whom it lets in."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest

from cluster.place import eventually
from paceline.errors import InvalidInputError
from paceline.testing.scratch import free_ports
from paceline_dev.pki import Authority, KeyPair
from paceline_operator.adapters.front_door import AUTHORITY, NAMES, FrontDoor
from paceline_operator.adapters.queue import Key
from paceline_operator.domain.metrics_api import API, METRIC, group_of
from paceline_operator.domain.scaling.told import DemandTold, NoDemandError
from paceline_operator.handlers import metrics_api
from paceline_operator.handlers.demands import Demands
from paceline_operator.handlers.metrics_api import MetricsApi
from paceline_operator.ports.cluster import Cluster
from paceline_operator.ports.errors import UnreachableError

TOLD = DemandTold(namespace="ci", group="builds", demand=7, ready=5, running=2, at=datetime(2026, 1, 5, tzinfo=UTC))
VALUE = f"/apis/{API}/namespaces/ci/{METRIC}?labelSelector=group%3Dbuilds"


@dataclass
class Maps:
    """A cluster that has one ConfigMap, or does not answer."""

    data: dict[str, str] | None
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def get(self, _resource: object, namespace: str, name: str) -> dict[str, Any] | None:
        self.asked.append((namespace, name))
        if self.data is None:
            raise UnreachableError
        return {"data": self.data}


@dataclass
class Scene:
    """An API that is served, and who may come."""

    pki: Path
    maps: Maps
    port: int = 0
    leads: bool = True
    refuse: NoDemandError | None = None
    asked: list[str] = field(default_factory=list)

    def know(self, key: Key, _now: datetime) -> DemandTold:
        if self.refuse is not None:
            raise self.refuse
        assert key == ("ci", "builds")
        return TOLD

    async def ask(self, address: str, key: Key) -> DemandTold:
        self.asked.append(address)
        return self.know(key, TOLD.at)

    async def get(self, path: str, pair: KeyPair | None) -> tuple[int, dict[str, Any]]:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if pair is not None:
            context.load_cert_chain(pair.certificate, pair.key)
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"https://127.0.0.1:{self.port}{path}", ssl=context) as answer,
        ):
            return answer.status, await answer.json(content_type=None)


@dataclass
class Callers:
    """Certificates."""

    aggregator: KeyPair
    stranger: KeyPair
    """Of the right authority, with a name that it does not vouch for here."""
    forger: KeyPair
    """The right name, signed by somebody else."""


@pytest.fixture
def callers(tmp_path: Path) -> Callers:
    for name in ("front", "other"):
        (tmp_path / name).mkdir()
    front, other = Authority(tmp_path / "front", "front-proxy-ca"), Authority(tmp_path / "other", "other-ca")
    return Callers(front.issue("front-proxy-client"), front.issue("somebody"), other.issue("front-proxy-client"))


@asynccontextmanager
async def served(scene: Scene, folder: str | None = None) -> AsyncIterator[None]:
    demands = Demands(scene.know, lambda: scene.leads, lambda: "10.0.0.9:8081")
    door = FrontDoor(cast("Cluster", scene.maps), folder)
    (scene.port,) = free_ports(1)
    async with MetricsApi(demands, scene.ask, door).served("127.0.0.1", scene.port):
        yield


@pytest.fixture
async def scene(callers: Callers, tmp_path: Path) -> AsyncIterator[Scene]:
    authority = (tmp_path / "front" / "front-proxy-ca.crt").read_text()
    made = Scene(tmp_path, Maps({AUTHORITY: authority, NAMES: json.dumps(["front-proxy-client"])}))
    async with served(made):
        await eventually(lambda: answers(made, callers.aggregator), "it is served")
        yield made


async def answers(scene: Scene, pair: KeyPair) -> bool:
    try:
        return (await scene.get(f"/apis/{API}", pair))[0] == 200
    except aiohttp.ClientError:
        return False


async def test_the_api_server_discovers_it_and_reads_a_value(scene: Scene, callers: Callers) -> None:
    _, found = await scene.get(f"/apis/{API}", callers.aggregator)
    assert (found["kind"], found["groupVersion"]) == ("APIResourceList", API)
    assert [(each["name"], each["namespaced"]) for each in found["resources"]] == [("paceline-demand", True)]
    status, values = await scene.get(VALUE, callers.aggregator)
    assert (status, values["kind"]) == (200, "ExternalMetricValueList")
    assert values["items"] == [
        {"metricName": METRIC, "metricLabels": {"group": "builds"}, "timestamp": "2026-01-05T00:00:00Z", "value": "7"}
    ]
    assert scene.maps.asked == [("kube-system", "extension-apiserver-authentication")]


async def test_whoever_is_not_the_api_server_is_not_let_in(scene: Scene, callers: Callers) -> None:
    status, body = await scene.get(VALUE, callers.stranger)
    assert (status, body["reason"]) == (403, "Forbidden")
    for pair in (callers.forger, None):
        with pytest.raises(aiohttp.ClientError):
            await scene.get(VALUE, pair)


async def test_without_a_list_of_names_every_name_of_the_authority_counts(scene: Scene, callers: Callers) -> None:
    assert scene.maps.data is not None
    scene.maps.data[NAMES] = "[]"
    async with served(scene):
        await eventually(lambda: answers(scene, callers.stranger), "the other name is let in")
        with pytest.raises(aiohttp.ClientError):
            await scene.get(VALUE, callers.forger)


async def test_a_number_that_nobody_knows_is_an_error_in_kubernetes_words(scene: Scene, callers: Callers) -> None:
    for missing, code, reason in ((True, 404, "NotFound"), (False, 503, "ServiceUnavailable")):
        scene.refuse = NoDemandError("because", missing=missing)
        status, body = await scene.get(VALUE, callers.aggregator)
        assert (status, body["kind"], body["code"], body["reason"], body["message"]) == (
            code, "Status", code, reason, "because",
        )  # fmt: skip


async def test_a_standby_asks_the_one_that_acts(scene: Scene, callers: Callers) -> None:
    scene.leads = False
    assert (await scene.get(VALUE, callers.aggregator))[1]["items"][0]["value"] == "7"
    assert scene.asked == ["10.0.0.9:8081"]


async def test_a_selector_that_names_no_group_is_told_how_to(scene: Scene, callers: Callers) -> None:
    status, body = await scene.get(f"/apis/{API}/namespaces/ci/{METRIC}", callers.aggregator)
    assert (status, body["reason"]) == (400, "BadRequest")
    assert "matchLabels: {group: NAME}" in body["message"]


async def test_a_certificate_of_the_users_own_is_shown_and_read_anew(
    scene: Scene, callers: Callers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics_api, "REFRESH", 0.02)
    monkeypatch.setattr(metrics_api, "AGAIN", 0.02)
    own = scene.pki / "own"
    own.mkdir()

    def put(pair: KeyPair) -> None:
        (own / "tls.key").write_bytes(pair.key.read_bytes())
        (own / "tls.crt").write_bytes(pair.certificate.read_bytes())

    async def shown() -> bytes:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(callers.aggregator.certificate, callers.aggregator.key)
        _, writer = await asyncio.open_connection("127.0.0.1", scene.port, ssl=context)
        try:
            found: ssl.SSLObject = writer.get_extra_info("ssl_object")
            return found.getpeercert(binary_form=True) or b""
        finally:
            writer.transport.abort()

    put(callers.stranger)
    async with served(scene, str(own)):
        await eventually(lambda: answers(scene, callers.aggregator), "it is served")
        assert await shown() == ssl.PEM_cert_to_DER_cert(callers.stranger.certificate.read_text())
        put(callers.forger)

        async def renewed() -> bool:
            return await shown() == ssl.PEM_cert_to_DER_cert(callers.forger.certificate.read_text())

        await eventually(renewed, "the new one is shown")


async def test_it_waits_for_an_api_server_that_does_not_answer(
    scene: Scene, callers: Callers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(metrics_api, "AGAIN", 0.02)
    known, scene.maps.data = scene.maps.data, None
    async with served(scene):

        async def told() -> bool:
            return "external metrics: The API server cannot be reached" in caplog.text

        await eventually(told, "it says why nothing is served")
        assert not await answers(scene, callers.aggregator)
        scene.maps.data = {}

        async def advised() -> bool:
            return "start the API server with --requestheader-client-ca-file" in caplog.text

        await eventually(advised, "it says what to do")
        scene.maps.data = known
        await eventually(lambda: answers(scene, callers.aggregator), "it is served")


@pytest.mark.parametrize("selector", ["group=builds", "group==builds", " group = builds "])
def test_a_group_is_named_by_a_label(selector: str) -> None:
    assert group_of(METRIC, selector) == "builds"


@pytest.mark.parametrize("selector", ["", "group", "group!=builds", "group in (a,b)", "group=a,group=b", "name=builds"])
def test_a_selector_that_could_mean_several_groups_is_refused(selector: str) -> None:
    with pytest.raises(InvalidInputError, match="must name one group"):
        group_of(METRIC, selector)


def test_another_metric_is_unknown() -> None:
    with pytest.raises(InvalidInputError, match=r'"queue-length" is unknown \(use paceline-demand\)'):
        group_of("queue-length", "group=builds")
