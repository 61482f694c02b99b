"""Names of Runners and pods."""

import re

import pytest

from paceline_operator.domain.names import boot_of, pod_name, runner_name


def test_runners_of_a_group_never_share_a_name() -> None:
    names = {runner_name("builds", "uid", number) for number in range(1, 50_001)}
    assert len(names) == 50_000
    assert all(re.fullmatch(r"builds-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)


def test_the_same_number_is_the_same_name_and_another_group_has_others() -> None:
    assert runner_name("builds", "uid", 7) == runner_name("builds", "uid", 7)
    assert runner_name("builds", "uid", 7) != runner_name("builds", "other", 7)


@pytest.mark.parametrize(
    ("pod", "boot"), [("a-b-3", 3), ("a-b-12", 12), ("a-b-x", 0), ("other-3", 0), ("a-b-", 0), ("a-b", 0)]
)
def test_a_pods_number_is_read_from_its_name(pod: str, boot: int) -> None:
    assert boot_of(pod, "a-b") == boot
    assert boot_of(pod_name("a-b", 5), "a-b") == 5
