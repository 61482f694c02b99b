"""The overview and a pool: is it keeping up, and if not why."""

import re
from datetime import timedelta

from playwright.async_api import expect

from dashboard.browser.visit import Visit
from gateway.conftest import until as wait_until
from paceline.job import NewJob
from paceline.operating import Operating
from paceline.queue import Queue
from paceline.scaling import DecisionSeen, ScalingKept
from runner.process import StartRunner, until

PAST = """
INSERT INTO paceline.pool_sample (pool, taken_at, seconds, ready, scheduled, blocked, running, dead, oldest_seconds,
                                  busy, idle, draining, desired, done, failed)
SELECT p.id, clock_timestamp() - n * interval '10 seconds', 10, 40 + n, 5, 2, 8, 1, 12, 2, 1, 0, 3, 50, 2
  FROM paceline.pool p, generate_series(1, 300) n WHERE p.name = 'builds'"""
AHEAD = """
INSERT INTO paceline.pool_sample (pool, taken_at, seconds, ready, scheduled, blocked, running, dead, busy, idle,
                                  draining, done, failed)
SELECT p.id, clock_timestamp() + interval '1 hour', 10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0
  FROM paceline.pool p WHERE p.name = 'builds'"""
"""Of a stretch that is not over for as long as any test takes."""


async def test_without_a_pool_the_page_says_how_to_begin(visit: Visit) -> None:
    page = visit.page
    await expect(page.get_by_text("No pool yet")).to_be_visible()
    await expect(page.get_by_text("paceline enqueue hello --pool builds")).to_be_visible()


async def test_what_does_not_keep_up_stands_first_with_its_reason_and_what_to_do(visit: Visit, queue: Queue) -> None:
    page = visit.page
    await Queue(queue.database, "aaa").enqueue(NewJob(kind="later", delay=timedelta(hours=1)))
    await queue.enqueue_many([NewJob(kind="mail") for _ in range(3)])
    verdict = page.get_by_label("Is it keeping up?")
    await expect(verdict).to_contain_text("1 of 2 pools does not keep up: builds")
    await expect(verdict).to_contain_text("Start a runner of pool builds whose app has a handler for mail; or cancel")
    row = visit.row("Pools", "builds")
    await expect(row).to_contain_text("Stuck")
    await expect(row).to_contain_text('no group and no runner serves pool "builds"')


async def test_a_runner_that_comes_and_works_is_seen_without_a_reload(
    visit: Visit, queue: Queue, runners: StartRunner
) -> None:
    job = await queue.enqueue("mail", {"to": "ada"})
    row = visit.row("Pools", "builds")
    await expect(row).to_contain_text("Stuck")
    await runners("r1")
    await until(queue, job.id, "done")
    await expect(row).to_contain_text("0 busy, 1 idle")
    await expect(row).to_contain_text("Idle")


async def test_a_pool_shows_its_charts_its_decisions_and_why(visit: Visit, queue: Queue, runners: StartRunner) -> None:
    await queue.enqueue(NewJob(kind="mail", payload={"to": "ada"}))
    await runners("r1")
    operating = Operating(queue.database)
    group = await operating.put_group(install="i", namespace="ci", name="builds", pool="builds")
    await operating.put_scaling(group, 1)
    decided = DecisionSeen(
        at=await queue.database.value("SELECT clock_timestamp() - interval '20 minutes'"), was=1, replicas=3,
        reason="TooManyReplicas", limited_by="maxReplicas", inputs={},
        proposals=({"rule": "demand", "replicas": 5, "text": "5 runners for 40 jobs"},),
    )  # fmt: skip
    await operating.keep_scaling([ScalingKept(grp=group, state={}, decisions=[decided])])
    await queue.database.value(PAST)
    page = visit.page
    await visit.row("Pools", "builds").get_by_role("link", name="builds").click()
    await expect(page.get_by_role("heading", name="builds", level=1)).to_be_visible()
    for title in ("Depth", "Oldest wait", "Runners", "Throughput", "Failures"):
        chart = page.locator("figure", has=page.get_by_role("heading", name=title, exact=True))
        await expect(chart.locator("path.line").first).to_have_attribute("d", re.compile("^M.*L"))
    table = page.get_by_role("table", name="Scaling decisions")
    for text in ("ci/builds", "1 → 3", "TooManyReplicas", "maxReplicas", "5 runners for 40 jobs"):
        await expect(table).to_contain_text(text)
    await expect(visit.row("Runners", "r1")).to_be_visible()


