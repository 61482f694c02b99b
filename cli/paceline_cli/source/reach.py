"""The way to the queue: a gateway that was named, a database that was named, else the gateway of the cluster."""

import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from paceline.errors import GatewayError, InvalidInputError, PacelineError

if TYPE_CHECKING:
    from paceline_cli.source.dialled import Dialled
    from paceline_cli.source.port import Source

GATEWAY_VARIABLE: Final = "PACELINE_GATEWAY"
TOKEN_VARIABLE: Final = "PACELINE_TOKEN"  # noqa: S105 -- its name
NOT_INSTALLED: Final = 'gateways cannot be asked from here: pip install "paceline[operator]"'
NO_TOKEN: Final = (
    f"no token is given for the gateway: use --token-file, or set {TOKEN_VARIABLE} "
    "(make one: paceline token create --admin)"
)


@dataclass(frozen=True, slots=True)
class Reach:
    """What was said about the way; nothing of it has been tried."""

    gateway: str | None = None
    token_file: Path | None = None
    gateway_ca: Path | None = None
    context: str | None = None
    kubeconfig: str | None = None
    namespace: str | None = None
    """That a command is about: a gateway there is the nearest."""


NO_WAY: Final = Reach()


@contextlib.asynccontextmanager
async def opened(reach: Reach, database_url: str | None, no_url: str) -> "AsyncIterator[Source]":
    """A source, for as long as the block lasts. Where there is none the error names every way to one."""
    if not reach.gateway and not database_url:  # a runner's machine may have the variable, and a database all the same
        reach = replace(reach, gateway=os.environ.get(GATEWAY_VARIABLE) or None)
    if reach.gateway and "://" in reach.gateway:
        async with _dialled(reach) as source:
            yield source
    elif database_url and not reach.gateway:
        from paceline.database import Database
        from paceline_cli.source.direct import Direct

        async with await Database.open(database_url, size=2) as database:
            yield Direct(database)
    else:
        async with contextlib.AsyncExitStack() as stack:
            try:
                source = await stack.enter_async_context(_forwarded(reach))
            except PacelineError as error:
                if reach.gateway:
                    raise
                raise InvalidInputError(
                    f"{no_url}; or give --gateway URL; the cluster leads to none: {error}"
                ) from None
            yield source


@contextlib.asynccontextmanager
async def _dialled(reach: Reach) -> "AsyncIterator[Source]":
    token = given_token(reach)
    if token is None:
        raise InvalidInputError(NO_TOKEN)
    dialled, url = _dialled_class(), reach.gateway or ""
    from paceline_cli.source.http import proxy_for

    async with dialled(url, token, ca=reach.gateway_ca, proxy=proxy_for(url)) as source:
        yield source


@contextlib.asynccontextmanager
async def _forwarded(reach: Reach) -> "AsyncIterator[Source]":
    """Through the API server to a pod of the gateway."""
    from paceline_cli.cluster import reached

    async with reached(reach.namespace, reach.context, reach.kubeconfig) as where:
        from paceline_cli.kube.forward import Forward
        from paceline_cli.kube.gateway import find_door, find_token

        door = await find_door(where.cluster, where.namespace, reach.gateway)
        token = given_token(reach) or await find_token(where.cluster, door)
        async with where.streams() as streams:
            forward = Forward(streams, door.namespace, door.pod, door.port)
            async with (
                forward.listening() as port,
                _dialled_class()(f"http://127.0.0.1:{port}", token, place=f"the gateway {door.service}") as source,
            ):
                try:
                    yield source
                except GatewayError as error:
                    raise GatewayError(f"{error}: {forward.trouble}" if forward.trouble else str(error)) from None


def _dialled_class() -> "type[Dialled]":
    try:
        from paceline_cli.source.dialled import Dialled
    except ModuleNotFoundError as error:
        raise InvalidInputError(f"{NOT_INSTALLED} (there is no {error.name})") from None
    return Dialled


def given_token(reach: Reach) -> str | None:
    """The token of the file, or of the variable; no error shows it."""
    from paceline.tokens import SHAPE

    found, where = os.environ.get(TOKEN_VARIABLE, "").strip(), TOKEN_VARIABLE
    if reach.token_file is not None:
        where = f"--token-file {reach.token_file}"
        try:
            found = reach.token_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError(f"{where} cannot be read: {error}") from None
    elif not found:
        return None
    if not SHAPE.fullmatch(found):
        raise InvalidInputError(f"{where} has no token (it looks like ak_..., see: paceline token create --admin)")
    return found
