"""Many runners that poll a gateway, in one process: each with a token and a registration of its own.

For each run it says how many milliseconds after its enqueue it came; the payload says when that was.
"""

import asyncio
import gc
import json
import sys
import time
from pathlib import Path
from typing import Any, Final

import aiohttp
import uvloop

from paceline_bench.workers import told

HEARTBEAT: Final = 10.0
READY: Final = "registered"
TOOK: Final = "took"
FAILED: Final = "failed"


class Runner:
    """One of them."""

    def __init__(self, session: aiohttp.ClientSession, url: str, token: str) -> None:
        """It has not registered yet."""
        self._session, self._url = session, url
        self._headers = {"Authorization": f"Bearer {token}"}
        self._incarnation = 0
        self._retry_after = 0.0
        self._runs: dict[int, int] = {}

    async def register(self) -> None:
        """Say who we are, again and again where the gateway is busy."""
        hello = {"kinds": ["*"], "slots": 1, "heartbeat_seconds": HEARTBEAT}
        while (said := await self._post("/runner/register", hello)) is None:  # noqa: ASYNC110 -- nobody tells when
            await asyncio.sleep(self._retry_after)
        self._incarnation = said["incarnation"]

    async def work(self) -> None:
        """Poll, and finish at once what comes."""
        query = {"incarnation": str(self._incarnation), "want": "1", "wait": "30"}
        while True:
            async with self._session.get(f"{self._url}/runner/runs", params=query, headers=self._headers) as answer:
                now, runs = time.time(), (await answer.json())["runs"] if answer.ok else []
                if not answer.ok:
                    told.said(FAILED, answer.status)
            for run in runs:
                told.said(TOOK, (now - run["payload"]["at"]) * 1000)
                self._runs[run["id"]] = run["fence"]
                await self._post(f"/runner/runs/{run['id']}/complete", {**self._owner, "fence": run["fence"]})
                del self._runs[run["id"]]

    async def beat(self, phase: float) -> None:
        """Spread over the interval, as those of runners that began at different times."""
        await asyncio.sleep(HEARTBEAT * phase)
        while True:
            await self._post("/runner/heartbeat", {**self._owner, "runs": list(self._runs.items())})
            await asyncio.sleep(HEARTBEAT)

    @property
    def _owner(self) -> dict[str, Any]:
        return {"incarnation": self._incarnation}

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        async with self._session.post(f"{self._url}{path}", json=body, headers=self._headers) as answer:
            if not answer.ok:
                told.said(FAILED, answer.status)
                self._retry_after = float(answer.headers.get("Retry-After", 1))
                return None
            found: dict[str, Any] = await answer.json()
            return found


async def main(url: str, tokens: list[str]) -> None:
    """Until it is ended."""
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:
        runners = [Runner(session, url, token) for token in tokens]
        gate = asyncio.Semaphore(20)

        async def enter(runner: Runner) -> None:
            async with gate:
                await runner.register()

        await asyncio.gather(*map(enter, runners))
        gc.disable()  # to look through a thousand of them takes 70 ms, which would be taken for the gateway's
        told.said(READY, len(runners))
        beats = [each.beat(number / len(runners)) for number, each in enumerate(runners)]
        await asyncio.gather(*(each.work() for each in runners), *beats)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], json.loads(Path(sys.argv[2]).read_text())))
