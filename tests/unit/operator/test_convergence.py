"""Whatever happens in whatever order: nobody is taken away from its work, and in the end the group is as wanted."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from paceline_operator.domain.actions import CreatePod, CreateRunners, Drain, Why
from paceline_operator.domain.names import PAUSED, ROLLOUT_PAUSED, TAINTS
from paceline_operator.domain.seen import NodeSeen, Outcomes
from unit.operator.world import World

pick = st.integers(min_value=0, max_value=30)


class Cluster(RuleBasedStateMachine):
    """Faults and wishes in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(replicas=2, spec={"startupTimeoutSeconds": 600})
        self.most = 2
        self.untainted = 0
        """Runners that came back from a Drain taint: until one that is idle has gone there is one more."""

    def _pod(self, number: int) -> str | None:
        names = sorted(self.world.pods)
        return names[number % len(names)] if names else None

    def _runner(self, number: int) -> str | None:
        names = sorted(self.world.runners)
        return names[number % len(names)] if names else None

    @rule()
    def turn(self) -> None:
        before = len(self.world.pods)
        made = self.world.turn()
        started = sum(isinstance(each, CreatePod) for each in made.actions)
        started += sum(each.count for each in made.actions if isinstance(each, CreateRunners))
        assert started == 0 or self.world.database
        rolled = sum(len(each.runners) for each in made.actions if isinstance(each, Drain) and each.why is Why.ROLLED)
        serving = sum(life.serving is not None and life.staying for life in made.lives)
        assert not rolled or serving - rolled >= self.world.replicas, "an update takes away only what is too many"
        assert len(self.world.pods) <= before + started

    @rule(number=st.integers(min_value=0, max_value=6))
    def scale(self, number: int) -> None:
        self.world.replicas = number
        self.most = max(self.most, number)

    @rule(number=pick)
    def register(self, number: int) -> None:
        if name := self._pod(number):
            self.world.register(name)

    @rule(number=pick)
    def claim(self, number: int) -> None:
        if name := self._runner(number):
            self.world.claim(name)

    @rule(number=pick)
    def finish(self, number: int) -> None:
        if name := self._runner(number):
            self.world.finish(name)

    @rule()
    def exit_drained(self) -> None:
        self.world.exit_drained()

    @rule(number=pick, code=st.sampled_from([0, 1, 70, 137]), reason=st.sampled_from(["Error", "OOMKilled", "Evicted"]))
    def die(self, number: int, code: int, reason: str) -> None:
        if name := self._pod(number):
            self.world.end(name, code, end_reason=reason)

    @rule(number=pick)
    def vanish(self, number: int) -> None:
        if name := self._pod(number):
            del self.world.pods[name]

    @rule(number=pick)
    def delete_pod(self, number: int) -> None:
        if name := self._pod(number):
            self.world.leave(name)

    @rule(number=pick)
    def delete_runner(self, number: int) -> None:
        if name := self._runner(number):
            self.world.remove_runner(name)

    @rule(cordoned=st.booleans(), ready=st.booleans())
    def change_node(self, cordoned: bool, ready: bool) -> None:
        self.world.nodes["n1"] = NodeSeen(cordoned=cordoned, ready=ready)

    @rule(away=st.booleans())
    def change_database(self, away: bool) -> None:
        self.world.database = not away

    @rule(paused=st.booleans())
    def pause(self, paused: bool) -> None:
        self.world.annotations = {PAUSED: "true"} if paused else {}

    @rule(number=pick, taints=st.sampled_from(["", "gpu:NoClaim", "maint:Drain", "gpu=bad:NoClam"]))
    def taint(self, number: int, taints: str) -> None:
        if name := self._runner(number):
            self.untainted += ":Drain" in self.world.said.get(name, "")
            self.world.say(name, taints)

    @rule(taints=st.sampled_from(["", "dev:NoClaim", "maint:Drain"]))
    def taint_the_group(self, taints: str) -> None:
        self.untainted += sum(not seen.external for seen in self.world.runners.values())
        self.world.annotations = {TAINTS: taints}

    @rule()
    def connect_a_laptop(self) -> None:
        self.world.connect("laptop")

    @rule(hours=st.sampled_from([0.0, 25.0]))
    def disconnect_it(self, hours: float) -> None:
        self.world.disconnect("laptop", hours)

    @rule(seconds=st.sampled_from([1.0, 30.0, 700.0]))
    def later(self, seconds: float) -> None:
        self.world.later(seconds)

    @rule(revision=st.sampled_from(["rev", "rev2", "rev3"]))
    def change_the_template(self, revision: str) -> None:
        self.world.revision = revision

    @rule(paused=st.booleans())
    def pause_the_update(self, paused: bool) -> None:
        self.world.annotations = {ROLLOUT_PAUSED: "true"} if paused else {}

    @rule(failed=st.sampled_from([0, 25]))
    def jobs_of_the_new_revision_end(self, failed: int) -> None:
        self.world.outcomes = {self.world.revision: Outcomes(25, failed)}

    @rule()
    def restart_the_operator(self) -> None:
        self.world.memory = type(self.world.memory)()

    @invariant()
    def nobody_is_taken_away_from_its_work(self) -> None:
        assert self.world.interrupted == []

    @invariant()
    def there_are_never_too_many(self) -> None:
        rows = self.world.rows.values()
        gone = {row.runner for row in rows if row.retiring or ":Drain" in row.taints}
        drained = {name for name, taints in self.world.said.items() if ":Drain" in taints}
        inside = {name for name, seen in self.world.runners.items() if not seen.external}
        surge = 1
        assert len(inside - gone - drained) <= self.most + self.untainted + surge

    @invariant()
    def no_runner_has_two_pods_that_start(self) -> None:
        waiting = [pod.runner for pod in self.world.pods.values()
                   if pod.live and (pod.runner, pod.uid) not in self.world.rows]  # fmt: skip
        assert len(waiting) <= len(set(waiting)) + len(self.world.pods) // 2

    @precondition(lambda self: bool(self.world.runners))
    @rule()
    def settle(self) -> None:
        self.world.annotations = {}
        self.world.outcomes = {}
        for name in self.world.runners:
            self.world.say(name, "")
        made = self.world.settle()
        status = self.world.status
        wanted = status.current_revision if status.failed_revision == self.world.revision else self.world.revision
        assert {pod.revision for pod in self.world.pods.values()} <= {wanted}, "all have the revision, or all went back"
        if self.world.replicas:
            assert status.current_revision == wanted
        ready = [life for life in made.lives if life.serving is not None]
        assert len(ready) == self.world.replicas
        inside = {name for name, seen in self.world.runners.items() if not seen.external}
        assert len(inside) == self.world.replicas
        assert made.actions == ()
        assert {pod.runner for pod in self.world.pods.values()} == inside
        assert {row.runner for row in self.world.rows.values()} == set(self.world.runners)
        self.untainted = 0


def test_any_order_of_faults_converges_and_interrupts_nobody() -> None:
    checks = settings(max_examples=200, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(Cluster, settings=checks)
