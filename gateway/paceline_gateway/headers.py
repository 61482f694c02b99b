"""What every answer carries: browsers are to take it for what it says it is, and keep and frame nothing of it."""

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

ALWAYS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""A route that sets one of them itself has the last word."""
HTTPS_ONLY: Final = (b"strict-transport-security", b"max-age=31536000")


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of that name, in small letters; without an object for all of them, which takes longer."""
    for each, value in scope["headers"]:
        if each == name:
            found: str = value.decode("latin-1")
            return found
    return None


class SafeHeaders:
    """Adds them."""

    def __init__(self, app: ASGIApp, *, tls: bool) -> None:
        """Stands before the app; `tls`: it serves HTTPS itself."""
        self._app = app
        self._headers = (*ALWAYS, HTTPS_ONLY) if tls else ALWAYS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, with them."""

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = message.get("headers", [])
                names = {name for name, _ in own}
                message["headers"] = [*own, *(each for each in self._headers if each[0] not in names)]
            await send(message)

        await self._app(scope, receive, dressed)
