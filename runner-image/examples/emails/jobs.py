"""Mails to many people: one for each, at the pace that the mail provider allows."""

import os
import smtplib
from datetime import timedelta
from email.message import EmailMessage

from pydantic import BaseModel

from paceline import Context, Exponential, Jobs

HOST = os.environ.get("SMTP_HOST", "localhost")
PORT = int(os.environ.get("SMTP_PORT", "8025"))
DOMAIN = "shop.example"
PERMANENT = 500
"""An answer from here on is final; one below says that the same mail may be taken later."""
jobs = Jobs()


class Mail(BaseModel):
    """What one person gets."""

    to: str
    subject: str
    text: str


class RefusedError(Exception):
    """The server will never take this mail, however often it is asked."""


@jobs.handler(
    "mail.send",
    retry=Exponential(base=timedelta(seconds=30), stop_on=(RefusedError,)),
    timeout=timedelta(minutes=1),
)
def send(mail: Mail, context: Context) -> dict[str, str]:
    """Plain, since smtplib waits for the network: it runs in a thread, and others beside it."""
    message = written(mail, context)
    if context.should_stop:
        raise InterruptedError("told to stop before anything was sent")
    try:
        with smtplib.SMTP(HOST, PORT, timeout=20) as server:
            server.send_message(message)
    except (smtplib.SMTPResponseException, smtplib.SMTPRecipientsRefused) as error:
        code, text = answer(error)
        if code >= PERMANENT:
            raise RefusedError(f"{mail.to}: {code} {text}") from error
        raise
    return {"to": mail.to, "message id": message["Message-ID"]}


def written(mail: Mail, context: Context) -> EmailMessage:
    """The job's number is the same in every try: whoever gets the mail twice can see that it is one."""
    message = EmailMessage()
    message["From"] = f"news@{DOMAIN}"
    message["To"] = mail.to
    message["Subject"] = mail.subject
    message["Message-ID"] = f"<job-{context.job_id}@{DOMAIN}>"
    message["X-Paceline-Fence"] = str(context.fence)
    message.set_content(mail.text)
    return message


def answer(error: smtplib.SMTPResponseException | smtplib.SMTPRecipientsRefused) -> tuple[int, str]:
    """What the server said; smtplib has two ways to tell, and here there is one recipient."""
    text: bytes | str
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, text = next(iter(error.recipients.values()))
    else:
        code, text = error.smtp_code, error.smtp_error
    return code, text.decode(errors="replace") if isinstance(text, bytes) else text
