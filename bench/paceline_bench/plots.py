"""Small pictures that come out the same for the same figures: no date, no random ids, text as text."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from paceline_bench.bench import Plot
from paceline_bench.measure import Curve, Figure, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # type: ignore[import-not-found] # only where benches run

Shown = Sequence[Figure | Curve]
Draw = Callable[[Plot, Shown, Mapping[str, str], Path], None]
STYLE: Final = {
    "svg.hashsalt": "paceline", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9,
    "axes.spines.top": False, "axes.spines.right": False,
}  # fmt: skip
BAR: Final = "#4c78a8"
DOT: Final = "#1b2a3a"


def draw(plot: Plot, shown: Shown, labels: Mapping[str, str], file: Path) -> None:
    """Write one picture as SVG."""
    import matplotlib as mpl  # type: ignore[import-not-found] # half a second, and only where benches run

    mpl.use("svg")
    from matplotlib import pyplot as plt

    with plt.rc_context(STYLE):
        figures = [each for each in shown if isinstance(each, Figure)]
        height = 0.8 + 0.3 * len(figures) if plot.kind in {"bars", "logbars"} else 3.0
        picture, axes = plt.subplots(figsize=(7, height), layout="constrained")
        match plot.kind:
            case "bars":
                _bars(axes, figures, labels)
            case "logbars":
                _bars(axes, figures, labels, log=True)
            case "lines":
                _lines(axes, figures, labels, plot.x)
            case "cumulative":
                _cumulative(axes, figures, labels)
            case "steps":
                _steps(axes, [each for each in shown if isinstance(each, Curve)], labels)
        axes.set_title(plot.title, loc="left")
        picture.savefig(file, metadata={"Date": None, "Creator": None})
        plt.close(picture)


def _bars(axes: "Axes", figures: Sequence[Figure], labels: Mapping[str, str], *, log: bool = False) -> None:
    """A bar for each median, a dot for each repetition; on a scale by tens where they are far apart."""
    rows = range(len(figures))
    if log:
        axes.set_xscale("log")
    axes.barh(rows, [each.median for each in figures], color=BAR, height=0.6)
    for row, each in zip(rows, figures, strict=True):
        axes.plot(each.values, [row] * len(each.values), ".", color=DOT, markersize=4)
        axes.annotate(number(each.median), (max(each.values), row), (6, 0), textcoords="offset points", va="center")
    axes.set_yticks(rows, [labels.get(each.name, each.name) for each in figures])
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlim(left=min(each.median for each in figures) / 3 if log else 0)
    axes.set_xlabel(figures[0].unit)


def _lines(axes: "Axes", figures: Sequence[Figure], labels: Mapping[str, str], x: str) -> None:
    """A line for each who, over the number in the second part of a figure's name; scales by tens where none is 0."""
    by_who: dict[str, dict[int, Figure]] = {}
    for each in figures:
        who, place, *_ = each.name.split("_")
        by_who.setdefault(who, {})[int(place)] = each
    for found in by_who.values():
        first = next(iter(found.values()))
        label = labels.get(first.name, first.name).partition(",")[0]
        (line,) = axes.plot(list(found), [each.median for each in found.values()], marker="o", label=label)
        for at, each in found.items():
            axes.plot([at] * len(each.values), each.values, ".", color=line.get_color(), markersize=3, alpha=0.5)
    axes.set_xscale("log")
    if min(value for each in figures for value in each.values) > 0:
        axes.set_yscale("log")
    else:  # which has no place for none
        axes.set_ylim(bottom=0, top=max(1, *(1.1 * value for each in figures for value in each.values)))
    places = sorted({at for found in by_who.values() for at in found})
    axes.set_xticks(places, list(map(str, places)), minor=False)
    axes.set_xticks([], minor=True)
    axes.set_xlabel(x)
    axes.set_ylabel(figures[0].unit)
    axes.legend(frameon=False, loc="lower right")


def _cumulative(axes: "Axes", figures: Sequence[Figure], labels: Mapping[str, str]) -> None:
    """Which share of the repetitions took at most so long."""
    for each in figures:
        ordered = sorted(each.values)
        share = [100 * (index + 1) / len(ordered) for index in range(len(ordered))]
        axes.step(ordered, share, where="post", label=labels.get(each.name, each.name))
    axes.axhline(99, color="0.7", linewidth=0.8, linestyle="--")
    axes.set_xscale("log")
    axes.set_xlabel(figures[0].unit)
    axes.set_ylabel("per cent")
    axes.legend(frameon=False, loc="lower right")


def _steps(axes: "Axes", curves: Sequence[Curve], labels: Mapping[str, str]) -> None:
    """What was so at each moment, to the end of the longest; all are counts, and share one scale."""
    end = max(each.points[-1][0] for each in curves)
    for each in curves:
        moments, values = zip(*each.points, (end, each.points[-1][1]), strict=True)
        axes.step(moments, values, where="post", label=labels.get(each.name, each.name), linewidth=1.2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("seconds")
    axes.figure.legend(frameon=False, loc="outside lower center", ncols=min(3, len(curves)))
