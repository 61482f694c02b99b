"""Jobs: found, followed, cancelled, retried; dead letters that go back; cron that rests."""

import re
from datetime import timedelta
from pathlib import Path

from playwright.async_api import expect

from dashboard.browser.visit import Visit
from paceline.claims import Failed, Incarnation, Registration
from paceline.cron import Cron, CronEntry
from paceline.job import NewJob
from paceline.queue import Queue
from runner.process import StartRunner, until


async def dead_letters(queue: Queue, number: int) -> list[int]:
    await queue.enqueue_many([NewJob(kind="mail", payload={"to": "ada"}) for _ in range(number)])
    runner = await Incarnation.register(
        queue.database, Registration(name=f"r0-{queue.pool}", pool=queue.pool, kinds=("*",))
    )
    jobs = (await runner.step(number)).jobs
    await runner.fail([Failed(job, "no such mailbox") for job in jobs])
    await runner.deregister()
    return [job.id for job in jobs]


async def test_a_job_is_found_by_its_id_and_shows_how_it_went(visit: Visit, queue: Queue, runners: StartRunner) -> None:
    job = await queue.enqueue("mail", {"to": "<b>ada</b>"})
    await runners("r1")
    await until(queue, job.id, "done")
    page = visit.page
    await page.keyboard.press("/")
    await page.keyboard.type(str(job.id))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name=f"Job {job.id}")).to_be_visible()
    await expect(page.get_by_text("Done", exact=True).first).to_be_visible()
    await expect(page.get_by_label("Output")).to_contain_text("sending to <b>ada</b>")
    await expect(page.get_by_label("Result")).to_contain_text('"to": "<b>ada</b>"')
    await expect(page.get_by_role("img", name=re.compile("^Timeline: waited"))).to_be_visible()


