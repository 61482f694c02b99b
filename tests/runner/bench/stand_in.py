"""Stands in for `paceline run` in the tests of the bench: claims, runs, answers probes, drains; no more."""

import asyncio
import importlib
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from paceline.claims import Finished, Incarnation, Registration
from paceline.database import Database

leaving = threading.Event()


class Port(BaseHTTPRequestHandler):
    """Probes and drain."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def do_POST(self) -> None:
        leaving.set()
        self.do_GET()

    def log_message(self, *_: object) -> None: ...


async def work(app: str) -> None:
    module, _, name = app.partition(":")
    jobs = getattr(importlib.import_module(module), name)
    async with await Database.open(os.environ["PACELINE_DATABASE_URL"], size=1) as database:
        who = Registration(name="stand-in", pool=os.environ["PACELINE_POOL"], kinds=jobs.kinds)
        incarnation = await Incarnation.register(database, who)
        done: list[Finished] = []
        while not leaving.is_set():
            step = await incarnation.step(int(os.environ["PACELINE_BATCH_SIZE"]), done)
            done = []
            for job in step.jobs:
                handler = jobs.get(job.kind)
                done.append(Finished(job, handler.dump(await handler.call(handler.parse(job.body)))))
            await asyncio.sleep(0 if done else 0.01)


if __name__ == "__main__" and "--help" not in sys.argv:
    host, _, port = os.environ["PACELINE_LISTEN"].rpartition(":")
    server = HTTPServer((host, int(port)), Port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asyncio.run(work(sys.argv[sys.argv.index("--app") + 1]))
