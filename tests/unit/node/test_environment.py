"""Variables by the kubelet's rules."""

from collections.abc import Mapping

import pytest

from paceline_dev.node.environment import ConfigError, Kind, Place, decode, variables
from paceline_dev.node.expand import expand
from paceline_dev.node.spec import parse_pod
from unit.node.objects import Json, raw

STORE: Mapping[tuple[Kind, str], Mapping[str, str]] = {
    ("secret", "login"): {"user": "ada", "password": "x"},
    ("configmap", "settings"): {"COLOR": "blue", "user": "config"},
}


async def fetch(kind: Kind, _: str, name: str) -> Mapping[str, str] | None:
    return STORE.get((kind, name))


async def resolve(*env: Json, sources: tuple[Json, ...] = ()) -> dict[str, str]:
    pod = parse_pod(raw({"name": "main", "image": "i", "env": list(env), "envFrom": list(sources)}))
    return await variables(pod, pod.main[0], Place("127.9.0.2", "127.9.0.1"), fetch)


def secret(key: str, name: str = "login", **more: object) -> Json:
    return {"name": "A", "valueFrom": {"secretKeyRef": {"name": name, "key": key, **more}}}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("plain", "plain"), ("$(A)", "1"), ("x$(A)y$(A)", "x1y1"), ("$$(A)", "$(A)"), ("$$$(A)", "$1"), ("$$", "$"),
        ("$(B)", "$(B)"), ("$(A", "$(A"), ("$A", "$A"), ("$", "$"), ("$()", "$()"), ("$(A$(A)", "$(A$(A)"),
    ],
)  # fmt: skip
def test_references_are_expanded_as_the_kubelet_does(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1"}) == expanded


async def test_a_value_sees_those_before_it_and_not_those_after() -> None:
    a, b, c = ({"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(C)"}, {"name": "C", "value": "3"})
    assert await resolve(a, b, c) == {"A": "1", "B": "1$(C)", "C": "3"}


async def test_env_wins_over_env_from_and_later_sources_over_earlier_ones() -> None:
    sources: tuple[Json, ...] = ({"configMapRef": {"name": "settings"}}, {"secretRef": {"name": "login"}})
    found = await resolve({"name": "COLOR", "value": "red"}, sources=sources)
    assert found == {"COLOR": "red", "user": "ada", "password": "x"}


async def test_a_prefix_is_put_before_every_name() -> None:
    found = await resolve(sources=({"prefix": "P_", "configMapRef": {"name": "settings"}},))
    assert found == {"P_COLOR": "blue", "P_user": "config"}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (secret("user", "nobody"), 'secret "nobody" not found'),
        (secret("nothing"), "couldn't find key nothing in Secret ci/login"),
        (
            {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "x"}}},
            "couldn't find key x in ConfigMap ci/settings",
        ),
        ({"name": "A", "valueFrom": {"configMapKeyRef": {"name": "y", "key": "x"}}}, 'configmap "y" not found'),
    ],
)
async def test_what_does_not_exist_is_named_as_the_kubelet_does(entry: Json, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        await resolve(entry)
    assert str(caught.value) == words


@pytest.mark.parametrize("entry", [secret("user", "nobody", optional=True), secret("nothing", optional=True)])
async def test_what_is_optional_may_be_missing(entry: Json) -> None:
    assert await resolve(entry) == {}


async def test_an_optional_source_may_be_missing() -> None:
    assert await resolve(sources=({"secretRef": {"name": "nobody", "optional": True}},)) == {}
    with pytest.raises(ConfigError, match='secret "nobody" not found'):
        await resolve(sources=({"secretRef": {"name": "nobody"}},))


def test_secrets_are_decoded_and_config_maps_are_not() -> None:
    assert decode("secret", {"data": {"a": "aGk="}}) == {"a": "hi"}
    assert decode("configmap", {"data": {"a": "aGk="}}) == {"a": "aGk="}
    assert decode("secret", {}) == {}
