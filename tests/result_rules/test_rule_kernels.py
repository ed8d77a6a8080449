"""Kernels of rules compared with their naive twins."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from naive import rules as naive
from periplus.result_rules import kernels
from periplus.result_rules.rule_index import _translate

PATTERNS = st.text("ab/.*^C", max_size=12)
URLS = st.text("abA/.-é?C", max_size=20)


@given(PATTERNS, st.booleans(), st.booleans(), URLS)
@example("a^", False, False, "xa")
@example("a^", False, True, "xa")
@example("a^b", False, True, "a/b")
@example("^", True, False, "")
@example("a*^", True, False, "ab")
def test_patterns(text: str, from_start: bool, to_end: bool, url: str) -> None:
    raw, own = np.frombuffer(url.encode() or b"\0", np.uint8), np.frombuffer(_translate(text) or b"\0", np.uint8)
    flags = from_start * kernels.FROM_START | to_end * kernels.TO_END
    found, steps = kernels.matches_pattern(own, 0, len(_translate(text)), flags, raw, 0, len(url.encode()))
    assert found == naive.pattern_matches(text, from_start, to_end, url)
    assert steps <= (len(url.encode()) + 2) * (len(text) + 3)


@given(st.lists(st.sampled_from(["a.b", "b", "c.a.b", "x.y", "y"]), max_size=5), st.booleans())
def test_hosts(hosts: list[str], exact: bool) -> None:
    names = ["a.b", "b", "c.a.b", "d.c.a.b", "x.y", "ab", "z"]
    blob = "".join(names).encode()
    start = np.cumsum([0, *map(len, names)])
    keys = np.unique(
        np.array([kernels.hash_host(np.frombuffer(host.encode(), np.uint8), exact) for host in hosts], np.uint64)
    )
    out = np.zeros(len(names), np.uint16)
    kernels.mark_hosts(start, np.frombuffer(blob, np.uint8), keys, np.ones(len(keys), np.uint16), out)
    expected = [any(n == host or (not exact and n.endswith("." + host)) for host in hosts) for n in names]
    assert out.astype(bool).tolist() == expected


def test_codes_merge_to_the_stronger() -> None:
    raised, lowered = 3 << kernels.RAISE_SHIFT, 5 << kernels.LOWER_SHIFT
    merged = kernels.merge_codes(kernels.merge_codes(raised, lowered | kernels.BLOCKED), 2 << kernels.RAISE_SHIFT)
    assert merged == raised | lowered | kernels.BLOCKED
