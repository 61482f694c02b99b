"""Back-off, probes, images, addresses, faults, logs: each in a table."""

import datetime

import pytest

from paceline_dev.errors import DevError
from paceline_dev.node.addresses import Addresses
from paceline_dev.node.backoff import Backoff, duration
from paceline_dev.node.faults import NodeFault, PodFault, parse_node, parse_pod
from paceline_dev.node.images import Image, parse_image
from paceline_dev.node.logs import Query, parse, select
from paceline_dev.node.node_object import NodeSpec, node_object, node_status, parse_taint
from paceline_dev.node.probes import Streak
from paceline_dev.node.server import parse_query
from paceline_dev.node.spec import Exec, Probe, RestartPolicy

NOW = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


def test_the_first_restart_is_at_once_and_each_later_one_waits_twice_as_long() -> None:
    backoff = Backoff(10, 300)
    assert [backoff.after(0) for _ in range(8)] == [0, 10, 20, 40, 80, 160, 300, 300]


def test_a_container_that_ran_long_enough_is_forgiven() -> None:
    backoff = Backoff(10, 300)
    assert [backoff.after(at) for at in (0, 1, 1000, 1001)] == [0, 10, 0, 10]


@pytest.mark.parametrize(
    ("seconds", "text"), [(10, "10s"), (160, "2m40s"), (300, "5m0s"), (0.5, "500ms"), (1.5, "1.5s")]
)
def test_durations_are_written_as_go_does(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_enough_answers_in_a_row_change_the_mind() -> None:
    streak = Streak(Probe(Exec(("x",)), success=2, failure=3))
    answers = [True, True, True, False, False, True, False, False, False, False]
    verdicts = [None, True, True, None, None, None, None, None, False, False]
    assert [streak.add(answer) for answer in answers] == verdicts


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [("Always", 0, True), ("Always", 1, True), ("OnFailure", 0, False), ("OnFailure", 1, True), ("Never", 1, False)],
)
def test_the_restart_policy(policy: str, code: int, again: bool) -> None:
    assert RestartPolicy(policy).wants(code) is again


@pytest.mark.parametrize(
    ("command", "args", "argv"),
    [
        ((), (), ("e", "c")),
        ((), ("a",), ("e", "a")),
        (("x",), (), ("x",)),
        (("x",), ("a",), ("x", "a")),
    ],
)
def test_command_and_args_replace_entrypoint_and_cmd(
    command: tuple[str, ...], args: tuple[str, ...], argv: tuple[str, ...]
) -> None:
    assert Image(("e",), ("c",)).argv(command, args) == argv


def test_an_image_on_the_command_line_is_split_as_a_shell_does() -> None:
    assert parse_image('a/b:1=sh -c "echo x=y"', "/bin") == (
        "a/b:1",
        Image(("sh", "-c", "echo x=y"), env={"PATH": "/bin"}),
    )
    for bad in ("a", "a=", "=x"):
        with pytest.raises(DevError, match="is not NAME=COMMAND"):
            parse_image(bad)


def test_addresses_are_handed_out_in_turn_and_never_twice() -> None:
    one, two = Addresses(), Addresses()
    try:
        assert one.node != two.node
        first = one.take()
        assert first.startswith(one.node.rpartition(".0.1")[0])
        one.give_back(first)
        later = [one.take() for _ in range(1000)]
        assert len({first, one.node, *later}) == 1002
        assert not any(each.endswith((".0", ".255")) for each in later)
    finally:
        one.close()
        two.close()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", NodeFault()),
        ("not-ready", NodeFault(not_ready=True)),
        ("lose-pods, slow=1.5s", NodeFault(lose_pods=True, slow=1.5)),
        ("slow=200ms", NodeFault(slow=0.2)),
        ("slow=2", NodeFault(slow=2)),
        ("slow=1m", NodeFault(slow=60)),
    ],
)
def test_faults_of_a_node(text: str, fault: NodeFault) -> None:
    assert parse_node(text) == fault


@pytest.mark.parametrize("text", ["explode", "slow", "slow=soon", "not-ready=1"])
def test_what_is_no_fault_of_a_node_is_quoted(text: str) -> None:
    with pytest.raises(DevError, match=f'"{text}" is no fault of a node'):
        parse_node(text)


def test_faults_of_a_pod() -> None:
    assert parse_pod("oom-kill=main") == PodFault("oom-kill", "main")
    assert parse_pod("evict=low on x=y") == PodFault("evict", "low on x=y")
    assert parse_pod("") == PodFault()
    with pytest.raises(DevError, match='"fly" is no fault of a pod'):
        parse_pod("fly")


LOG = [b"2030-01-01T00:00:0%d.123456789Z stdout F line %d\n" % (n, n) for n in range(5)]


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        (Query(), [0, 1, 2, 3, 4]),
        (Query(tail=2), [3, 4]),
        (Query(tail=0), []),
        (Query(since=NOW + datetime.timedelta(seconds=3)), [3, 4]),
        (Query(since=NOW + datetime.timedelta(seconds=2), tail=1), [4]),
    ],
)
def test_a_part_of_a_log(query: Query, numbers: list[int]) -> None:
    found = [line.shown(timestamps=False) for line in select((parse(each) for each in LOG), query)]
    assert found == [b"line %d\n" % n for n in numbers]


def test_lines_are_shown_with_their_time_and_parts_without_an_end() -> None:
    assert parse(LOG[1]).shown(timestamps=True) == b"2030-01-01T00:00:01.123456789Z line 1\n"
    assert parse(b"2030-01-01T00:00:00Z stdout P half\n").shown(timestamps=False) == b"half"
    assert parse(b"2030-01-01T00:00:00Z stdout F \n").shown(timestamps=False) == b"\n"


def test_the_query_of_kubectl_logs() -> None:
    query = parse_query({"follow": "true", "tailLines": "5", "sinceSeconds": "60", "timestamps": "true"}, NOW)
    assert query == Query(follow=True, timestamps=True, tail=5, since=NOW - datetime.timedelta(seconds=60))
    assert parse_query({"sinceTime": "2030-01-01T00:00:00Z", "previous": "true"}, NOW) == Query(
        previous=True, since=NOW
    )
    with pytest.raises(ValueError, match="x"):
        parse_query({"tailLines": "x"}, NOW)


def test_a_node_says_what_it_has_and_where_it_is() -> None:
    spec = NodeSpec("n", pods=7, cpu="3", memory="5Gi", labels={"a": "b"}, taints=[parse_taint("k=v:NoSchedule")])
    found = node_object(spec)
    assert found["metadata"]["labels"]["kubernetes.io/hostname"] == "n"
    assert found["metadata"]["labels"]["a"] == "b"
    assert found["spec"]["taints"] == [{"key": "k", "value": "v", "effect": "NoSchedule"}]
    status = node_status(spec, "127.9.0.1", 10250, {}, NOW)
    assert status["allocatable"] == {"cpu": "3", "memory": "5Gi", "ephemeral-storage": "100Gi", "pods": "7"}
    assert {each["address"] for each in status["addresses"]} == {"127.9.0.1"}
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["x", "k=v", ":NoSchedule", "k:Never"])
def test_a_bad_taint_is_quoted(text: str) -> None:
    with pytest.raises(DevError, match="is not key=value:Effect"):
        parse_taint(text)
