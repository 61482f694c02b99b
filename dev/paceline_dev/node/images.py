"""The images that this node knows: there are none, so a name stands for a command of this machine."""

import asyncio
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from paceline_dev.errors import DevError

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Image:
    """What an image's configuration would say."""

    entrypoint: tuple[str, ...] = ()
    cmd: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    working_dir: str = ""
    """Empty is a folder of the container's own, not `/`: a process here could write there."""

    def argv(self, command: tuple[str, ...], args: tuple[str, ...]) -> tuple[str, ...]:
        """What to run: `command` replaces the entrypoint and drops cmd, `args` replaces cmd."""
        if command:
            return (*command, *args)
        return (*self.entrypoint, *(args or self.cmd))


class Images:
    """A table that may grow while pods wait for it."""

    def __init__(self, known: Mapping[str, Image]) -> None:
        """Begin with those."""
        self._known = dict(known)
        self._news = asyncio.Event()

    def get(self, name: str) -> Image | None:
        """The image of that name."""
        return self._known.get(name)

    def add(self, name: str, image: Image) -> None:
        """Learn a name, and wake who waits for one."""
        self._known[name] = image
        self._news.set()
        self._news = asyncio.Event()

    async def learned(self, seconds: float) -> bool:
        """Wait until there is a new name, or the time is over; whether there is one."""
        try:
            async with asyncio.timeout(seconds):
                return await self._news.wait()
        except TimeoutError:
            return False


def pull_error(name: str) -> str:
    """The words of a runtime that asked for an image and got none."""
    return (
        f'rpc error: code = NotFound desc = failed to pull and unpack image "{name}": not found: '
        "this node pulls nothing, and no image of that name was given to it"
    )


def parse_image(text: str, path: str = PATH) -> tuple[str, Image]:
    """`NAME=COMMAND...`, the command split as a shell does."""
    name, equals, command = text.partition("=")
    words = shlex.split(command)
    if not (name and equals and words):
        raise DevError(f'--image "{text}" is not NAME=COMMAND: say for example --image runner="paceline run"')
    return name, Image(entrypoint=tuple(words), env={"PATH": path})
