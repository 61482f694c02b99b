"""Stories of pods that are ended: hooks, signals, grace periods, and what is written last."""

import asyncio
import time

import pytest

from cluster.place import Json, Place, condition, eventually, ready, state

pytestmark = pytest.mark.timeout(300)
POLITE = "trap 'echo told; exit 0' TERM; echo begun; while :; do sleep 0.05; done"
STUBBORN = "trap '' TERM; echo begun; while :; do sleep 0.05; done"


async def began(place: Place) -> None:
    """Wait until the main container hears signals as it wants to."""

    async def is_so() -> bool:
        return "begun" in await place.log()

    await place.until(ready, "it is ready")
    await eventually(is_so, "it has begun", place.patience)


async def follow(place: Place) -> "asyncio.Task[str]":
    """Read the log to its end, also past the pod's."""
    process = await asyncio.create_subprocess_exec(
        place.kubectl.program, "--kubeconfig", place.kubectl.kubeconfig, "-n", place.namespace, "logs", "-f", "story",
        "-c", "main", stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert await process.stdout.readline() == b"begun\n"

    async def rest() -> str:
        out, _ = await asyncio.wait_for(process.communicate(), 60)
        return out.decode()

    return asyncio.create_task(rest())


def hooked(place: Place, script: str, hook: Json) -> Json:
    return place.shell(script, lifecycle={"preStop": hook})


async def test_a_deleted_pod_is_told_and_its_end_is_written_before_it_goes(place: Place) -> None:
    await place.create(place.pod(place.shell(POLITE), restart="Always", terminationGracePeriodSeconds=20))
    await place.until(ready, "it is ready")
    log = await follow(place)
    last = await place.ended()
    assert (last["phase"], state(last, "terminated")["exitCode"]) == ("Succeeded", 0)
    assert await log == "told\n"


async def test_a_pod_that_does_not_listen_is_killed_at_the_end_of_its_grace_period(place: Place) -> None:
    await place.create(place.pod(place.shell(STUBBORN), terminationGracePeriodSeconds=2))
    await began(place)
    since = time.monotonic()
    last = await place.ended()
    assert (last["phase"], state(last, "terminated")["exitCode"]) == ("Failed", 137)
    assert 1.5 < time.monotonic() - since < 28, "that of the pod, and not the 30 seconds of others"


async def test_the_hook_ends_before_the_signal_comes(place: Place) -> None:
    await place.create(place.pod(hooked(place, POLITE, {"sleep": {"seconds": 1}}), terminationGracePeriodSeconds=20))
    await place.until(ready, "it is ready")
    log = await follow(place)
    since = time.monotonic()
    await place.delete("story")
    assert await log == "told\n"
    assert time.monotonic() - since > 0.9


async def test_a_hook_that_takes_all_the_time_leaves_two_seconds_for_the_signal(place: Place) -> None:
    hook = {"exec": {"command": ["sleep", "60"]}}
    slow = POLITE.replace("exit 0", "sleep 0.2; exit 0")
    await place.create(place.pod(hooked(place, slow, hook), terminationGracePeriodSeconds=1))
    await began(place)
    last = await place.ended()
    assert state(last, "terminated")["exitCode"] == 0, "it was killed before it could listen"


async def test_a_hook_over_http_is_called(place: Place) -> None:
    script = """
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print("called", self.path, self.headers["X-Word"])
        self.send_response(200)
        self.end_headers()
        self.wfile.flush()
        os._exit(5)
server = http.server.HTTPServer((os.environ["IP"], 8080), Handler)
print("begun")
server.serve_forever()
"""
    get = {"port": 8080, "path": "/drain", "httpHeaders": [{"name": "X-Word", "value": "sesame"}]}
    ip = {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    probe = {"tcpSocket": {"port": 8080}, "periodSeconds": 1}
    main = place.python(script, env=[ip], lifecycle={"preStop": {"httpGet": get}}, readinessProbe=probe)
    await place.create(place.pod(main, terminationGracePeriodSeconds=20))
    await place.until(ready, "it is ready")
    log = await follow(place)
    last = await place.ended()
    assert state(last, "terminated")["exitCode"] == 5
    assert "called /drain sesame\n" in await log


async def test_a_second_delete_does_not_shorten_the_grace_period(place: Place) -> None:
    """The API server writes it down, and the kubelet (1.36) goes on as it began."""
    await place.create(place.pod(place.shell(STUBBORN), terminationGracePeriodSeconds=5))
    await began(place)
    since = time.monotonic()
    last = await place.ended(lambda: place.delete("story"), lambda: place.delete("story", grace=1))
    assert state(last, "terminated")["exitCode"] == 137
    assert time.monotonic() - since > 4


async def test_a_pod_that_never_started_can_be_deleted(place: Place) -> None:
    await place.create(place.pod({**place.shell(""), "image": place.missing_image}))
    await place.until(lambda s: state(s, "waiting").get("reason") == "ImagePullBackOff", "it backs off")
    last = await place.ended()
    end = state(last, "terminated")
    assert (last["phase"], end["reason"], end["exitCode"]) == ("Failed", "ContainerStatusUnknown", 137)


async def test_a_pod_that_is_over_goes_when_it_is_deleted(place: Place) -> None:
    await place.create(place.pod(place.shell("exit 0")))
    await place.until(lambda s: s.get("phase") == "Succeeded", "it is over")
    assert (await place.ended())["phase"] == "Succeeded"


async def test_an_evicted_pod_is_a_target_of_disruption_and_ends_politely(place: Place) -> None:
    await place.create(place.pod(place.shell(POLITE), terminationGracePeriodSeconds=20))
    await began(place)
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "story"}}
    last = await place.ended(lambda: place.api.post(f"{place.path('story')}/eviction", body))
    assert condition(last, "DisruptionTarget")["reason"] == "EvictionByEvictionAPI"
    assert state(last, "terminated")["exitCode"] == 0


async def test_a_pod_of_the_same_name_is_another_pod(place: Place) -> None:
    first = place.pod(place.shell("trap 'sleep 0.5; exit 0' TERM; while :; do sleep 0.05; done"))
    await place.create(first)
    status = await place.until(ready, "it is ready")
    await place.delete("story", grace=0)
    await place.create(place.pod(place.shell("sleep 60")))
    again = await place.until(lambda s: ready(s) and s["podIP"] != status["podIP"], "the second one is ready")
    assert again["containerStatuses"][0]["restartCount"] == 0
