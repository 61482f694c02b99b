"""Runners: seen, drained and tainted from the page, in earnest."""

from playwright.async_api import expect

from dashboard.browser.visit import Visit
from paceline.job import NewJob
from paceline.queue import Queue
from runner.process import StartRunner, seen, until


async def test_a_runner_is_drained_after_a_question_and_leaves(
    visit: Visit, queue: Queue, runners: StartRunner
) -> None:
    one, two = await runners("r1"), await runners("r2")
    await visit.go("#/runners")
    page = visit.page
    await expect(visit.row("Runners", "r2")).to_contain_text("Active")
    await page.get_by_role("button", name="Drain r1").click()
    await visit.answer("Leave it")
    await page.get_by_role("button", name="Drain r1").click()
    await expect(page.get_by_role("dialog")).to_contain_text("claims nothing any more")
    await visit.answer("Drain")
    await expect(page.get_by_text("r1 drains.")).to_be_visible()
    assert await one.ended() == 0
    await expect(visit.row("Runners", "r1")).to_have_count(0)
    await expect(visit.row("Runners", "r2")).to_be_visible()
    assert two.process.returncode is None


async def test_a_taint_keeps_jobs_away_until_it_is_taken_back(visit: Visit, queue: Queue, runners: StartRunner) -> None:
    await runners("r1")
    await visit.go("#/runners")
    page = visit.page
    await page.get_by_role("button", name="Taints of r1").click()
    field = page.get_by_label("Taints from here; empty for none")
    await field.fill("gpu=bad:NoClam")
    await visit.answer("Set")
    await expect(page.get_by_text('unknown effect "NoClam"')).to_be_visible()
    await page.get_by_role("button", name="Taints of r1").click()
    await field.fill("gpu=bad:NoClaim")
    await page.keyboard.press("Enter")
    await expect(visit.row("Runners", "r1")).to_contain_text("gpu=bad:NoClaim")
    job = await queue.enqueue("mail", {"to": "ada"})
    tolerant = await queue.enqueue(NewJob(kind="mail", payload={"to": "bob"}, priority=0, tolerations=("gpu",)))
    await until(queue, tolerant.id, "done")
    assert (await seen(queue, job.id)).state == "ready", "it came first, and was left alone"
    await page.get_by_role("button", name="Taints of r1").click()
    await expect(field).to_have_value("gpu=bad:NoClaim")
    await field.fill("")
    await visit.answer("Set")
    await until(queue, job.id, "done")


async def test_without_runners_the_page_says_how_to_start_one(visit: Visit) -> None:
    await visit.go("#/runners")
    await expect(visit.page.get_by_text("paceline run --pool builds --app MODULE:JOBS")).to_be_visible()
