"""The page and its files. They are read once, when the process starts: there is no path that could lead elsewhere."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from paceline_gateway.problem import Problem

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
KINDS: Final = {"js": "text/javascript", "css": "text/css", "html": "text/html", "svg": "image/svg+xml"}
PAGE: Final = "index.html"
router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent."""

    body: bytes
    kind: str
    tag: str

    def answer(self, request: Request) -> Response:
        """The file, or that the browser has it already: it asks each time, so that a new version is seen at once."""
        headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache", "ETag": self.tag}
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        return Response(self.body, headers=headers, media_type=self.kind)


def load(folder: Traversable, before: str = "") -> dict[str, Asset]:
    """All files below a folder, by their paths."""
    found: dict[str, Asset] = {}
    for each in folder.iterdir():
        if each.is_dir():
            found |= load(each, f"{before}{each.name}/")
        elif (kind := KINDS.get(each.name.rpartition(".")[2])) is not None:
            body = each.read_bytes()
            found[f"{before}{each.name}"] = Asset(body, kind, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
    return found


ASSETS: Final = load(files("paceline_gateway") / "dashboard" / "static")


@router.get("/")
async def page(request: Request) -> Response:
    """The page."""
    return ASSETS[PAGE].answer(request)


@router.get("/dashboard/static/{name:path}")
async def file(request: Request, name: str) -> Response:
    """What the page needs."""
    if name not in ASSETS:
        raise Problem(404, "not_found", "there is no such file")
    return ASSETS[name].answer(request)
