"""Where the cluster's gateway is found, and its token."""

from typing import Any

import pytest

from paceline.errors import InvalidInputError, NotFoundError
from paceline_cli.kube.gateway import LABELS, TOKEN_SECRET, Door, find_door, find_token
from unit.cli.cluster import Json, Memory, thing

TOKEN = "ak_0123456789ab_" + "x" * 43


def service(namespace: str = "paceline-system", name: str = "paceline-gateway", **port: Any) -> Json:
    ports = [{"name": "http", "port": 80, "targetPort": "http", **port}]
    return thing("Service", name, namespace, metadata={"labels": LABELS}, spec={"selector": LABELS, "ports": ports})


def pod(name: str = "gw-1", namespace: str = "paceline-system", *, ready: bool = True, leaving: bool = False) -> Json:
    meta: Json = {"labels": LABELS, **({"deletionTimestamp": "2026-05-01T12:00:00Z"} if leaving else {})}
    container = {"name": "gateway", "ports": [{"name": "http", "containerPort": 8000}]}
    status = {"conditions": [{"type": "Ready", "status": str(ready)}]}
    return thing("Pod", name, namespace, metadata=meta, spec={"containers": [container]}, status=status)


async def test_a_ready_pod_of_the_service_and_the_port_that_it_leads_to() -> None:
    memory = Memory(service(), pod("gw-0", ready=False), pod("gw-1", leaving=True), pod("gw-2"))
    found = await find_door(memory, "ci")  # type: ignore[arg-type]
    assert found == Door("paceline-system/paceline-gateway", "paceline-system", "gw-2", 8000)
    memory.objects["Service", "paceline-system", "paceline-gateway"] = service(targetPort=9000)
    assert (await find_door(memory, "ci")).port == 9000  # type: ignore[arg-type]


async def test_whoever_may_not_look_everywhere_looks_in_his_namespace() -> None:
    memory = Memory(service("ci"), pod(namespace="ci"))
    memory.forbidden = {("Service", None)}
    assert (await find_door(memory, "ci")).namespace == "ci"  # type: ignore[arg-type]


async def test_several_are_chosen_by_name_or_by_being_near() -> None:
    memory = Memory(service("one"), service("two"), pod(namespace="one"), pod(namespace="two"))
    with pytest.raises(InvalidInputError, match=r"one/paceline-gateway, two/paceline-gateway\): choose with --gateway"):
        await find_door(memory, "ci")  # type: ignore[arg-type]
    assert (await find_door(memory, "two")).namespace == "two"  # type: ignore[arg-type]
    assert (await find_door(memory, "two", "one/paceline-gateway")).namespace == "one"  # type: ignore[arg-type]
    with pytest.raises(NotFoundError, match="there is no gateway ci/other"):
        await find_door(memory, "ci", "other")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ([], "apply manifests/gateway, or give --database-url, or --gateway URL"),
        ([service(), pod(ready=False)], "none of the 1 pods of the gateway paceline-system/paceline-gateway is ready"),
        ([service(name="x", appProtocol="https"), pod()], "give its address with --gateway https://"),
        ([service(targetPort="web"), pod()], "has no port called web"),
    ],
)
async def test_where_there_is_none_it_says_what_to_do(objects: list[Json], said: str) -> None:
    with pytest.raises((InvalidInputError, NotFoundError), match=said):
        await find_door(Memory(*objects), "ci")  # type: ignore[arg-type]


async def test_the_token_is_beside_the_gateway_and_its_absence_says_how_to_make_one() -> None:
    door = Door("gw/x", "gw", "pod", 8000)
    memory = Memory(secrets={("gw", TOKEN_SECRET): {"token": f"{TOKEN}\n"}})
    assert await find_token(memory, door) == TOKEN  # type: ignore[arg-type]
    for secrets in ({}, {("gw", TOKEN_SECRET): {"other": "x"}}, {("ci", TOKEN_SECRET): {"token": TOKEN}}):
        with pytest.raises(NotFoundError, match=r"paceline token create --admin \| kubectl -n gw create secret"):
            await find_token(Memory(secrets=secrets), door)  # type: ignore[arg-type]
