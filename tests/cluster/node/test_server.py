"""The node's port: for the API server and nobody else."""

import ssl
from pathlib import Path

import aiohttp
import pytest

from cluster.local import LocalPlace
from cluster.place import ready

pytestmark = pytest.mark.timeout(300)


def context(control_plane: Path, client: str) -> ssl.SSLContext:
    found = ssl.create_default_context()
    found.check_hostname = False
    found.verify_mode = ssl.CERT_NONE
    if client:
        found.load_cert_chain(control_plane / "pki" / f"{client}.crt", control_plane / "pki" / f"{client}.key")
    return found


async def get(local: LocalPlace, trust: ssl.SSLContext, path: str = "/healthz") -> tuple[int, str]:
    url = f"https://{local.node.address}:{local.node.port}{path}"
    async with aiohttp.ClientSession() as session, session.get(url, ssl=trust) as answer:
        return answer.status, await answer.text()


async def test_the_api_server_is_answered(local: LocalPlace, control_plane: Path) -> None:
    assert await get(local, context(control_plane, "kube-apiserver-kubelet-client")) == (200, "ok")


async def test_nobody_is_answered_without_a_certificate(local: LocalPlace, control_plane: Path) -> None:
    with pytest.raises((aiohttp.ClientError, ssl.SSLError)):
        await get(local, context(control_plane, ""))


async def test_another_client_of_the_cluster_is_turned_away(local: LocalPlace, control_plane: Path) -> None:
    code, words = await get(local, context(control_plane, "admin"), f"/containerLogs/{local.namespace}/story/main")
    assert code == 403
    assert "only the API server" in words


async def test_exec_is_declined_in_one_line(local: LocalPlace) -> None:
    await local.create(local.pod(local.shell("sleep 60")))
    await local.until(ready, "it is ready")
    done = await local.run("exec", "story", "--", "ls")
    assert done.returncode != 0
    assert "the local node has no exec, attach or port-forward by SPDY" in done.stderr
