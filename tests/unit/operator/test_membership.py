"""What a group's place in its database tells about its queue, and when it tells nothing."""

from datetime import UTC, datetime
from typing import cast

import pytest

from paceline.operating import GroupObserved, Office
from paceline_operator.adapters.bell import Bell
from paceline_operator.adapters.queue import Queue, QueueTroubleError
from paceline_operator.domain.reasons import Reason
from paceline_operator.domain.scaling.told import NoDemandError
from paceline_operator.handlers.membership import Membership
from paceline_operator.handlers.services import Services
from unit.operator.world import group
from unit.scaling.cases import NOW, sized, spec_of

BUILDS = ("ci", "builds")
URL = "postgresql://nobody@127.0.0.1:1/nowhere"


@pytest.fixture
def queue() -> Queue:
    made = Queue(URL, Bell(URL), Office("paceline", "me"), lambda _: None)
    made.seen, made.read_at = {BUILDS: cast("GroupObserved", object())}, NOW
    return made


@pytest.fixture
def member(queue: Queue) -> Membership:
    """Of a group for which a look at that queue has just decided."""
    made = Membership(BUILDS, cast("Services", None))
    made._queue = queue
    made.scaler._group = group(3, autoscaling={"mode": "External", "maxReplicas": 5})
    made.scaler.decision = sized(spec_of(), current=3, ready=20)
    return made


def test_demand_is_told_with_the_moment_at_which_the_queue_was_read(member: Membership) -> None:
    told = member.demand(NOW)
    assert (told.demand, told.at) == (20, NOW)


def test_a_database_that_does_not_answer_has_no_demand_although_the_last_is_remembered(
    member: Membership, queue: Queue
) -> None:
    queue.trouble = QueueTroubleError(Reason.UNREACHABLE, "no answer")
    with pytest.raises(NoDemandError, match="cannot be read"):
        member.demand(NOW)


def test_a_group_that_its_database_refuses_has_no_demand_although_others_in_it_have(member: Membership) -> None:
    member.unread = datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(NoDemandError, match="cannot be read"):
        member.demand(NOW)
