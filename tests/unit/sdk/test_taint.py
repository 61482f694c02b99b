"""Taints and tolerations as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.errors import InvalidInputError
from paceline.taint import EFFECTS, Taint, canonical_list, canonical_toleration, parse_taints


@pytest.mark.parametrize(
    ("text", "taint"),
    [
        ("gpu=bad:NoClaim", Taint("gpu", "bad", "NoClaim")),
        ("maint:Drain", Taint("maint", "", "Drain")),
        ("example.com/gpu=a.b_c-d:PreferNoClaim", Taint("example.com/gpu", "a.b_c-d", "PreferNoClaim")),
        (" zone=a:NoLead ", Taint("zone", "a", "NoLead")),
        ("k=:NoClaim", Taint("k", "", "NoClaim")),
    ],
)
def test_a_taint_is_read_as_kubectl_writes_it(text: str, taint: Taint) -> None:
    assert Taint.parse(text) == taint


@given(
    key=st.from_regex(r"([a-z]{1,5}\.io/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,10}[A-Za-z0-9])?", fullmatch=True),
    value=st.from_regex(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,10}[A-Za-z0-9])?)?", fullmatch=True),
    effect=st.sampled_from(EFFECTS),
)
def test_what_is_written_is_what_is_read(key: str, value: str, effect: str) -> None:
    taint = Taint(key, value, effect)
    assert Taint.parse(str(taint)) == taint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpu=bad", 'taint "gpu=bad" has no effect (use NoClaim, PreferNoClaim, NoLead or Drain'),
        ("gpu=bad:NoClam", 'has an unknown effect "NoClam" (use NoClaim'),
        ("gpu=bad:", 'has an unknown effect ""'),
        ("gpu=bad:noclaim", 'has an unknown effect "noclaim"'),
        ("=bad:NoClaim", '"" is no key'),
        ("-gpu:NoClaim", '"-gpu" is no key'),
        ("a/b/c:NoClaim", '"a/b/c" is no key'),
        ("EXAMPLE.com/gpu:NoClaim", '"EXAMPLE.com/gpu" is no key'),
        ("gpu=a b:NoClaim", '"a b" is no value'),
        ("gpu=a=b:NoClaim", '"a=b" is no value'),
        (f"gpu={'a' * 64}:NoClaim", "is no value (at most 63"),
        (f"{'a' * 64}:NoClaim", "is no key"),
        ("gpu\n:NoClaim", "is no key"),
    ],
)
def test_a_bad_taint_is_quoted_with_what_is_allowed(text: str, words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Taint.parse(text)
    assert words in str(caught.value)


def test_a_list_may_have_gaps_but_no_bad_part() -> None:
    assert parse_taints("") == []
    assert parse_taints("a:Drain, ,b=c:NoLead,") == [Taint("a", "", "Drain"), Taint("b", "c", "NoLead")]
    with pytest.raises(InvalidInputError, match="has no effect"):
        parse_taints("a:Drain,b")


@pytest.mark.parametrize("text", ["*", "gpu", "gpu=bad", "gpu:NoClaim", "gpu=bad:NoClaim", "gpu="])
def test_a_toleration_may_leave_parts_out(text: str) -> None:
    assert canonical_toleration(f" {text} ") == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpu:NoClam", 'toleration "gpu:NoClam" has an unknown effect "NoClam"'),
        ("", '"" is no key'),
        ("a,b", '"a,b" is no key'),
        ("gpu=a,b", '"a,b" is no value'),
        ("**", '"**" is no key'),
    ],
)
def test_a_bad_toleration_is_quoted(text: str, words: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        canonical_toleration(text)
    assert words in str(caught.value)


def test_two_jobs_that_need_the_same_get_the_same_list() -> None:
    assert canonical_list(["b", "a", "b"]) == canonical_list(["a", "b"]) == "a,b"
    assert canonical_list([]) == ""
