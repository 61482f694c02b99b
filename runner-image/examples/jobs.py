"""The handlers of a small shop: in Python three ways, by a shell script, and by a server in another language."""

import asyncio
import os
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel, PositiveInt

from paceline import Context, Exponential, Jobs

HERE = Path(__file__).parent
THUMBS = f"http://127.0.0.1:{os.environ.get('THUMBS_PORT', '9000')}/thumbs"
jobs = Jobs()


class Mail(BaseModel):
    """What to send, and to whom."""

    to: str
    text: str


@jobs.handler("mail.send", retry=Exponential(base=timedelta(seconds=10)), timeout=timedelta(minutes=1))
async def send_mail(mail: Mail, context: Context) -> dict[str, object]:
    """Async: it waits for the network, and many can wait at once. The job's id lets a mail server know a second try."""
    context.log.info("sending %d characters to %s", len(mail.text), mail.to)
    await asyncio.sleep(0)  # here a mail server would be talked to
    return {"to": mail.to, "message id": f"job-{context.job_id}"}


@jobs.handler("report.build")
def build_report(months: list[str], context: Context) -> dict[str, int]:
    """Plain: it runs in a thread, tells how far it is, and stops when it is told to."""
    lengths: dict[str, int] = {}
    for number, month in enumerate(months, 1):
        if context.should_stop:
            raise InterruptedError("told to stop")
        lengths[month] = len(month)
        context.progress({"done": number, "of": len(months)})
    return lengths


@jobs.handler("number.factor", isolation="process", timeout=timedelta(seconds=30))
def factor(number: PositiveInt) -> list[int]:
    """In a process of its own: it may take all of a core, be killed at its timeout, or crash."""
    factors, divisor = [], 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            factors.append(divisor)
            number //= divisor
        divisor += 1
    return [*factors, number] if number > 1 else factors


jobs.command("payload.digest", [str(HERE / "digest.sh")], timeout=timedelta(seconds=10))
jobs.http("thumb.size", THUMBS, timeout=timedelta(seconds=30))
