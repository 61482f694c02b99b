"""What holds for every spec, every queue and every past."""

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from paceline_operator.api.autoscaling import Autoscaling
from paceline_operator.domain.scaling.decide import decide, decide_blind, record_change
from paceline_operator.domain.scaling.history import History
from paceline_operator.domain.scaling.signals import Signals
from unit.scaling.cases import NOW, spec_of

policies = st.lists(
    st.fixed_dictionaries({
        "type": st.sampled_from(["Pods", "Percent"]), "value": st.integers(1, 200),
        "periodSeconds": st.integers(1, 1800),
    }), min_size=1, max_size=3,
)  # fmt: skip
rules = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "stabilizationWindowSeconds": st.integers(0, 3600), "policies": policies,
        "selectPolicy": st.sampled_from(["Max", "Min", "Disabled"]), "tolerance": st.sampled_from([0, "0.1", "0.5"]),
    },
)  # fmt: skip
behaviors = st.fixed_dictionaries({"scaleUp": rules, "scaleDown": rules})
measured = st.none() | st.floats()


@st.composite
def specs(draw: st.DrawFn, behavior: st.SearchStrategy[Any] = behaviors) -> Autoscaling:
    most = draw(st.integers(1, 60))
    office: JsonValue = {"cron": "0 8 * * 1-5", "durationSeconds": 36_000, "minReplicas": min(3, most)}
    return spec_of(
        maxReplicas=most,
        minReplicas=draw(st.integers(0, most)),
        minIdle=draw(st.integers(0, 5)),
        targets={"waitSeconds": draw(st.sampled_from([0, 1, 60])), "utilization": draw(st.integers(1, 100))},
        behavior=draw(behavior),
        schedules=draw(st.sampled_from([[], [office]])),
    )


queues = st.builds(
    Signals, ready=st.integers(-1, 2_000_000), running=st.integers(-1, 500), oldest_seconds=measured,
    arrival_rate=measured, service_seconds=measured, tainted=st.integers(0, 5), tainted_running=st.integers(0, 9),
    tolerating=st.integers(0, 9),
)  # fmt: skip


@st.composite
def pasts(draw: st.DrawFn) -> History:
    history, now = History(), NOW - timedelta(hours=1)
    for seconds, replicas in draw(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 80)), max_size=12)):
        now += timedelta(seconds=seconds)
        history = record_change(history.recommended(replicas, now), 0, replicas - 40, now)
    return history


@given(specs(), st.integers(1, 8), st.integers(0, 80), queues, pasts())
def test_a_size_is_within_the_bounds_and_the_same_inputs_give_the_same_answer(
    spec: Autoscaling, slots: int, current: int, queue: Signals, past: History
) -> None:
    decision = decide(spec, slots, current, queue, past, NOW)
    assert spec.min_replicas <= decision.replicas <= spec.max_replicas
    assert decide(spec, slots, current, queue, past, NOW) == decision
    assert decision.again_at is None or decision.again_at > NOW
    assert (decision.limited_by is None) == (decision.replicas == decision.proposals[0].replicas)


@given(specs(), st.integers(1, 8), st.integers(0, 60), queues, pasts(), st.integers(0, 1000))
def test_more_ready_jobs_never_give_fewer_runners(
    spec: Autoscaling, slots: int, current: int, queue: Signals, past: History, more: int
) -> None:
    fuller = Signals(
        queue.ready + more, queue.running, queue.oldest_seconds, queue.arrival_rate, queue.service_seconds,
        queue.tainted, queue.tainted_running, queue.tolerating,
    )  # fmt: skip
    sizes = [decide(spec, slots, current, each, past, NOW).replicas for each in (queue, fuller)]
    assert sizes == sorted(sizes)


@given(specs(), st.integers(1, 8), st.integers(0, 60), queues, pasts(), st.integers(1, 9))
def test_more_warm_runners_never_give_fewer_runners(
    spec: Autoscaling, slots: int, current: int, queue: Signals, past: History, more: int
) -> None:
    warmer = spec.model_copy(update={"min_idle": spec.min_idle + more})
    sizes = [decide(each, slots, current, queue, past, NOW).replicas for each in (spec, warmer)]
    assert sizes == sorted(sizes)


@given(specs(), st.integers(0, 60), queues, pasts())
def test_it_never_shrinks_below_what_was_recommended_within_the_window(
    spec: Autoscaling, current: int, queue: Signals, past: History
) -> None:
    down = spec.behavior.scale_down if spec.behavior else None
    window = 300 if down is None or down.stabilization_window_seconds is None else down.stabilization_window_seconds
    recent = [run.replicas for run in past.recommendations if run.until > NOW - timedelta(seconds=window)]
    size = decide(spec, 1, current, queue, past, NOW).replicas
    assert size >= min([current, spec.max_replicas, max(recent, default=0)])


@given(specs(), st.integers(0, 80), st.integers(-100, 10_000), pasts())
def test_blind_it_never_shrinks(spec: Autoscaling, current: int, unread: int, past: History) -> None:
    assert decide_blind(spec, current, NOW - timedelta(seconds=unread), past, NOW).replicas >= current
