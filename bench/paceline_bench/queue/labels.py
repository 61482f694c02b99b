"""What the figures of this bench are called for people."""

from collections.abc import Iterator, Mapping
from typing import Final

from paceline_bench.queue import depth, enqueuing, horizon, keyed, latency, starting, throughput

WHO: Final = {
    "raw": "raw SQL",
    "sdk": "Paceline SDK",
    "runner": "paceline run",
    "paceline": "Paceline",
    "pgqueuer": "PgQueuer",
    "chancy": "Chancy",
    "procrastinate": "procrastinate",
    "saq": "SAQ",
}
HELD: Final = {
    "1k": "1k ready",
    "1m_ready": "1M ready",
    "1m_future": "1k ready, 1M future",
    "200k_1m_future": "200k ready, 1M future",
    "20k_blocked": "1k ready, 20k blocked on one key",
    "500_lanes": "1k ready on 500 lanes",
}
HORIZON: Final = {
    "free": "Paceline, no snapshot held",
    "held": "Paceline",
    "unmarked": "Paceline without the low-water mark",
    "pgqueuer_free": "PgQueuer, no snapshot held",
    "pgqueuer_held": "PgQueuer",
}
KEYED: Final = {
    "keyed_none": "Paceline, no keys",
    "keyed_1000x1": "Paceline, 1,000 keys, 1 at a time each",
    "keyed_100x5": "Paceline, 100 keys, 5 at a time each",
    "keyed_1x100": "Paceline, 1 key, 100 at a time",
    "keyed_pgqueuer_none": "PgQueuer, no limit",
    "keyed_pgqueuer_100": "PgQueuer, 100 at a time",
    "keyed_procrastinate_100x1": "procrastinate, 100 locks",
}


def _labels() -> Iterator[tuple[str, str]]:
    for name in throughput.NAMES:
        who, *rest = name.split("_")
        count = "one process" if rest[-1] == "1p" else "two processes"
        yield name, f"{WHO[who]}, " + (f"batch {rest[0]}, {count}" if len(rest) == 2 else count)
    for name in throughput.COST_NAMES:
        what, who = name.split("_")
        yield name, f"{'log' if what == 'wal' else 'transactions'} per job, {WHO[who]}"
    for name in enqueuing.NAMES:
        _, kind, who = name.split("_")
        yield name, f"{WHO[who]}, {'one by one' if kind == 'one' else '1,000 by one call'}"
    for name in latency.NAMES:
        what = next(each for each in sorted(HELD, key=len, reverse=True) if name.startswith(f"claim_{each}"))
        who = name.removeprefix(f"claim_{what}").removeprefix("_") or "paceline"
        yield name, f"{WHO[who]}, {HELD[what]}"
        if who == "paceline" and what != "1k":
            yield f"{name}_ratio", f"claim with {HELD[what]} / with 1k ready"
    for name in (*horizon.NAMES, *horizon.CURVES):
        case = name.removeprefix("horizon_")
        plain = case.removesuffix("_last").removesuffix("_curve")
        yield name, HORIZON[plain] + (", last 2 s" if case.endswith("_last") else "")
    yield from KEYED.items()
    for name in starting.NAMES:
        yield name, WHO[name.removeprefix("start_")]
        yield f"{name}_p99", f"enqueue to handler start, {WHO[name.removeprefix('start_')]}, p99"
    yield "depth_1m", "Paceline, a pool of 1M jobs"
    yield "depth_200_pools", "Paceline, 200 pools"
    for peer in depth.PEERS:
        yield f"depth_1m_{peer}", f"{WHO[peer]}, 1M jobs"
    for batch in throughput.BATCHES:
        yield f"sdk_to_raw_{batch}", f"SDK / raw SQL, batch {batch}"
        yield f"runner_to_pgqueuer_{batch}", f"runner / PgQueuer, batch {batch}"
        yield f"runner_to_chancy_{batch}", f"runner / Chancy, batch {batch}"
    yield "runner_to_raw_50", "runner / raw SQL, batch 50"
    yield "runner_to_procrastinate_50", "runner at batch 50 / procrastinate"
    yield "runner_to_saq_50", "runner at batch 50 / SAQ"
    yield "held_to_free", "throughput with a held snapshot / without"
    yield "held_to_unmarked_last", "with / without the low-water mark, last 2 s"


LABELS: Final[Mapping[str, str]] = dict(_labels())
assert set(keyed.NAMES) == set(KEYED)
