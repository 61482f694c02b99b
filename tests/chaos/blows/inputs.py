"""What producers get wrong: refused with the field and the fix, whoever is asked, and nothing is stored."""

import asyncio
from collections.abc import Callable

import aiohttp

from chaos.blows.scene import Scene
from chaos.work import SHARED
from paceline.errors import InvalidInputError
from paceline.job import PAYLOAD_LIMIT, NewJob

CRON = "each-minute"
NOT_JSON = b'{"kind": "quick", "pool": "shared", "payload": {"n": }}'


async def not_json(scene: Scene) -> None:
    status, said = await _sent(scene, "POST", "/v1/jobs", NOT_JSON)
    scene.need(400 <= status < 500 and "JSON" in said, f"a body that is no JSON is refused: {status} {said}")
    _refused(scene, "payload", lambda: NewJob(kind="quick", payload=float("nan")))


async def too_large(scene: Scene) -> None:
    text = "x" * (PAYLOAD_LIMIT + 1)
    body = b'{"kind": "quick", "pool": "shared", "payload": "' + text.encode() + b'"}'
    status, said = await _sent(scene, "POST", "/v1/jobs", body)
    scene.need(400 <= status < 500 and "payload" in said, f"a payload over 1 MiB is refused: {status} {said[:300]}")
    _refused(scene, "payload", lambda: NewJob(kind="quick", payload=text))


async def wrong_cron(scene: Scene) -> None:
    body = b'{"schedule": "61 * * * *", "job": {"kind": "cron"}}'
    status, said = await _sent(scene, "PUT", f"/v1/cron/{CRON}?pool={SHARED}", body)
    scene.need(400 <= status < 500 and "schedule" in said, f"a schedule that is none is refused: {status} {said}")
    status, said = await _sent(scene, "GET", f"/v1/cron/{CRON}?pool={SHARED}", None)
    scene.need('"* * * * *"' in said, f"the entry is as it was: {status} {said}")


def _refused(scene: Scene, word: str, make: Callable[[], object]) -> None:
    try:
        make()
    except InvalidInputError as error:
        scene.need(word in str(error), f"the SDK names the field: {str(error)[:300]}")
    else:
        scene.need(False, "the SDK takes no such job")


async def _sent(scene: Scene, method: str, path: str, body: bytes | None) -> tuple[int, str]:
    headers = {"Authorization": f"Bearer {scene.stage.admin_token}", "Content-Type": "application/json"}
    last = "nothing"
    for _ in range(30):
        try:
            async with scene.stage.web.request(
                method, f"{scene.stage.front.url}{path}", data=body, headers=headers
            ) as answer:
                if answer.status < 500:
                    return answer.status, await answer.text()
                last = f"{answer.status} {await answer.text()}"
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            last = repr(error)
        await asyncio.sleep(0.5)
    return 0, last
