"""What `paceline run --gateway` is told: where to dial, with which token, and that it says nothing of a database."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from paceline.errors import InvalidInputError

if TYPE_CHECKING:
    from paceline_runner.settings import Gateway

TOKEN_VARIABLE: Final = "PACELINE_TOKEN"  # noqa: S105 -- its name
NO_TOKEN: Final = (
    f"no token is given: use --token-file, or set {TOKEN_VARIABLE} (make one: paceline token create --runner NAME)"
)
ONLY_DIRECT: Final = {
    "database_url": "--database-url", "listen_url": "--listen-url", "pool": "--pool", "install": "--install",
    "taints": "--taint", "dispatchers": "--dispatchers", "stale": "--stale-threshold", "tick": "--tick-interval",
    "pod_name": "--pod-name", "pod_uid": "--pod-uid",
}  # fmt: skip
"""Options that say something to a database: the gateway has its own, and the token says whose runner it is."""
ONLY_DIALLED: Final = {"token_file": "--token-file", "gateway_ca": "--gateway-ca"}


def gateway_of(context: typer.Context, url: str | None, token_file: Path | None, ca: Path | None) -> "Gateway | None":
    """Where to dial; None where there is a database. An error names the options that do not go together."""
    strange = [name for each, name in (ONLY_DIRECT if url else ONLY_DIALLED).items() if _given(context, each)]
    if strange:
        names = ", ".join(strange)
        advice = "leave it out, and its variable" if len(strange) == 1 else "leave them out, and their variables"
        raise InvalidInputError(f"{names}: not {'with' if url else 'without'} --gateway ({advice})")
    if not url:
        return None
    from paceline_runner.settings import Gateway

    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token and token_file is None:
        raise InvalidInputError(NO_TOKEN)
    return Gateway(url=url, token=token, token_file=token_file, ca=ca)


def _given(context: typer.Context, name: str) -> bool:
    """Whether somebody has said it. What `DATABASE_URL` says may be meant for the handlers."""
    source = context.get_parameter_source(name)
    if source is None or source.name == "DEFAULT":
        return False
    return not (name == "database_url" and source.name == "ENVIRONMENT" and not os.environ.get("PACELINE_DATABASE_URL"))
