"""The pictures of the assessment: each is one number over the number of runners, with a line for each way."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paceline_bench.assess.plan import WAYS, Rate, told
from paceline_bench.assess.results import NAME
from paceline_bench.assess.seen import Seen
from paceline_bench.bench import Plot
from paceline_bench.measure import Figure
from paceline_bench.plots import Draw

UNITS: Final = {
    "claim_p95": "ms", "postgres_cpu": "% of a core", "coordinator_cpu": "% of a core", "write_p99": "ms",
    "wal": "bytes", "done": "jobs/s",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Picture:
    """One of them."""

    file: str
    title: str
    what: str
    """The field of a cell."""
    rate: Rate

    @property
    def name(self) -> str:
        """Of its file."""
        return f"{NAME}-{self.file}.svg"


def pictures(cells: Sequence[Seen]) -> list[Picture]:
    """Those that these cells give: claims at every rate, the rest at the highest, throughput flat out."""
    rates = sorted({each.rate for each in cells if each.rate is not None})
    found = [
        Picture(f"claim-{rate}", f"95 of 100 claims took at most, {told(rate)}", "claim_p95", rate) for rate in rates
    ]
    if rates:
        peak = rates[-1]
        found += [
            Picture("coordinator", f"CPU of gateways or PgBouncer, {told(peak)}", "coordinator_cpu", peak),
            Picture("postgres", f"CPU of PostgreSQL, {told(peak)}", "postgres_cpu", peak),
            Picture("write", f"99 of 100 small writes took at most, {told(peak)}", "write_p99", peak),
            Picture("wal", f"Write-ahead log per job, {told(peak)}", "wal", peak),
        ]
    return [*found, Picture("flat", "Jobs a second, flat out", "done", None)]


def draw_all(cells: Sequence[Seen], folder: Path, draw: Draw) -> None:
    """Into a folder; those of an older run go."""
    for old in folder.glob(f"{NAME}-*.svg"):
        old.unlink()
    for picture in pictures(cells):
        if figures := list(_figures(picture, cells)):
            plot = Plot(
                file=picture.file, title=picture.title, kind="lines", names=tuple(each.name for each in figures),
                x="runners",
            )  # fmt: skip
            labels = {each.name: WAYS[way] for way in WAYS for each in figures if each.name.startswith(f"{way}_")}
            draw(plot, figures, labels, folder / picture.name)


def _figures(picture: Picture, cells: Sequence[Seen]) -> Iterator[Figure]:
    for way in WAYS:
        for cell in sorted(cells, key=lambda each: each.runners):
            value = getattr(cell, picture.what)
            if cell.way == way and cell.rate == picture.rate and value:
                yield Figure(f"{way}_{cell.runners}", UNITS[picture.what], (float(value),))
