"""What came of a run: a table for people, JSON for programs, a picture of how long it took to come back."""

import dataclasses
import json
import statistics
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from chaos.faults import ABOUT, Fault
from chaos.plan import Plan
from chaos.record import Cost, Record, Seen
from history.checks.violation import Violation
from history.events import History, JobEnded, Led
from paceline_bench.machine import machine, versions
from paceline_dev import REPOSITORY

WIDTH, ROW, LEFT = 720, 18, 190
OURS = ("python", "asyncpg", "kopf", "pydantic")


@dataclass(frozen=True, slots=True)
class Line:
    """One fault of the table."""

    fault: Fault
    injected: int
    skipped: str
    median: float | None
    longest: float | None
    violations: int

    def cells(self) -> tuple[str, ...]:
        if self.skipped and not self.injected:
            return (self.fault, "not possible here", "", "", "")
        median, longest = (f"{each:.1f}" if each is not None else "never" for each in (self.median, self.longest))
        return (self.fault, str(self.injected), median, longest, str(self.violations))


HEAD = ("fault", "injected", "recovered in s, median", "longest", "violations")


def lines(record: Record, found: Sequence[Violation]) -> list[Line]:
    """In the order of the design; a violation counts for the fault that was there when it came to be."""
    blamed = Counter(fault for violation in found if (fault := blame(record, violation)))
    made = []
    for fault in Fault:
        mine = [each for each in record.injected if each.fault is fault]
        if not mine:
            continue
        real = [each for each in mine if not each.skipped]
        times = [max(each.seconds, 0.0) for each in real if each.seconds is not None]
        made.append(Line(
            fault, len(real), next((each.skipped for each in mine if each.skipped), ""),
            statistics.median(times) if times else None, max(times) if times else None, blamed[fault],
        ))  # fmt: skip
    return made


def blame(record: Record, violation: Violation) -> Fault | None:
    """The fault that began last before the first event of a violation; None if it has no moment."""
    for each in record.injected:
        if violation.promise == "faults" and violation.text.startswith((f"{each.fault} ", f"after {each.fault} ")):
            return each.fault
    moments = [at for event in violation.events if (at := getattr(event, "committed", None))]
    before = [each for each in record.injected if moments and each.began <= min(moments)]
    return max(before, key=lambda each: each.began).fault if before else None


def totals(record: Record) -> dict[str, int]:
    """What the run was made of."""
    history = record.history
    ends = [event for event in history.events if isinstance(event, JobEnded)]
    return {
        "jobs": len(ends),
        "attempts": sum(event.claim for event in history.changes()),
        "dead": sum(event.place == "dead" for event in ends),
        "losses": sum(event.losses for event in ends),
        "late writes refused": sum(late.refused for late in history.late),
        "calls": record.asked,
        "faults": sum(not each.skipped for each in record.injected),
        "changes of leader": leaders_changed(history),
        "changes of size": sizes_changed(record.seen),
    }


def leaders_changed(history: History) -> int:
    """How often a leader came after another one."""
    leaders = Counter(event.group for event in history.events if isinstance(event, Led) and event.incarnation)
    return sum(times - 1 for times in leaders.values())


