"""A real Prometheus that scrapes real processes, and gives them the labels that our monitors would."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml
from prometheus_client.parser import text_string_to_metric_families

from paceline.testing.guard import Guarded
from paceline.testing.scratch import free_ports
from support.watching import rule_groups


@dataclass(frozen=True, slots=True)
class Target:
    """A port with /metrics, and what the operator of Prometheus would say about it."""

    job: str
    address: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Prometheus:
    """One that runs."""

    client: httpx.AsyncClient

    async def ask(self, query: str) -> list[dict[str, Any]]:
        """The series that a query finds now."""
        answer = await self.client.get("/api/v1/query", params={"query": query})
        assert answer.status_code == httpx.codes.OK, f"{query}: {answer.text}"
        found: list[dict[str, Any]] = answer.json()["data"]["result"]
        return found

    async def values(self, label: str, selector: str) -> set[str]:
        """Those of a label, in the series that a selector finds; as Grafana asks for what can be chosen."""
        answer = await self.client.get(f"/api/v1/label/{label}/values", params={"match[]": selector})
        assert answer.status_code == httpx.codes.OK, f"{selector}: {answer.text}"
        return set(answer.json()["data"])

    async def unanswered(self, queries: Iterable[str]) -> list[str]:
        """Those of them that find nothing."""
        return [each for each in sorted(queries) if not await self.ask(each)]

    async def alerts(self) -> dict[str, dict[str, Any]]:
        """What it makes of our rules, by their names."""
        groups = (await self.client.get("/api/v1/rules")).json()["data"]["groups"]
        return {rule["name"]: rule for group in groups for rule in group["rules"]}


async def told_by(targets: Sequence[Target]) -> set[str]:
    """The names of all that these processes tell, also of what has not happened yet."""
    found: set[str] = set()
    async with httpx.AsyncClient(timeout=30) as client:
        for each in targets:
            text = (await client.get(f"http://{each.address}/metrics")).text
            for family in text_string_to_metric_families(text):
                found.add(f"{family.name}_total" if family.type == "counter" else family.name)
    return found


@asynccontextmanager
async def scraping(programs: Path, folder: Path, targets: Sequence[Target]) -> AsyncIterator[Prometheus]:
    """Every second, for as long as the block lasts."""
    (port,) = free_ports(1)
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": rule_groups()}))
    (folder / "prometheus.yaml").write_text(json.dumps(_settings(targets)))
    process = Guarded(
        [programs / "prometheus", f"--config.file={folder / 'prometheus.yaml'}",
         f"--storage.tsdb.path={folder / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}"],
        log=folder / "prometheus.log",
    )  # fmt: skip
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            while not await _ready(client):
                assert process.alive(), (folder / "prometheus.log").read_text()
                await asyncio.sleep(0.1)
            yield Prometheus(client)
    finally:
        process.stop()


def _settings(targets: Sequence[Target]) -> dict[str, Any]:
    return {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [
            {
                "job_name": job,
                "honor_labels": job == "paceline-operator",
                "static_configs": [
                    {"targets": [each.address], "labels": dict(each.labels)} for each in targets if each.job == job
                ],
            }
            for job in sorted({each.job for each in targets})
        ],
    }


async def _ready(client: httpx.AsyncClient) -> bool:
    try:
        return (await client.get("/-/ready")).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False