async def test_a_decision_is_explained_where_the_pointer_is_and_by_the_keyboard(visit: Visit, queue: Queue) -> None:
    await queue.database.value("UPDATE paceline.tick SET sampled_at = 'infinity'")  # a sample of now has no runners
    await queue.enqueue("mail")
    operating = Operating(queue.database)
    group = await operating.put_group(install="i", namespace="ci", name="builds", pool="builds")
    await operating.put_scaling(group, 1)
    decided = DecisionSeen(
        at=await queue.database.value("SELECT clock_timestamp() - interval '30 minutes'"), was=1, replicas=3,
        reason="ScaleUpLimit", limited_by=None, inputs={}, proposals=({"text": "four pods in 15 s"},),
    )  # fmt: skip
    await operating.keep_scaling([ScalingKept(grp=group, state={}, decisions=[decided])])
    await queue.database.value(PAST)
    await visit.go("#/pools/builds")
    page = visit.page
    chart = page.locator("figure", has=page.get_by_role("heading", name="Runners", exact=True))
    flags = chart.locator("path.flags")
    await expect(flags).to_have_attribute("d", re.compile("^M"))
    found = re.match(r"M([\d.]+) ", await flags.get_attribute("d") or "")
    assert found is not None
    plot = chart.locator("svg.plot")
    await plot.scroll_into_view_if_needed()
    box = await plot.bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + float(found[1]), box["y"] + 60)
    tip = chart.locator(".tip")
    await expect(tip).to_contain_text("1 → 3 runners: ScaleUpLimit. four pods in 15 s")
    await expect(tip).to_contain_text("Busy 2")
    await page.mouse.move(0, 0)
    await expect(tip).to_be_hidden()
    await plot.focus()
    await page.keyboard.press("ArrowLeft")
    await expect(tip).to_be_visible()
    await expect(plot).to_have_attribute("aria-label", re.compile("Runners, now: Busy 2, Idle 1"))


async def test_a_stretch_that_is_not_over_is_no_fall_of_throughput(visit: Visit, queue: Queue) -> None:
    await queue.database.value("UPDATE paceline.tick SET sampled_at = 'infinity'")  # no samples but these
    await queue.enqueue("mail")
    await queue.database.value(PAST)
    await queue.database.value(AHEAD)
    await visit.go("#/pools/builds?span=86400")
    page = visit.page
    for title, now in (("Throughput", "Done 5"), ("Failures", "Failed 0.2"), ("Depth", "Ready 1,")):
        chart = page.locator("figure", has=page.get_by_role("heading", name=title, exact=True))
        plot = chart.locator("svg.plot")
        await expect(plot).to_have_attribute("aria-label", re.compile(f"^{title}, now: {re.escape(now)}"))


async def test_another_span_is_in_the_address_and_has_fewer_points(visit: Visit, queue: Queue) -> None:
    await queue.enqueue("mail")
    await queue.database.value(PAST)
    await visit.go("#/pools/builds")
    page = visit.page
    line = page.locator("figure").first.locator("path.line").first
    await expect(line).to_have_attribute("d", re.compile("^M.*L"))
    hour = (await line.get_attribute("d") or "").count("L")
    await page.get_by_role("button", name="24 h").click()
    await expect(page).to_have_url(re.compile("span=86400"))

    async def is_coarser() -> bool:
        return 0 < (await line.get_attribute("d") or "").count("L") < hour

    await wait_until(is_coarser)
    await page.reload()
    await expect(page.get_by_role("button", name="24 h")).to_have_attribute("aria-pressed", "true")
