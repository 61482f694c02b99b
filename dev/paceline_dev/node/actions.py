"""What probes and hooks do: ask over HTTP, connect, run a command in the container, or sleep."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import assert_never

import aiohttp

from paceline_dev.node.process import Ended, StartFailedError
from paceline_dev.node.spec import Action, Exec, HttpGet, Sleep, TcpSocket

RunInside = Callable[[tuple[str, ...]], Awaitable[Ended]]
"""Runs a command beside the container's own processes; cancelled, it kills the command."""
AGENT = "kube-probe/1.36"
_TRUST_ANYBODY = ssl.create_default_context()
_TRUST_ANYBODY.check_hostname = False
_TRUST_ANYBODY.verify_mode = ssl.CERT_NONE
"""As the kubelet does: a pod's own certificate says nothing to a probe."""


async def perform(action: Action, address: str, inside: RunInside) -> str:
    """Do it; the answer is what went wrong, or nothing if all is well. The caller sets the time limit."""
    match action:
        case HttpGet():
            return await _http(action, address)
        case TcpSocket(port, host):
            return await _tcp(host or address, port)
        case Exec(command):
            return await _exec(command, inside)
        case Sleep(seconds):
            await asyncio.sleep(seconds)
            return ""
        case _:
            assert_never(action)


async def _http(get: HttpGet, address: str) -> str:
    """200 to 399 is well; a redirect is not followed."""
    url = f"{get.scheme}://{get.host or address}:{get.port}/{get.path.lstrip('/')}"
    headers = {"User-Agent": AGENT, "Accept": "*/*", "Connection": "close", **dict(get.headers)}
    try:
        async with (
            aiohttp.ClientSession(trust_env=False) as session,
            session.get(url, headers=headers, ssl=_TRUST_ANYBODY, allow_redirects=False) as answer,
        ):
            await answer.read()
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return f'Get "{url}": {error}'
    return "" if answer.status < 400 else f"HTTP probe failed with statuscode: {answer.status}"


async def _tcp(host: str, port: int) -> str:
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError as error:
        return f"dial tcp {host}:{port}: {error}"
    writer.close()
    return ""


async def _exec(command: tuple[str, ...], inside: RunInside) -> str:
    try:
        ended = await inside(command)
    except StartFailedError as error:
        return str(error)
    return "" if ended.code == 0 else f"command {list(command)} exited with {ended.code}: {ended.output}"
