"""The page: plain files of our own under a strict policy."""

import re

import pytest

from gateway.conftest import Client
from gateway.door.conftest import Door
from paceline_gateway.dashboard.assets import ASSETS, POLICY

TEXTS = {name: asset.body.decode() for name, asset in ASSETS.items()}
STATIC = "/dashboard/static"


@pytest.fixture
async def anybody(site: Door, address: str) -> Client:
    return await site.nobody(address)


async def test_the_page_and_its_files_are_for_everybody_under_a_strict_policy(anybody: Client) -> None:
    assert len(ASSETS) > 20
    for path in ("/", *(f"{STATIC}/{name}" for name in ASSETS)):
        answer = await anybody.get(path)
        assert answer.status_code == 200, path
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert "'unsafe" not in POLICY
    parts = dict(part.strip().split(" ", 1) for part in POLICY.split(";"))
    assert parts["default-src"] == parts["frame-ancestors"] == parts["base-uri"] == "'none'"
    assert parts["script-src"] == parts["style-src"] == parts["connect-src"] == parts["form-action"] == "'self'"


async def test_a_browser_that_has_a_file_is_told_so(anybody: Client) -> None:
    first = await anybody.get(f"{STATIC}/main.js")
    again = await anybody.get(f"{STATIC}/main.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert first.headers["cache-control"] == again.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["assets.py", "..%2fassets.py", "%2e%2e/verdict.py", "", "pages"])
async def test_no_other_file_is_to_be_had(anybody: Client, path: str) -> None:
    assert (await anybody.get(f"{STATIC}/{path}")).status_code in (401, 404)


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_comes_from_elsewhere(name: str) -> None:
    text = TEXTS[name].replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|@import|url\(", text)


@pytest.mark.parametrize("name", [name for name in TEXTS if name.endswith(".js")])
def test_no_script_makes_markup_of_text_or_keeps_what_is_secret(name: str) -> None:
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", TEXTS[name])
    assert not re.search(r"document\.cookie|sessionStorage", TEXTS[name])
    if name != "theme.js":
        assert "localStorage" not in TEXTS[name]


def test_no_script_or_style_is_inside_the_page() -> None:
    page = TEXTS["index.html"]
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)


@pytest.mark.parametrize("name", [name for name in TEXTS if name.endswith(".js")])
def test_every_module_that_is_imported_is_there(name: str) -> None:
    folder = name.rpartition("/")[0]
    for given in re.findall(r'from "([^"]+)"', TEXTS[name]):
        parts = folder.split("/") if folder else []
        for part in given.split("/"):
            if part == "..":
                parts.pop()
            elif part != ".":
                parts.append(part)
        assert "/".join(parts) in ASSETS, given


async def test_the_description_of_the_api_does_not_mention_it(anybody: Client) -> None:
    paths = (await anybody.get("/openapi.json")).json()["paths"]
    assert [path for path in paths if path == "/" or path.startswith("/dashboard")] == []