def sizes_changed(seen: Sequence[Seen]) -> int:
    """How often the operator decided that a group is to have another number of runners."""
    last: dict[str, int] = {}
    changes = 0
    for each in seen:
        if each.size is None:
            continue
        changes += last.get(each.group, each.size) != each.size
        last[each.group] = each.size
    return changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where and of what a run was made."""

    date: datetime
    commit: str
    machine: Mapping[str, object]
    versions: Mapping[str, str]

    @classmethod
    def here(cls) -> "Setting":
        """To be asked before the run: afterwards the machine is busy with what it leaves behind."""
        found = {name: said for name, said in versions().items() if name in OURS}
        return cls(date=datetime.now(UTC), commit=_commit(), machine=machine(), versions=found)

    def __str__(self) -> str:
        """For a page."""
        where, what = (
            ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in each.items())
            for each in (self.machine, self.versions)
        )
        return f"Begun {self.date:%Y-%m-%d %H:%M} (UTC) with commit {self.commit}. Machine: {where}. Versions: {what}."


def _commit() -> str:
    """What was tried; with a mark if it was not as it is committed."""
    words = ["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty=, changed", "--abbrev=12", "--exclude=*"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def table(record: Record, found: Sequence[Violation]) -> str:
    """For a terminal."""
    rows = [HEAD, *(line.cells() for line in lines(record, found))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def summary(record: Record, found: Sequence[Violation]) -> str:
    told = ", ".join(f"{number:,} {name}" for name, number in totals(record).items())
    return f"{told}; {len(found)} violations"


def write(plan: Plan, record: Record, found: Sequence[Violation], folder: Path, setting: Setting) -> Path:
    """`chaos.json`, `chaos.md` and `chaos-recovery.svg`; returns the first."""
    folder.mkdir(parents=True, exist_ok=True)
    shown = lines(record, found)
    file = folder / "chaos.json"
    file.write_text(json.dumps({
        "date": f"{setting.date:%Y-%m-%dT%H:%M:%SZ}", "commit": setting.commit,
        "seed": plan.seed, "minutes": plan.minutes, "replay": plan.replay, "totals": totals(record),
        "faults": [
            {"fault": each.fault, "injected": each.injected, "skipped": each.skipped, "median_seconds": each.median,
             "longest_seconds": each.longest, "violations": each.violations}
            for each in shown
        ],
        "violations": [{"promise": each.promise, "text": each.text, "jobs": list(each.jobs)} for each in found],
        "claims": [dataclasses.asdict(each) for each in record.costs],
        "versions": {**setting.versions, **record.versions}, "machine": setting.machine,
    }, indent=2) + "\n")  # fmt: skip
    text = [
        "# Chaos",
        "",
        f"Seed {plan.seed}, {plan.minutes:g} minutes: `{plan.replay}`. {summary(record, found)}.",
        "",
        str(dataclasses.replace(setting, versions={**setting.versions, **record.versions})),
        "",
    ]
    text += [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    text += [f"| {' | '.join(line.cells())} |" for line in shown]
    text += ["", *cost_table(record.costs), "", "![Seconds until all worked again](chaos-recovery.svg)", ""]
    (folder / "chaos.md").write_text("\n".join(text))
    (folder / "chaos-recovery.svg").write_text(picture(shown))
    return file


def cost_table(costs: Sequence[Cost]) -> list[str]:
    """What a claim touched, before and after."""
    lines = ["| a claim in | faults | jobs | rows of the job table | pages |", "|---|---|---|---|---|"]
    return lines + [f"| {each.pool} | {each.when} | {each.jobs} | {each.rows} | {each.buffers} |" for each in costs]


def picture(shown: Sequence[Line]) -> str:
    """A bar from nothing to the median for each fault, a mark at the longest."""
    bars = [each for each in shown if each.median is not None and each.longest is not None]
    most = max((each.longest or 0.0 for each in bars), default=1.0) or 1.0
    scale = (WIDTH - LEFT - 60) / most
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{ROW * len(bars) + 40}" '
        'font-family="sans-serif" font-size="11">',
        '<text x="4" y="16" font-size="13">Seconds from the end of a fault until all worked again</text>',
    ]
    for number, each in enumerate(bars):
        y, median, longest = 30 + ROW * number, (each.median or 0.0) * scale, (each.longest or 0.0) * scale
        parts += [
            f'<text x="{LEFT - 6}" y="{y + 11}" text-anchor="end">{escape(each.fault)}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{median:.1f}" height="{ROW - 5}" fill="#4c78a8"/>',
            f'<rect x="{LEFT + longest - 1:.1f}" y="{y}" width="2" height="{ROW - 5}" fill="#1b2a3a"/>',
            f'<text x="{LEFT + longest + 5:.1f}" y="{y + 11}">{each.longest:.1f}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def not_done(plan: Plan) -> str:
    """Which faults are not in a short plan."""
    left = [fault for fault in Fault if fault not in plan.faults]
    return f"{len(plan.faults)} of {len(ABOUT)} faults" + (f", without {', '.join(left)}" if left else "")
