"""Stories of `kubectl logs`."""

import pytest

from cluster.place import Place, eventually, over, ready

pytestmark = pytest.mark.timeout(300)


async def _says_only_late(place: Place) -> bool:
    return set((await place.log(sinceSeconds="1")).splitlines()) == {"late"}


async def test_kubectl_shows_the_log_of_each_container(place: Place) -> None:
    await place.create(place.pod(place.shell("echo one; echo two >&2", "a"), place.shell("echo three", "b")))
    await place.until(over, "it is over")
    assert sorted((await place.log("a")).splitlines()) == ["one", "two"]
    assert await place.log("b") == "three\n"
    assert (await place.run("logs", "story", "-c", "b")).stdout == "three\n"


async def test_a_part_of_the_log(place: Place) -> None:
    script = "for n in 1 2 3 4; do echo $n; done; sleep 1.5; while :; do echo late; sleep 0.4; done"
    await place.create(place.pod(place.shell(script)))
    await place.until(ready, "it is ready")
    await eventually(lambda: _says_only_late(place), "the last second has no other word", place.patience)
    assert (await place.log()).startswith("1\n2\n3\n4\nlate\n")
    assert await place.log(tailLines="1") == "late\n"
    assert await place.log(tailLines="0") == ""
    assert await place.log(limitBytes="3") == "1\n2"
    stamped = (await place.log(timestamps="true", tailLines="1")).split(" ")
    assert stamped[0].endswith("Z")
    assert stamped[1] == "late\n"


async def test_a_line_without_an_end_and_a_very_long_one_are_kept(place: Place) -> None:
    await place.create(place.pod(place.python("print('x' * 50_000); print('end', end='')")))
    await place.until(over, "it is over")
    assert (await place.log()).strip() == "x" * 50_000 + "\nend"


async def test_a_container_that_has_not_started_has_no_log(place: Place) -> None:
    await place.create(place.pod({**place.shell(""), "image": place.missing_image}))
    await place.until(lambda s: s.get("containerStatuses"), "the node has seen it")
    done = await place.run("logs", "story")
    assert 'container "main" in pod "story" is waiting to start' in done.stderr
    previous = await place.run("logs", "story", "-p")
    assert 'previous terminated container "main" in pod "story" not found' in previous.stderr
