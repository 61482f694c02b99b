"""What several commands ask for in the same words. Nothing heavy is imported here: `--help` must be quick."""

import math
import os
import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

URL_VARIABLES: Final = ("PACELINE_DATABASE_URL", "DATABASE_URL")
POOL_VARIABLE: Final = "PACELINE_POOL"
DEFAULT_POOL: Final = "default"
DURATION_FORM: Final = "write it like 30s, 10m, 2h, 3d or 1h30m"
MOMENT_FORM: Final = "write it like 2026-05-01T08:00:00Z or 2026-05-01T10:00:00+02:00"
NONE: Final = "none"

_DURATION = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,8})h)?(?:(\d{1,9})m)?(?:(\d{1,10}(?:\.\d{1,3})?)s)?")


class Format(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


def duration(text: str) -> timedelta:
    """A time span as people write it; typer adds the name of the option to the error."""
    found = _DURATION.fullmatch(text)
    if not found or not any(found.groups()):
        raise typer.BadParameter(f'"{text}" is no duration ({DURATION_FORM})')
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def moment(text: str) -> datetime:
    """A moment in time with its zone; without one nobody could tell whose clock is meant."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f'"{text}" is no moment ({MOMENT_FORM})') from None
    if found.tzinfo is None:
        raise typer.BadParameter(f'"{text}" has no time zone (append Z for UTC, or an offset like +02:00)')
    return found.astimezone(UTC)


def moment_or_age(text: str) -> str:
    """Check a moment or a duration; `back_from` makes a moment of it once the database's clock is known."""
    if not _DURATION.fullmatch(text):
        try:
            moment(text)
        except typer.BadParameter as error:
            raise typer.BadParameter(f"{error.message}; or how long ago: {DURATION_FORM}") from None
    else:
        duration(text)
    return text


def back_from(now: datetime, text: str | None) -> datetime | None:
    """The moment that `moment_or_age` has let pass."""
    if text is None:
        return None
    return now - duration(text) if _DURATION.fullmatch(text) else moment(text)


def chosen_pool(named: str | None, option: str) -> str:
    """The pool that an argument names, else the one of the option, which the variable may have set."""
    if named is not None and option not in (named, DEFAULT_POOL, os.environ.get(POOL_VARIABLE)):
        raise typer.BadParameter(f"two pools are given, {named} and {option} (leave one out)", param_hint="'--pool'")
    return option if named is None else named


def limit(text: str) -> float:
    """A positive number, or `none`, which the database knows as a negative one."""
    if text == NONE:
        return -1
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found) or found <= 0:
        raise typer.BadParameter(f'"{text}" is no limit (a number above 0, or "none" to remove it)')
    return found


def whole_limit(text: str) -> int:
    """A limit that counts things."""
    found = limit(text)
    if found != int(found) or found > 2**31 - 1:
        raise typer.BadParameter(f'"{text}" is no limit (a whole number above 0, or "none" to remove it)')
    return int(found)


class WebhookForm(StrEnum):
    """What the body of a webhook's request looks like."""

    ALERTMANAGER = "alertmanager"
    SLACK = "slack"


WebhookUrlFileOption = Annotated[
    Path | None,
    typer.Option(envvar="PACELINE_WEBHOOK_URL_FILE", metavar="FILE", show_default="nobody is told",
                 help="Who is told of alerts: one URL in a line."),
]  # fmt: skip
WebhookFormOption = Annotated[
    WebhookForm,
    typer.Option(envvar="PACELINE_WEBHOOK_FORM", metavar="|".join(WebhookForm), help="What they understand."),
]
WebhookRunbooksOption = Annotated[
    str,
    typer.Option(envvar="PACELINE_WEBHOOK_RUNBOOKS", metavar="URL", show_default="a path",
                 help="Where you read this repository, to make links of docs/runbooks/…"),
]  # fmt: skip

Pool = Annotated[
    str, typer.Option("--pool", "-p", envvar=POOL_VARIABLE, metavar="POOL", help="The pool whose jobs are meant.")
]
AllPools = Annotated[
    bool, typer.Option("--all-pools", "-A", help="Every pool that the login may read, instead of one.")
]
NamedPool = Annotated[str | None, typer.Argument(metavar="POOL", help="The pool that is meant; or --pool.")]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Draw it anew every second, until Ctrl-C.")]
Limit = Annotated[int, typer.Option("--limit", min=1, metavar="N", help="At most so many, the newest ones.")]
JobIds = Annotated[list[int], typer.Argument(metavar="ID", min=1, help="Ids of jobs, as enqueue and list show them.")]
OneJob = Annotated[int, typer.Argument(metavar="ID", min=1, help="The id of a job, as enqueue and list show it.")]
Payload = Annotated[
    str | None,
    typer.Argument(metavar="PAYLOAD", help="""JSON, in single quotes: '{"to": "ann"}'. "-" reads it from stdin."""),
]
Priority = Annotated[int, typer.Option(metavar="0-9", help="Higher goes first.")]
Delay = Annotated[
    timedelta | None, typer.Option(parser=duration, metavar="DURATION", help="Not before this much time has passed.")
]
ExpiresIn = Annotated[
    timedelta | None,
    typer.Option(parser=duration, metavar="DURATION", help="Not to be started after this much time."),
]
Key = Annotated[
    str | None, typer.Option(metavar="KEY", help="Jobs of one key run one at a time over all runners of the pool.")
]
KeyLimit = Annotated[
    int | None, typer.Option(metavar="N", help="Let so many jobs of the key run at once; kept with the key.")
]
Tag = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Only runners with this tag; may be repeated.")
]
Toleration = Annotated[
    list[str] | None,
    typer.Option(
        "--toleration", metavar="TAINT", help="Go also to runners with this taint, as in gpu=bad:NoClaim; repeatable."
    ),
]
MaxTries = Annotated[int, typer.Option(metavar="N", help="Dead after so many failed attempts.")]
AttemptTimeout = Annotated[
    timedelta | None,
    typer.Option("--timeout", parser=duration, metavar="DURATION", help="How long one attempt may take."),
]


class LogForm(StrEnum):
    """How a runner writes its log."""

    AUTO = "auto"
    JSON = "json"
    PRETTY = "pretty"


LogFormatOption = Annotated[
    LogForm, typer.Option(envvar="PACELINE_LOG_FORMAT", metavar="|".join(LogForm), help="How the log is written.")
]
LogLevelOption = Annotated[
    str, typer.Option(envvar="PACELINE_LOG_LEVEL", metavar="LEVEL", help="debug, info, warning or error.")
]


def address(option: str, given: str, example: str) -> tuple[str, int]:
    """Host and port of where a command listens."""
    from paceline.errors import InvalidInputError

    host, colon, port = given.rpartition(":")
    if not colon or not port.isdecimal():
        raise InvalidInputError(f'{option} "{given}" is not HOST:PORT, for example {example}')
    return host.strip("[]"), int(port)
