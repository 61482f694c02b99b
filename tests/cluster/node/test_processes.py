"""A pod's processes: only what the pod says, and never longer than the pod."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from cluster.local import TAINT, LocalPlace, StartNode, where
from cluster.node.marks import ended, environment, lives, there
from cluster.place import Json, Place, eventually, over, ready, state
from paceline_dev.control_plane import NODE_KUBECONFIG
from paceline_dev.node.images import Image

pytestmark = pytest.mark.timeout(300)
DAEMON = """
import os, sys, time
folder = sys.argv[1]
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(f"{folder}/stray", "w").write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
open(f"{folder}/main", "w").write(str(os.getpid()))
time.sleep(float(sys.argv[2]))
"""
"""Leaves a process behind that has forked twice and has a session of its own."""


async def test_a_stray_does_not_outlive_its_container(local: LocalPlace, tmp_path: Path) -> None:
    await local.create(local.pod(local.python(DAEMON, str(tmp_path), "600")))
    stray = int(await there(tmp_path / "stray"))
    await local.create(local.pod(local.shell("exit 0"), name="other"))
    await local.until(over, "the other is over", name="other")
    assert lives(stray), "it belongs to its own container and to no other"
    local.node.oom_kill(local.namespace, "story")
    await local.until(over, "it is over")
    assert not lives(stray), "it lived on when the pod was over"


async def test_a_pod_deleted_by_force_is_killed_with_all_its_strays(local: LocalPlace, tmp_path: Path) -> None:
    await local.create(local.pod(local.python(DAEMON, str(tmp_path), "600"), terminationGracePeriodSeconds=300))
    pids = [int(await there(tmp_path / each)) for each in ("main", "stray")]
    await local.delete("story", grace=0)
    await ended(*pids)


async def test_the_hook_of_a_container_that_has_ended_does_not_run_on(local: LocalPlace, tmp_path: Path) -> None:
    hook = {
        "exec": {"command": ["sh", "-c", f"echo $$ > {tmp_path}/hook; kill $(cat {tmp_path}/main); exec sleep 600"]}
    }
    main = local.python(DAEMON, str(tmp_path), "600", lifecycle={"preStop": hook})
    await local.create(local.pod(main, terminationGracePeriodSeconds=300))
    await there(tmp_path / "main")
    await local.until(ready, "it is ready")
    await local.ended()
    await ended(int(await there(tmp_path / "hook")))


async def test_a_process_knows_nothing_of_the_nodes_own_environment(
    local: LocalPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_SECRET", "do not tell")
    await local.create(local.pod(local.shell(f"echo $$$$ > {tmp_path}/pid; exec sleep 600")))
    found = environment(int(await there(tmp_path / "pid")))
    assert set(found) == {"PATH", "HOME", "TMPDIR", "HOSTNAME"} | (set(found) & {"PWD", "OLDPWD", "_", "SHLVL"})


async def test_a_killed_node_takes_all_processes_and_its_folder_with_it(
    control_plane: Path, place: Place, tmp_path: Path
) -> None:
    name = f"doomed-{os.getpid()}"
    command = [
        sys.executable, "-m", "paceline_dev", "node", "--kubeconfig", str(control_plane / NODE_KUBECONFIG),
        "--name", name, "--taint", f"{TAINT}:NoSchedule", "--image", f"{place.image}=env",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:  # noqa: ASYNC220 -- starts at once
        try:
            pod = place.pod(place.python(DAEMON, str(tmp_path), "600"))
            pod["spec"] |= where(name)
            await place.create(pod)
            pids = [int(await there(tmp_path / each)) for each in ("main", "stray")]
            folder = Path(environment(pids[0])["HOME"]).parents[1]
            assert folder.name.startswith("paceline-node-")
            process.send_signal(signal.SIGKILL)
            await ended(*pids)
        finally:
            process.kill()
    await place.delete("story", grace=0)
    await place.api.delete(f"/api/v1/nodes/{name}")

    async def removed() -> bool:
        return not folder.exists()

    await eventually(removed, "its folder is removed")


async def test_a_killed_shim_is_the_end_of_its_container(local: LocalPlace, tmp_path: Path) -> None:
    await local.create(local.pod(local.python(DAEMON, str(tmp_path), "600")))
    main, stray = [int(await there(tmp_path / each)) for each in ("main", "stray")]
    await local.until(ready, "it is ready")
    os.kill(psutil.Process(main).ppid(), signal.SIGKILL)
    status = await local.until(over, "it is over")
    assert state(status, "terminated")["exitCode"] == 137
    await ended(main, stray)


async def test_the_image_gives_what_the_pod_does_not_say(local: LocalPlace, tmp_path: Path) -> None:
    image = Image(("sh", "-c", 'echo "$WORD $0 $PWD"'), ("cmd",), {"WORD": "sesame"}, str(tmp_path))
    local.node.add_image("greeter", image)
    cases: dict[str, tuple[Json, str]] = {
        "plain": ({}, f"sesame cmd {tmp_path}"),
        "args": ({"args": ["mine"]}, f"sesame mine {tmp_path}"),
        "env": ({"env": [{"name": "WORD", "value": "own"}]}, f"own cmd {tmp_path}"),
        "command": ({"command": ["echo", "alone"]}, "alone"),
        "folder": ({"workingDir": "/"}, "sesame cmd /"),
    }
    for name, (fields, said) in cases.items():
        await local.create(local.pod({"name": "main", "image": "greeter", **fields}, name=name))
        await local.until(over, "it is over", name=name)
        assert await local.log(name=name) == f"{said}\n"


async def test_a_pod_starts_when_the_node_learns_its_image(local: LocalPlace) -> None:
    await local.create(local.pod({"name": "main", "image": "later", "command": ["true"]}))
    await local.until(lambda s: state(s, "waiting").get("reason") == "ImagePullBackOff", "it backs off")
    local.node.add_image("later", Image())
    assert (await local.until(over, "it is over"))["phase"] == "Succeeded"


async def test_nodes_of_one_machine_have_addresses_of_their_own(start_node: StartNode) -> None:
    async with start_node() as one, start_node() as two:
        assert one.address.split(".")[1] != two.address.split(".")[1]


async def test_a_killed_cradle_is_replaced_and_its_containers_go_on(local: LocalPlace, tmp_path: Path) -> None:
    await local.create(local.pod(local.python(DAEMON, str(tmp_path), "600")))
    main = int(await there(tmp_path / "main"))
    cradle = psutil.Process(main).parents()[1].pid
    os.kill(cradle, signal.SIGKILL)
    await local.create(local.pod(local.shell("exit 0"), name="later"))
    assert (await local.until(over, "a new pod runs", name="later"))["phase"] == "Succeeded"
    assert lives(main)
    await local.ended()
    await ended(main)