async def test_a_running_job_is_cancelled_and_the_page_follows(
    visit: Visit, queue: Queue, runners: StartRunner, tmp_path: Path
) -> None:
    await runners("r1")
    job = await queue.enqueue("wait", "never")
    await until(queue, job.id, "running")
    await visit.go(f"#/jobs/{job.id}")
    page = visit.page
    await expect(page.get_by_text("Running", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Cancel…").click()
    await visit.answer("Cancel the job")
    await until(queue, job.id, "cancelled")
    await expect(page.get_by_text("Cancelled", exact=True).first).to_be_visible()


async def test_a_scheduled_job_runs_now_if_it_is_told_to(visit: Visit, queue: Queue, runners: StartRunner) -> None:
    job = await queue.enqueue(NewJob(kind="mail", payload={"to": "ada"}, delay=timedelta(hours=1)))
    await runners("r1")
    await visit.go(f"#/jobs/{job.id}")
    await visit.page.get_by_role("button", name="Run now").click()
    await until(queue, job.id, "done")
    await expect(visit.page.get_by_text("Done", exact=True).first).to_be_visible()


async def test_jobs_are_filtered_by_state_pool_and_kind_and_the_address_keeps_it(visit: Visit, queue: Queue) -> None:
    ready = await queue.enqueue("mail")
    later = await queue.enqueue(NewJob(kind="mail", delay=timedelta(hours=1)))
    other = await Queue(queue.database, "other").enqueue("build")
    await visit.go("#/jobs")
    page = visit.page
    for job in (ready, later, other):
        await expect(visit.row("Jobs", job.id)).to_be_visible()
    await page.get_by_role("button", name="Scheduled").click()
    await expect(visit.row("Jobs", ready.id)).to_have_count(0)
    await expect(visit.row("Jobs", later.id)).to_contain_text("its time")
    await page.get_by_role("button", name="Live").click()
    await page.get_by_label("Pool", exact=True).select_option("other")
    await expect(visit.row("Jobs", ready.id)).to_have_count(0)
    await expect(visit.row("Jobs", other.id)).to_be_visible()
    await page.get_by_label("Kind", exact=True).fill("nothing")
    await expect(page.get_by_text("No live job here of the kind “nothing”")).to_be_visible()
    await expect(page).to_have_url(re.compile(r"pool=other&kind=nothing"))
    await page.get_by_role("link", name="dead letters", exact=True).click()
    await expect(page).to_have_url(re.compile(r"#/dead\?kind=nothing&pool=other"))


async def test_somebody_new_comes_from_the_first_page_to_what_is_stuck_and_what_to_do(
    visit: Visit, queue: Queue, runners: StartRunner
) -> None:
    """Two clicks."""
    job = await queue.enqueue(NewJob(kind="mail", payload={"to": "ada"}, tags=("gpu",)))
    await runners("r1", PACELINE_TAGS="linux")
    page, wanted = visit.page, "it needs the tag gpu; runners with a handler for it have linux"
    verdict = page.get_by_label("Is it keeping up?")
    await expect(verdict).to_contain_text(f"No runner can take 1 of the ready jobs (mail): {wanted}.")
    await verdict.get_by_role("link", name="Show these jobs").click()
    await visit.row("Jobs", job.id).get_by_role("link", name=str(job.id)).click()
    await expect(page.get_by_text(f"No runner can take it: {wanted}.")).to_be_visible()
    await expect(page.get_by_text("Start a runner, or a group, with the tags gpu; or cancel")).to_be_visible()
    await expect(page.get_by_text("No attempt has ended yet.")).to_be_visible()
    await visit.go("#/runners")
    await expect(visit.row("Runners", "r1")).to_contain_text("linux")


async def test_what_has_ended_is_there_too(visit: Visit, queue: Queue, runners: StartRunner) -> None:
    job = await queue.enqueue("mail", {"to": "ada"})
    await runners("r1")
    await until(queue, job.id, "done")
    await visit.go("#/jobs?state=finished")
    row = visit.row("Jobs", job.id)
    await expect(row).to_contain_text("Done")
    await expect(row).to_contain_text("r1")
    await row.get_by_role("link", name=str(job.id)).click()
    await expect(visit.page.get_by_role("heading", name=f"Job {job.id}")).to_be_visible()


async def test_chosen_dead_letters_go_back_and_are_done(visit: Visit, queue: Queue, runners: StartRunner) -> None:
    one, two = await dead_letters(queue, 2)
    await visit.go("#/dead")
    page = visit.page
    await expect(visit.row("Dead letters", one)).to_contain_text("no such mailbox")
    await expect(page.locator("#dead-count")).to_have_text("2")
    await page.get_by_label(f"Choose job {one}").check()
    await page.get_by_role("button", name="Redrive 1 chosen").click()
    await visit.answer("Redrive")
    await expect(page.get_by_text("1 went back.")).to_be_visible()
    await expect(visit.row("Dead letters", one)).to_have_count(0)
    await expect(visit.row("Dead letters", two)).to_be_visible()
    await runners("r1")
    await until(queue, one, "done")  # type: ignore[arg-type]


async def test_all_that_match_go_back_at_once_and_only_of_the_chosen_pool(visit: Visit, queue: Queue) -> None:
    gone = await dead_letters(queue, 60)
    (stays,) = await dead_letters(Queue(queue.database, "other"), 1)
    await visit.go("#/dead")
    page = visit.page
    everything = page.get_by_role("button", name="Redrive all that match…")
    await expect(visit.row("Dead letters", stays)).to_be_visible()
    await expect(everything).to_be_disabled()
    await page.get_by_label("Pool", exact=True).select_option("builds")
    await everything.click()
    await visit.answer("Redrive")
    await expect(page.get_by_text(f"{len(gone)} went back.")).to_be_visible()
    await expect(page.get_by_text("No dead letter", exact=True)).to_be_visible()
    assert await queue.database.value("SELECT array_agg(id) FROM paceline.dead") == [stays]


async def test_a_cron_entry_rests_and_goes_on(visit: Visit, queue: Queue) -> None:
    cron = Cron(queue.database, "builds")
    await cron.put(CronEntry(name="nightly", schedule="30 2 * * *", job=NewJob(kind="report")))
    await visit.go("#/cron")
    page = visit.page
    await expect(visit.row("Cron entries", "nightly")).to_contain_text("30 2 * * *")
    await page.get_by_role("button", name="Pause nightly").click()
    await expect(visit.row("Cron entries", "nightly")).to_contain_text("Paused")
    assert (await cron.list())[0].paused
    await page.get_by_role("button", name="Resume nightly").click()
    await expect(visit.row("Cron entries", "nightly")).to_contain_text("Active")
    assert not (await cron.list())[0].paused
