"""Stories of pods that start: what they run, what they know, and what keeps them from it."""

import base64
from datetime import datetime

import pytest

from cluster.place import Place, condition, container, over, ready, state

pytestmark = pytest.mark.timeout(300)


async def test_a_pod_that_ends_well_has_succeeded(place: Place) -> None:
    await place.create(place.pod(place.shell("exit 0")))
    status = await place.until(over, "it is over")
    end = state(status, "terminated")
    assert (status["phase"], end["exitCode"], end["reason"]) == ("Succeeded", 0, "Completed")
    assert datetime.fromisoformat(end["startedAt"]) <= datetime.fromisoformat(end["finishedAt"])
    assert container(status)["restartCount"] == 0
    assert container(status)["started"] is False
    assert {kind: condition(status, kind).get("reason") for kind in ("Initialized", "Ready", "ContainersReady")} == {
        "Initialized": "PodCompleted",
        "Ready": "PodCompleted",
        "ContainersReady": "PodCompleted",
    }
    assert condition(status, "PodScheduled")["status"] == "True"
    assert status["observedGeneration"] == 1


async def test_a_pod_that_ends_badly_has_failed_with_its_exit_code(place: Place) -> None:
    await place.create(place.pod(place.shell("exit 3")))
    status = await place.until(over, "it is over")
    end = state(status, "terminated")
    assert (status["phase"], end["exitCode"], end["reason"]) == ("Failed", 3, "Error")
    assert condition(status, "Ready")["reason"] == "PodFailed"


async def test_a_command_that_does_not_exist_is_a_start_error(place: Place) -> None:
    await place.create(place.pod({**place.shell(""), "command": ["no-such-program"]}))
    status = await place.until(over, "it is over")
    end = state(status, "terminated")
    assert (status["phase"], end["exitCode"], end["reason"]) == ("Failed", 128, "StartError")
    assert end["startedAt"] == "1970-01-01T00:00:00Z"
    assert "no-such-program" in end["message"]


async def test_a_running_pod_has_an_address_and_is_ready(place: Place) -> None:
    await place.create(place.pod(place.shell("sleep 60")))
    status = await place.until(ready, "it is ready")
    assert status["phase"] == "Running"
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["hostIP"] != status["podIP"]
    assert container(status)["started"]
    assert "reason" not in condition(status, "Ready")
    assert condition(status, "PodReadyToStartContainers")["status"] == "True"


async def test_commands_and_values_refer_to_variables(place: Place) -> None:
    env = [{"name": "A", "value": "one"}, {"name": "B", "value": "$(A)+$$(A)+$(C)"}]
    script = "import os, sys; print(os.environ['B'], *sys.argv[1:])"
    await place.create(place.pod(place.python(script, "$(A)", env=env, args=["$$(A)", "$(NOBODY)", "$(B)"])))
    await place.until(over, "it is over")
    assert await place.log() == "one+$(A)+$(C) one $(A) $(NOBODY) one+$(A)+$(C)\n"


