"""The bench of updates: how long, with how many at work, and what it costs those who work."""

import functools
from collections.abc import AsyncIterator
from typing import Final

from paceline_bench import paceline_command, rolling
from paceline_bench.bench import Bench, Plot, Run
from paceline_bench.measure import Measurement, Missing, Ratio
from paceline_bench.on_site import Part, on_sites
from paceline_bench.rolling import Size


async def measure(run: Run, size: Size | None = None) -> AsyncIterator[Measurement | Missing]:
    """One after the other, each in a cluster of its own."""
    paceline_command.require()
    size = size or (rolling.QUICK if run.quick else rolling.FULL)
    rounds = run.rounds or 1
    run.settings.update(
        rounds=rounds, runners=size.runners, job_seconds=size.short, long_job_seconds=size.long,
        long_share=rolling.LONG_SHARE, max_surge=rolling.SURGE, max_unavailable=0,
    )  # fmt: skip
    async for found in on_sites(run, _parts(run, size) * rounds):
        yield found


def _parts(run: Run, size: Size) -> list[Part]:
    def names(who: str) -> tuple[str, ...]:
        return tuple(f"{what}_{who}" for what in rolling.WHAT)

    own = functools.partial(rolling.by_deployment, size=size, curves=run.curves)
    return [
        (names("group"), lambda site: rolling.by_group(site, size, run.curves)),
        (names("deployment"), lambda site: own(site, ours=True)),
        (names("deployment_30s"), lambda site: own(site, ours=False)),
    ]


WHO: Final = {
    "group": "RunnerGroup",
    "deployment": "Deployment, same pods",
    "deployment_30s": "Deployment, 30 s to end",
}
WHAT: Final = {
    "seconds": "until all have the new revision, and the last old pod has gone",
    "least": "fewest that could claim",
    "most": "most pods at once",
    "interrupted": "attempts that did not end well",
}
BENCH: Final = Bench(
    name="rollout",
    title="An update of runners that are all at work",
    method="Real runner processes on a local node; every runner always finds a job of five seconds, "
    "one in 25 takes 45. How it is kept fair: docs/reference/benchmarks.md.",
    function=measure,
    derived=(Ratio("seconds_to_deployment", "seconds_group", "seconds_deployment"),),
    plots=(
        Plot(file="capacity", title="Runners that may claim, during an update", kind="steps", names=rolling.CURVES),
        Plot(
            file="interrupted",
            title="Attempts that an update interrupted",
            kind="bars",
            names=tuple(f"interrupted_{who}" for who in rolling.SUBJECTS),
        ),
    ),
    labels={
        **{f"{what}_{who}": f"{label}: {WHAT[what]}" for who, label in WHO.items() for what in WHAT},
        **{f"capacity_{who}": label for who, label in WHO.items()},
        "seconds_to_deployment": "time, RunnerGroup / Deployment of the same pods",
    },
)
