"""Runners and waiting jobs over time, as an SVG that stands on its own: text as text, light or dark as its reader."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from paceline_operator.domain.scaling.played import Point, Simulated

WIDTH: Final = 960
LEFT: Final = 64
RIGHT: Final = 16
PANEL: Final = 180
TOP: Final = 40
GAP: Final = 48
COLUMNS: Final = WIDTH - LEFT - RIGHT
"""One for each unit of the picture's width: a finer curve could not be seen."""
STYLE: Final = """
text{font:12px sans-serif;fill:#1b2a3a}.axis{stroke:#9aa5b1;stroke-width:1}.grid{stroke:#9aa5b1;stroke-opacity:.25}
.curve{fill:none;stroke-width:1.5;stroke-linejoin:round}.c0{stroke:#2b6cb0}.c1{stroke:#c05621;stroke-dasharray:5 3}
.background{fill:#fff}
@media(prefers-color-scheme:dark){text{fill:#e2e8f0}.c0{stroke:#63b3ed}.c1{stroke:#f6ad55}.background{fill:#171923}}
"""
STEPS: Final = (60, 300, 900, 3600, 3 * 3600, 6 * 3600, 86_400, 7 * 86_400, 30 * 86_400)
MOST_TICKS: Final = 10


def picture(start: datetime, found: "Sequence[tuple[str, Simulated]]") -> str:
    """The whole file: runners above, waiting jobs below, a curve for each group."""
    length = max([figures.seconds for _, figures in found] + [1.0])
    names = " and ".join(name for name, _ in found)
    height = TOP + 2 * (PANEL + GAP)
    about = "; ".join(
        f"{name}: {figures.runner_hours:,.1f} runner hours, at most {figures.most_runners} runners, "
        f"longest wait {figures.wait_max:,.0f} s"
        for name, figures in found
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-labelledby="title about">',
        f'<title id="title">Simulated scaling of {escape(names)}</title>',
        f'<desc id="about">{escape(about)}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="background" width="{WIDTH}" height="{height}"/>',
        *_legend([name for name, _ in found]),
        *_panel("runners", TOP, start, length, [_highest(f.points, length, runners=True) for _, f in found]),
        *_panel(
            "jobs that wait", TOP + PANEL + GAP, start, length,
            [_highest(f.points, length, runners=False) for _, f in found],
        ),
        "</svg>",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _legend(names: list[str]) -> Iterator[str]:
    for place, name in enumerate(names):
        x = LEFT + place * COLUMNS // 2
        yield f'<path class="curve c{place}" d="M{x} 16h24"/><text x="{x + 30}" y="20">{escape(name)}</text>'


def _highest(points: "Sequence[Point]", length: float, *, runners: bool) -> list[int]:
    """The highest value in each column; what nobody changed goes on."""
    found = [0] * COLUMNS
    value = last = 0
    for point in points:
        column = min(COLUMNS - 1, int(point.at / length * COLUMNS))
        for between in range(last + 1, column + 1):
            found[between] = value
        value, last = (point.replicas if runners else point.ready), column
        found[column] = max(found[column], value)
    for between in range(last + 1, COLUMNS):
        found[between] = value
    return found


def _panel(title: str, top: int, start: datetime, length: float, curves: list[list[int]]) -> Iterator[str]:
    bottom, most = top + PANEL, max(1, *(max(curve) for curve in curves))
    yield f'<text x="{LEFT}" y="{top - 6}">{title}</text>'
    for value in sorted({0, most // 2, most}):
        y = bottom - PANEL * value / most
        yield f'<path class="{"grid" if value else "axis"}" d="M{LEFT} {y:.1f}h{COLUMNS}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:,}</text>'
    for seconds, label in _ticks(start, length):
        x = LEFT + COLUMNS * seconds / length
        yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{label}</text>'
    for place, curve in enumerate(curves):
        yield f'<path class="curve c{place}" d="{_steps(curve, bottom, most)}"/>'


def _steps(curve: list[int], bottom: int, most: int) -> str:
    """A path that only has the places where the value changes."""
    path, last = "", None
    for column, value in enumerate(curve):
        if value != last:
            y = f"{bottom - PANEL * value / most:.1f}"
            path += f"M{LEFT} {y}" if last is None else f"H{LEFT + column}V{y}"
            last = value
    return f"{path}H{LEFT + len(curve)}"


def _ticks(start: datetime, length: float) -> Iterator[tuple[float, str]]:
    step = next((each for each in STEPS if length / each <= MOST_TICKS), STEPS[-1])
    form = "%H:%M" if step < STEPS[6] else "%d %b"
    first = -(start.timestamp() % step)
    for place in range(int((length - first) // step) + 1):
        seconds = first + place * step
        if seconds >= 0:
            yield seconds, f"{start + timedelta(seconds=seconds):{form}}"
