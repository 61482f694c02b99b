"""Paceline comes, is upgraded, goes back, and goes, as on the local node, on a kubelet."""

import pytest

# ruff: noqa: F401 -- collected here, with the stage of this folder's conftest
from cluster.upgrade.test_uninstall import (
    test_the_operator_goes_and_its_groups_stay_at_work_until_they_are_asked_to_go_too,
    test_what_serves_external_metrics_goes_too_and_keeps_no_namespace,
    test_what_was_deleted_in_the_wrong_order_can_be_let_go,
    test_what_was_deleted_in_the_wrong_order_goes_when_the_operator_is_back,
)
from cluster.upgrade.test_upgrade import (
    test_no_job_is_lost_interrupted_or_run_twice_on_the_way_from_a_release_and_back,
)

pytestmark = pytest.mark.timeout(900)
