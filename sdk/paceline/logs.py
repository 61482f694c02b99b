"""Log lines of everything that Paceline runs: one for each event, for people or for machines, with what it is about."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final, Literal

FIELDS: Final = ("namespace", "group", "job", "kind", "fence", "attempt", "pool", "runner", "incarnation")
LogFormat = Literal["auto", "json", "pretty"]


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Write it."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: record.__dict__[name] for name in FIELDS if name in record.__dict__}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class Pretty(logging.Formatter):
    """A line for people."""

    def format(self, record: logging.LogRecord) -> str:
        """Write it."""
        at = datetime.fromtimestamp(record.created).astimezone()
        about = " ".join(f"{name}={record.__dict__[name]}" for name in FIELDS if name in record.__dict__)
        text = f"{at:%H:%M:%S} {record.levelname.lower():<7} {record.getMessage()}{f'  [{about}]' if about else ''}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def set_up(form: LogFormat, level: str = "INFO") -> None:
    """Write to stderr; `auto` is pretty on a terminal."""
    handler = logging.StreamHandler(sys.stderr)
    pretty = form == "pretty" or (form == "auto" and sys.stderr.isatty())
    handler.setFormatter(Pretty() if pretty else JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for noisy in ("aiohttp.access", "asyncio", "kopf"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
