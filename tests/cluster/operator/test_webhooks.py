"""A real operator tells a real receiver what is wrong with a group, once, whoever acts, and when it is over."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cluster.operator.site import Site
from support.receiver import Receiver, receiving

SECRET = "secret-word"
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving(path=f"/{SECRET}") as made:
        yield made


def start(site: Site, receiver: Receiver) -> None:
    """An operator with a webhook."""
    file = site.scratch / "urls"
    file.write_text(f"{receiver.url}\n")
    site.start_operator(PACELINE_WEBHOOK_URL_FILE=str(file))


async def begun(site: Site, alert: str, ago: timedelta) -> None:
    """An operator has seen so long ago that it began: a quarter of an hour is too long for a test."""
    since = (datetime.now(UTC) - ago).strftime("%Y-%m-%dT%H:%M:%SZ")
    status = await site.status() | {"alerts": [{"name": alert, "since": since}]}
    manifest = {"apiVersion": "paceline.dev/v1alpha1", "kind": "RunnerGroup",
                "metadata": {"name": "builds", "namespace": site.namespace}, "status": status}  # fmt: skip
    words = "apply --server-side --subresource=status --field-manager=paceline --force-conflicts --validate=false -f -"
    await asyncio.to_thread(site.kubectl.run, *words.split(), stdin=json.dumps(manifest))


async def alert_of(site: Site, name: str) -> dict[str, Any]:
    found = {each["name"]: each for each in (await site.status()).get("alerts", ())}
    return dict(found.get(name, {}))


async def test_a_group_that_is_stuck_is_told_once_and_its_end_too(site: Site, receiver: Receiver) -> None:
    await site.apply(site.group(1, image="nowhere"))
    await begun(site, "PacelineGroupStuck", timedelta(minutes=20))
    start(site, receiver)
    told = await receiver.next()
    assert told["status"] == "firing"
    (alert,) = told["alerts"]
    assert alert["labels"] == {
        "alertname": "PacelineGroupStuck", "namespace": site.namespace, "group": "builds", "install": site.install,
        "severity": "warning",
    }  # fmt: skip
    assert alert["annotations"]["description"] == "1 of them have not been ready for 15 minutes."

    async def is_noted() -> bool:
        return "toldAt" in await alert_of(site, "PacelineGroupStuck")

    await site.until(is_noted, "it is written down that it was told")
    assert (await alert_of(site, "PacelineGroupStuck"))["since"] == alert["startsAt"]
    await site.stop_operator()
    start(site, receiver)  # and this one knows that it was told
    await site.apply(site.group(1))
    over = await receiver.next()
    assert over["status"] == "resolved"
    assert {key: over["alerts"][0][key] for key in ("startsAt", "fingerprint")} == {
        key: alert[key] for key in ("startsAt", "fingerprint")
    }

    async def is_gone() -> bool:
        return "alerts" not in await site.status()

    await site.until(is_gone, "nothing is left of it")
    assert [status for status, _ in receiver.posts] == [200, 200]
    await site.counts('paceline_webhooks_total{result="delivered"} 1.0')
    shown = site.log() + await site.run("get", "rgrp,events", "-o", "yaml")
    assert SECRET not in shown
    assert receiver.url not in shown
