"""Copies what belongs on the site to where MkDocs finds it, and changes links to what they lead to there.

In the repository a link leads from file to file, also out of docs/: to the change log, an example, the results of
benchmarks, a folder of manifests. On the site the first three are pages too; what is no page is named by its path.
"""

import os
import shutil
from pathlib import Path, PurePosixPath
from typing import Final

from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError
from paceline_dev.site.markdown import Link, rewrite

PAGES: Final = REPOSITORY / "build" / "pages"
DOCS: Final = "docs"
ELSEWHERE: Final = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "runner-image/examples/README.md": "how-to/image-with-handlers.md",
}
"""Pages that are not in docs/, and where they are on the site."""
EXAMPLES: Final = "runner-image/examples"
RESULTS: Final = "bench/results"


def lay_out(folder: Path, root: Path = REPOSITORY) -> list[str]:
    """Make the folder anew; returns the names of its pages."""
    shutil.rmtree(folder, ignore_errors=True)
    places = site_places(root)
    for source, place in places.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if place.endswith(".md"):
            target.write_text(on_site((root / source).read_text(), source, places, root))
        else:
            shutil.copyfile(root / source, target)
    return [place for place in places.values() if place.endswith(".md")]


def site_places(root: Path = REPOSITORY) -> dict[str, str]:
    """Each file that goes there, by its path in the repository."""
    docs = (path.relative_to(root).as_posix() for path in sorted((root / DOCS).rglob("*")) if path.is_file())
    examples = (path.relative_to(root).as_posix() for path in sorted((root / EXAMPLES).glob("*/README.md")))
    results = (path.relative_to(root).as_posix() for path in sorted((root / RESULTS).iterdir()))
    return {
        **{name: name.removeprefix(f"{DOCS}/") for name in docs},
        **ELSEWHERE,
        **{name: f"examples/{PurePosixPath(name).parent.name}.md" for name in examples},
        **{name: f"reference/results/{PurePosixPath(name).name}" for name in results if name.endswith((".md", ".svg"))},
    }


def on_site(text: str, source: str, places: dict[str, str], root: Path = REPOSITORY) -> str:
    """A page with its links as they are on the site."""
    here = places[source]

    def change(link: Link) -> str:
        path, hash_, anchor = link.target.partition("#")
        if link.outside or not path:
            return str(link)
        found = os.path.normpath(PurePosixPath(source).parent / path)
        if found in places:
            relative = os.path.relpath(places[found], PurePosixPath(here).parent)
            return str(Link(link.text, f"{relative}{hash_}{anchor}", link.image))
        if not (root / found).exists():
            raise DevError(f"{source}: the link to {link.target} leads nowhere")
        return link.text if f"`{found}`" == link.text else f"{link.text} (`{found}`)"

    return rewrite(text, change)
