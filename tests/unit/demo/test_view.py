"""How the demo is shown: whole lines in a log, a picture in a terminal."""

import io

import pytest
from rich.console import Console

from paceline_dev.demo.kind import KindStage
from paceline_dev.demo.local import LocalStage
from paceline_dev.demo.picture import Picture, group_row
from paceline_dev.demo.stage import Stage
from paceline_dev.demo.story import ORDERS, SHOP
from paceline_dev.demo.view import LiveView, PlainView
from paceline_operator.api.v1alpha1 import RunnerGroup
from paceline_operator.domain.objects import template_problem

SEEN = Picture(
    groups=(("shop", "Shared", "3", "2", "12", "8", "-"),),
    runners=(("shop-7xk2p", "shop-7xk2p-1", "active", "4/4", "demo:NoClaim"),),
    operators=("killed", "acts"),
    enqueued=1200,
    done=1180,
)


def test_a_log_has_a_numbered_heading_for_each_step_and_the_table_at_the_end() -> None:
    stream = io.StringIO()
    view = PlainView(2, stream)
    view.begin("apply")
    view.say("$ kubectl get rgrp")
    view.draw(SEEN)
    view.end(1.25)
    view.close(["jobs lost  0"])
    lines = [line.partition(" s  ")[2] or line for line in stream.getvalue().splitlines()]
    assert lines == ["== 1/2 apply", "$ kubectl get rgrp", "== done in 1.2 s", "", "jobs lost  0"]


def test_a_terminal_shows_groups_runners_operators_counts_and_the_step() -> None:
    console = Console(file=io.StringIO(), width=120, height=60, record=True)
    view = LiveView(8, console)
    view.begin("kill the operator")
    view.say("$ kubectl scale rgrp shop --replicas=4")
    view.draw(SEEN)
    console.print(view.render())
    shown = console.export_text()
    for wanted in (
        "step 1/8: kill the operator", "1,200 jobs enqueued, 1,180 done", "operator 1 killed, operator 2 acts",
        "shop-7xk2p-1", "demo:NoClaim", "$ kubectl scale",
    ):  # fmt: skip
        assert wanted in shown
    view.close(["jobs lost  0"])
    console.print(view.render())
    end = console.export_text()
    assert "step 1/8: the end (Ctrl-C leaves" in end
    assert "jobs lost  0" in end
    assert "$ kubectl scale" not in end


def test_a_low_terminal_shows_the_last_lines_only() -> None:
    console = Console(file=io.StringIO(), width=120, height=14, record=True)
    view = LiveView(8, console)
    for number in range(10):
        view.say(f"line {number}")
    view.draw(SEEN)
    console.print(view.render())
    shown = console.export_text()
    assert "line 9" in shown
    assert "line 5" not in shown
    assert len(shown.splitlines()) <= 14


def test_a_command_to_copy_is_folded_where_other_lines_are_cut() -> None:
    console = Console(file=io.StringIO(), width=120, height=18, record=True)
    view = LiveView(8, console)
    for number in range(10):
        view.say(f"line {number} {'of many words ' * 12}")
    command = f"/home/ann/.cache/{'deep/' * 30}kubectl --kubeconfig /home/ann/.cache/kubeconfig get rgrp,rnr,pods"
    view.hint(f"look around: {command}")
    view.draw(SEEN)
    console.print(view.render())
    shown = console.export_text()
    said, _, hint = shown.partition("look around:")
    assert "".join(hint.split()) == "".join(command.split())
    assert "line 5" in said
    assert "line 4" not in said  # what the hint needs, the lines give
    assert len(shown.splitlines()) <= 18


def test_a_group_whose_status_is_not_written_yet_can_be_shown() -> None:
    new = {"metadata": {"name": "shop"}, "spec": {"replicas": 3}}
    assert group_row(new, 1, 0) == ("shop", "Shared", "3", "-", "1", "0", "-")
    led = {**new, "status": {"readyReplicas": 2, "leader": {"runner": "shop-7xk2p", "epoch": 1}}}
    assert group_row(led, 0, 2)[-1] == "shop-7xk2p"


@pytest.mark.parametrize("stage", [LocalStage, KindStage])
def test_the_groups_of_the_demo_are_ones_that_the_operator_can_make_pods_of(stage: type[Stage]) -> None:
    bare = stage.__new__(stage)
    for manifest in (bare.group(SHOP, 3), bare.group(ORDERS, 2, dispatch="Leader")):
        assert template_problem(RunnerGroup.model_validate(manifest)) == ""
