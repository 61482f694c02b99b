"""wrk, Debian's: a client that costs so little that the server is what is measured."""

import asyncio
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paceline_bench.errors import NotMeasuredError
from paceline_dev.cache import cache_root
from paceline_dev.errors import DevError
from paceline_dev.kind.packages import fetched, packages_key, tool_environment
from paceline_dev.progress import Reporter

PACKAGES: Final = ("wrk/bookworm", "libluajit-5.1-2/bookworm", "libluajit-5.1-common/bookworm")
SCRIPT: Final = """\
wrk.method = "POST"
wrk.body = %s
done = function(summary)
  local e = summary.errors
  io.write(string.format("result %%d %%d %%d\\n", summary.requests, summary.duration,
                         e.connect + e.read + e.write + e.timeout + e.status))
end
"""


@dataclass(frozen=True, slots=True)
class Wrk:
    """The program."""

    folder: Path

    async def post(self, url: str, body: str, headers: Mapping[str, str], *, connections: int, seconds: float) -> float:
        """How many requests a second were answered well; one that was not is an error."""
        with tempfile.TemporaryDirectory(prefix="paceline-bench-") as folder:
            script = Path(folder) / "post.lua"
            script.write_text(SCRIPT % lua(body))
            words = [word for name, value in headers.items() for word in ("-H", f"{name}: {value}")]
            process = await asyncio.create_subprocess_exec(
                self.folder / "usr/bin/wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "--timeout=30s",
                "-s", script, *words, url, env=tool_environment(self.folder), stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )  # fmt: skip
            said, _ = await process.communicate()
        return rate(said.decode())


def rate(said: str) -> float:
    """From what it printed at the end."""
    found = [line.split()[1:] for line in said.splitlines() if line.startswith("result ")]
    if not found:
        raise NotMeasuredError(f"wrk said: {said.strip()[-200:]}")
    requests, microseconds, errors = map(int, found[0])
    if errors:
        raise NotMeasuredError(f"{errors} of {requests} requests failed")
    return requests / (microseconds / 1e6)


def lua(text: str) -> str:
    """A Lua string; JSON escapes what ours contain in the same way."""
    return json.dumps(text)


def find_wrk(report: Reporter) -> Wrk:
    """Fetched on first use."""
    try:
        folder = fetched(cache_root() / "wrk" / packages_key(PACKAGES), PACKAGES, "wrk", report)
    except DevError as error:
        raise NotMeasuredError(str(error)) from None
    return Wrk(folder)
