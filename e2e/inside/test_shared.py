"""Stories of sizes, taints, leaders, updates, laptops and the plugin, as on the local node, on a kubelet."""

import pytest

# ruff: noqa: F401 -- collected here, with the site of this folder's conftest
from cluster.operator.test_autoscale import test_a_burst_wakes_a_group_at_zero_which_grows_shrinks_and_says_why
from cluster.operator.test_gateway import test_a_laptop_behind_a_firewall_works_for_a_tainted_cluster
from cluster.operator.test_laptop import (
    test_a_laptop_leads_while_the_cluster_is_tainted_and_its_jobs_wait_for_it,
)
from cluster.operator.test_leaders import (
    test_the_leader_is_shown_and_hands_over_when_it_is_tainted,
    test_when_the_leaders_pod_is_deleted_another_leads,
    test_whom_a_person_promotes_leads_until_the_promotion_ends,
)
from cluster.operator.test_plugin import (
    crew,
    plugin,
    test_a_runners_log_is_read_and_what_is_not_there_is_told,
    test_levers_are_pulled_and_the_operator_follows,
    test_the_queue_is_reached_through_the_api_server_alone,
    token,
)
from cluster.operator.test_roll import (
    test_a_new_template_reaches_all_runners_and_interrupts_nobody,
    test_an_image_that_does_not_start_takes_nobody_away_and_is_taken_back,
)
from cluster.operator.test_roll_load import (
    test_so_do_ten_that_go_from_a_released_version_to_this_one,
    test_ten_runners_under_load_lose_repeat_and_fail_no_job,
)
from cluster.operator.test_taints import (
    test_a_drained_group_is_empty_until_it_is_not,
    test_a_groups_taint_holds_for_runners_that_come_later,
    test_a_taint_that_cannot_be_read_changes_nothing_and_is_quoted,
    test_drain_lets_a_runner_finish_replaces_it_and_lets_it_come_back,
    test_no_claim_keeps_jobs_away_that_do_not_tolerate_it_also_after_restarts,
)

pytestmark = pytest.mark.timeout(300)