async def test_variables_come_from_secrets_config_maps_and_the_pod_itself(place: Place) -> None:
    await place.api.post(
        place.path(kind="secrets"),
        {"metadata": {"name": "login"}, "data": {"password": base64.b64encode(b"s3cret").decode()}},
    )
    await place.api.post(place.path(kind="configmaps"), {"metadata": {"name": "settings"}, "data": {"COLOR": "blue"}})
    fields = {
        "NAME": "metadata.name",
        "NAMESPACE": "metadata.namespace",
        "UID_": "metadata.uid",
        "LABEL": "metadata.labels['app']",
        "NOTE": "metadata.annotations['note']",
        "NODE": "spec.nodeName",
        "ACCOUNT": "spec.serviceAccountName",
        "IP": "status.podIP",
        "HOST": "status.hostIP",
    }
    env = [
        {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "login", "key": "password"}}},
        {"name": "MAYBE", "valueFrom": {"secretKeyRef": {"name": "nobody", "key": "x", "optional": True}}},
        {"name": "COLOR_AGAIN", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "COLOR"}}},
        {"name": "MIXED", "value": "$(PASSWORD)-$(P_COLOR)"},
        *({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()),
    ]
    sources = [
        {"prefix": "P_", "configMapRef": {"name": "settings"}},
        {"secretRef": {"name": "nobody", "optional": True}},
    ]
    pod = place.pod(place.shell("env", env=env, envFrom=sources))
    pod["metadata"] |= {"labels": {"app": "shop"}, "annotations": {"note": "hi"}}
    await place.create(pod)
    status = await place.until(over, "it is over")
    found = await place.api.get(place.path("story"))
    seen = dict(line.split("=", 1) for line in (await place.log()).splitlines() if "=" in line)
    assert "MAYBE" not in seen
    assert seen["HOSTNAME"] == "story"
    assert {
        "PASSWORD": "s3cret", "P_COLOR": "blue", "COLOR_AGAIN": "blue", "MIXED": "s3cret-blue", "NAME": "story",
        "NAMESPACE": place.namespace, "UID_": found["metadata"]["uid"], "LABEL": "shop", "NOTE": "hi",
        "NODE": found["spec"]["nodeName"], "ACCOUNT": "default", "IP": status["podIP"], "HOST": status["hostIP"],
    }.items() <= seen.items()  # fmt: skip


async def test_a_missing_secret_is_named_and_waited_for(place: Place) -> None:
    ref = {"name": "DB", "valueFrom": {"secretKeyRef": {"name": "late", "key": "url"}}}
    await place.create(place.pod(place.shell("echo $DB", env=[ref])))
    reason = "CreateContainerConfigError"
    status = await place.until(lambda s: state(s, "waiting").get("reason") == reason, "the secret is missed")
    assert state(status, "waiting")["message"] == 'secret "late" not found'
    assert status["phase"] == "Pending"
    await place.api.post(place.path(kind="secrets"), {"metadata": {"name": "late"}, "data": {}})
    wanted = f"couldn't find key url in Secret {place.namespace}/late"
    await place.until(lambda s: state(s, "waiting").get("message") == wanted, "the key is missed")
    data = {"url": base64.b64encode(b"postgres").decode()}
    await place.api.patch(place.path("late", "secrets"), {"data": data})
    await place.until(over, "it is over")
    assert await place.log() == "postgres\n"


async def test_an_image_that_does_not_exist_is_backed_off_from(place: Place) -> None:
    pod = place.pod({**place.shell(""), "image": place.missing_image})
    await place.create(pod)
    status = await place.until(lambda s: state(s, "waiting").get("reason") == "ImagePullBackOff", "it backs off")
    assert state(status, "waiting")["message"].startswith(
        f'Back-off pulling image "{place.missing_image}": ErrImagePull: '
    )
    assert condition(status, "Ready")["message"] == "containers with unready status: [main]"
    assert status["phase"] == "Pending"


async def test_an_image_that_must_not_be_pulled_is_missed_by_name(place: Place) -> None:
    await place.create(place.pod({**place.shell(""), "image": place.missing_image, "imagePullPolicy": "Never"}))
    status = await place.until(lambda s: state(s, "waiting").get("reason") == "ErrImageNeverPull", "it is missed")
    words = f'Container image "{place.missing_image}" is not present with pull policy of Never'
    assert state(status, "waiting")["message"] == words


async def test_the_log_is_the_message_of_a_container_that_ends_badly(place: Place) -> None:
    script = place.shell("echo all is lost >&2; exit 1", terminationMessagePolicy="FallbackToLogsOnError")
    await place.create(place.pod(script))
    assert state(await place.until(over, "it is over"), "terminated")["message"] == "all is lost\n"


async def test_a_pod_that_takes_too_long_has_failed(place: Place) -> None:
    await place.create(place.pod(place.shell("exec sleep 60"), activeDeadlineSeconds=1))
    status = await place.until(over, "it is over")
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
