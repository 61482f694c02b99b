"""Runs a gateway: one process, one event loop, until it is told to leave."""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import ssl
from collections.abc import Iterator
from typing import Final

import uvicorn
from fastapi import FastAPI

from paceline.errors import InvalidInputError
from paceline_gateway.app import create_app
from paceline_gateway.connection import Connection, Socket
from paceline_gateway.services import Services
from paceline_gateway.settings import Settings

GRACE_SECONDS: Final = 10
"""So long requests that are under way may take when it closes."""
TELLING_SECONDS: Final = 2
"""So long runners may take to hear that it closes; one that does not read keeps nobody for longer."""
KEEP_ALIVE_SECONDS: Final = 75
"""Longer than load balancers keep an idle connection, so that none closes under a request; most take 60."""
BACKLOG: Final = 2048
COLLECT: Final = (2_000, 2, 2_500)
"""When the collector looks: at so many new objects; at what it has seen once and twice, after so many of such looks."""
log = logging.getLogger("paceline.gateway")


async def serve(settings: Settings) -> None:
    """Until a signal: then it is unready for a while, tells those who wait, and closes. A second one ends the wait."""
    for chatty in ("uvicorn", "uvicorn.error", "websockets"):  # they would log whole URLs, and headers with tokens
        logging.getLogger(chatty).setLevel(logging.WARNING)
    if not settings.auth:
        log.warning("NO TOKEN IS ASKED FOR: everybody on this machine may do everything here (--no-auth)")
    app = create_app(settings)
    server = Server(configured(app, settings))
    listeners = bound(settings.host, settings.port)
    told, hurry = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: (hurry if told.is_set() else told).set())
    leaving = asyncio.create_task(_leave_when_told(app, settings, server, told, hurry))
    try:
        await server.serve(listeners)
    finally:
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)


def configured(app: FastAPI, settings: Settings, connection: type[Connection] = Connection) -> uvicorn.Config:
    """How uvicorn is to serve it; an error says what is wrong with a certificate."""
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, http=connection, ws=Socket,
        ws_max_size=2**22, lifespan="on", timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS, backlog=BACKLOG, ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key, proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies),
    )  # fmt: skip
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise InvalidInputError(
            f"--tls-cert {settings.tls_certificate} and --tls-key {settings.tls_key} cannot be used: {error}"
        ) from None
    return config


def bound(host: str, port: int) -> list[socket.socket]:
    """Sockets on every address of a host."""
    made: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, place in dict.fromkeys(found):
            listener = socket.socket(family, kind, protocol)
            made.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(place)
            listener.setblocking(False)
    except OSError as error:
        for listener in made:
            listener.close()
        reason = error.strerror or str(error)
        raise InvalidInputError(f"cannot listen on {host}:{port}: {reason} (choose another with --listen)") from None
    return made


async def _leave_when_told(
    app: FastAPI, settings: Settings, server: "Server", told: asyncio.Event, hurry: asyncio.Event
) -> None:  # fmt: skip
    await told.wait()
    services: Services | None = app.state.services
    if services is not None and server.started:
        log.info("leaving: unready for %g s, then closed", settings.leave_seconds)
        services.closing.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(settings.leave_seconds):
                await hurry.wait()
    await leave(app, server)


async def leave(app: FastAPI, server: uvicorn.Server) -> None:
    """Close, when whoever waits here has been told: a WebSocket takes no more frames once uvicorn has closed it."""
    services: Services | None = app.state.services
    if services is not None:
        services.leaving.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TELLING_SECONDS):
                await services.hub.emptied()
    server.should_exit = True


class Server(uvicorn.Server):
    """uvicorn's, but for signals, which are ours, and for saying where it listens."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """They are ours already."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say where."""
        await super().startup(sockets)
        _spare_the_collector()
        for each in sockets or []:
            host, port, *_ = each.getsockname()
            log.info("listening on %s:%d", host, port)


def _spare_the_collector() -> None:
    """What is there now stays, and what requests leave is mostly freed by itself: the old is looked at rarely.

    That takes 100 ms when a thousand runners wait, and nobody is served meanwhile; by default it was every ten seconds.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT)
