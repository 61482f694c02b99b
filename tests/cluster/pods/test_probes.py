"""Stories of pods that are asked how they are."""

import pytest

from cluster.place import Json, Place, condition, container, over, ready, state

pytestmark = pytest.mark.timeout(300)
SERVER = """
import http.server, os, sys
codes = [int(code) for code in sys.argv[1].split(",")]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        code = codes.pop(0) if len(codes) > 1 else codes[0]
        self.send_response(code if self.path == "/health" else 404)
        self.end_headers()
http.server.HTTPServer((os.environ["IP"], 8080), Handler).serve_forever()
"""
"""Answers with each code once, with the last for ever."""
IP = {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}


def server(place: Place, codes: str, **probes: Json) -> Json:
    ports = [{"name": "http", "containerPort": 8080}]
    return place.python(SERVER, codes, env=[IP], ports=ports) | probes


def http(**fields: object) -> Json:
    return {"httpGet": {"port": "http", "path": "/health"}, "periodSeconds": 1, "timeoutSeconds": 5, **fields}


async def test_a_pod_is_ready_when_its_probe_says_so_and_not_before(place: Place) -> None:
    await place.create(place.pod(server(place, "503,200", readinessProbe=http())))
    status = await place.until(lambda s: state(s, "running"), "it runs")
    assert container(status)["started"]
    if not container(status)["ready"]:
        assert condition(status, "Ready")["reason"] == "ContainersNotReady"
    await place.until(ready, "it is ready")


async def test_a_pod_that_is_never_ready_stays_so(place: Place) -> None:
    await place.create(place.pod(place.shell("sleep 1", readinessProbe={"tcpSocket": {"port": 1}})))
    async with place.history("story") as seen:
        async for _, pod in seen:
            assert not ready(pod["status"])
            if over(pod["status"]):
                break


async def test_a_pod_that_was_ready_can_become_unready(place: Place) -> None:
    await place.create(place.pod(server(place, "200,200,503", readinessProbe=http(failureThreshold=1))))
    await place.until(ready, "it is ready")
    status = await place.until(lambda s: not ready(s), "it is not ready any more")
    assert status["phase"] == "Running"
    assert container(status)["restartCount"] == 0


async def test_the_other_probes_wait_for_the_startup_probe(place: Place) -> None:
    start = {"exec": {"command": ["sh", "-c", "exit 1"]}, "periodSeconds": 1, "failureThreshold": 30}
    await place.create(place.pod(place.shell("sleep 60", startupProbe=start, readinessProbe=http())))
    status = await place.until(lambda s: state(s, "running"), "it runs")
    assert (container(status)["started"], container(status)["ready"]) == (False, False)


async def test_a_startup_probe_that_succeeds_makes_the_pod_ready(place: Place) -> None:
    await place.create(place.pod(server(place, "500,200", startupProbe=http(failureThreshold=30))))
    status = await place.until(ready, "it is ready")
    assert container(status)["started"]
    assert container(status)["restartCount"] == 0


async def test_a_container_that_does_not_start_up_is_killed(place: Place) -> None:
    probe = {"tcpSocket": {"port": 1}, "periodSeconds": 1, "failureThreshold": 1}
    await place.create(place.pod(place.shell("exec sleep 60", startupProbe=probe)))
    status = await place.until(over, "it is over")
    assert state(status, "terminated")["exitCode"] in (137, 143)  # process 1 of a container does not die of SIGTERM


async def test_a_dead_container_is_killed_and_started_again(place: Place) -> None:
    main = server(place, "200,500", livenessProbe=http(failureThreshold=1, terminationGracePeriodSeconds=1))
    await place.create(place.pod(main, restart="Always"))
    status = await place.until(lambda s: container(s).get("restartCount", 0) >= 1, "it was restarted")
    assert container(status)["lastState"]["terminated"]["reason"] == "Error"


async def test_a_dead_container_fails_a_pod_that_is_never_restarted(place: Place) -> None:
    probe = {"exec": {"command": ["sh", "-c", "exit 1"]}, "periodSeconds": 1, "failureThreshold": 1}
    await place.create(place.pod(place.shell("exec sleep 60", livenessProbe=probe)))
    assert (await place.until(over, "it is over"))["phase"] == "Failed"


async def test_an_exec_probe_that_takes_too_long_has_failed(place: Place) -> None:
    probe = {"exec": {"command": ["sleep", "30"]}, "periodSeconds": 1, "timeoutSeconds": 1, "failureThreshold": 1}
    await place.create(place.pod(place.shell("exec sleep 60", livenessProbe=probe)))
    assert (await place.until(over, "it is over"))["phase"] == "Failed"


async def test_an_exec_probe_runs_with_the_variables_of_its_container(place: Place) -> None:
    probe = {"exec": {"command": ["sh", "-c", 'test "$WORD" = sesame']}, "periodSeconds": 1, "timeoutSeconds": 5}
    env = [{"name": "WORD", "value": "sesame"}]
    await place.create(place.pod(place.shell("sleep 60", env=env, readinessProbe=probe)))
    await place.until(ready, "it is ready")


async def test_a_port_that_listens_is_enough_for_a_tcp_probe(place: Place) -> None:
    probe = {"tcpSocket": {"port": "http"}, "periodSeconds": 1}
    await place.create(place.pod(server(place, "500", readinessProbe=probe)))
    await place.until(ready, "it is ready")
