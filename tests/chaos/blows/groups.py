"""What users get wrong in objects: it is told with the field and the fix, and nothing that was there is lost."""

import copy
import json

from chaos.blows.scene import Scene
from chaos.stage import SIZES
from chaos.work import FIXED, SHARED
from cluster.place import Json

TAINTS = "paceline.dev/taints"
WRONG_TAINT = "gpu=bad:NoClam"
SECRET = "operators-fixed"


async def miss_image(scene: Scene) -> None:
    await _taken_back(scene, "no-such-image:never")


async def crash(scene: Scene) -> None:
    await _taken_back(scene, "crashing")


async def _taken_back(scene: Scene, image: str) -> None:
    """The roll stops at its first runner, and the revision is not tried again."""
    stage = scene.stage
    before = await stage.status(FIXED)
    try:
        await stage.apply(stage.group(SIZES[FIXED], FIXED, image=image))

        async def failed() -> bool:
            status = await stage.status(FIXED)
            return bool(status.get("failedRevision")) and status.get("failedRevision") == status.get("updateRevision")

        await scene.until(failed, f"the revision with the image {image} is given up", 120)
        now = await stage.status(FIXED)
        scene.need(now["currentRevision"] == before["currentRevision"], "the revision that works is the current one")
    finally:
        await stage.apply(stage.group(SIZES[FIXED], FIXED))


async def wrong_url(scene: Scene) -> None:
    stage = scene.stage
    await stage.secret(SECRET, url="mysql://nobody:hidden-word@127.0.0.1/x")
    try:
        await _said(scene, "QueueReachable", "SecretInvalid", "postgresql://")
        scene.need("hidden-word" not in json.dumps(await stage.status(FIXED)), "a status shows no password")
    finally:
        await stage.secret(SECRET, url=stage.way("operators"))
    await _said(scene, "QueueReachable", "Reachable", "")


async def wrong_taint(scene: Scene) -> None:
    stage = scene.stage
    mine = [each for each in await stage.runners() if each["spec"]["groupRef"]["name"] == FIXED]
    name = scene.draw.choice(sorted(each["metadata"]["name"] for each in mine))
    await stage.run("annotate", "rnr", name, f"{TAINTS}={WRONG_TAINT}")

    async def told() -> bool:
        found: Json = await stage.runner(name)
        conditions = (found.get("status") or {}).get("conditions", ())
        return any(each["reason"] == "InvalidTaint" and WRONG_TAINT in each["message"] for each in conditions)

    try:
        await scene.until(told, f'Runner {name} says that "{WRONG_TAINT}" is no taint')
    finally:
        await stage.run("annotate", "rnr", name, f"{TAINTS}-")


async def wrong_template(scene: Scene) -> None:
    stage = scene.stage
    wrong = copy.deepcopy(stage.group(SIZES[FIXED], FIXED))
    wrong["spec"]["template"]["spec"]["containers"][0]["name"] = "worker"
    try:
        await stage.apply(wrong)
        await _said(scene, "Progressing", "TemplateInvalid", 'no container named "runner"')
    finally:
        await stage.apply(stage.group(SIZES[FIXED], FIXED))


async def min_over_max(scene: Scene) -> None:
    """Refused by the API server itself."""
    stage = scene.stage
    said = await stage.run("patch", "rgrp", SHARED, "--type=merge", "-p",
                           json.dumps({"spec": {"autoscaling": {"minReplicas": 9, "maxReplicas": 3}}}))  # fmt: skip
    scene.need("autoscaling.minReplicas must be at most autoscaling.maxReplicas" in said, f"it is refused: {said}")
    found = json.loads(await stage.run("get", "rgrp", SHARED, "-o", "json"))
    wanted = next(each for each in stage.groups if each["metadata"]["name"] == SHARED)["spec"]["autoscaling"]
    kept = found["spec"]["autoscaling"]
    scene.need(all(kept[name] == wanted[name] for name in ("minReplicas", "maxReplicas")), "the group is as it was")


async def _said(scene: Scene, kind: str, reason: str, words: str) -> None:
    async def is_so() -> bool:
        found = await scene.stage.condition(kind, FIXED)
        return found.get("reason") == reason and words in found.get("message", "")

    await scene.until(is_so, f'{kind} of {FIXED} has the reason {reason} and says "{words}"')
