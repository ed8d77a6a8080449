"""Our own cases of robots.txt: what the public suite leaves out, and hostile files."""

import fnmatch
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.robots import ALLOW_ALL, DISALLOW_ALL, parse_robots
from periplus.robots.rules import RobotsRules
from periplus.settings import FetchSettings


def rules(text: str, agent: str = "PeriplusBot") -> RobotsRules:
    return parse_robots(text.encode(), agent)


def test_all_or_nothing() -> None:
    assert ALLOW_ALL.allows("/any")
    assert not DISALLOW_ALL.allows("/any")
    assert not DISALLOW_ALL.allows("")


def test_our_user_agent_is_matched_by_its_name() -> None:
    parsed = rules("User-agent: *\nDisallow: /\nUser-agent: PeriplusBot/9\nDisallow: /no", FetchSettings().user_agent)
    assert parsed.allows("/yes")
    assert not parsed.allows("/no")


@pytest.mark.parametrize("key", ["Disallow", "dissallow", "DISALOW", "disallaw", " disallow ", "disallowed"])
def test_misspelled_keys_are_accepted(key: str) -> None:
    assert not rules(f"useragent : *\n{key}: /x").allows("/x")


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/*.gif$", "/a/b.gif", True),
        ("/*.gif$", "/a/b.gif?x", False),
        ("/a$", "/a", True),
        ("/a$", "/ab", False),
        ("/a$b", "/a$b/c", True),
        ("/a*a$", "/a", False),
        ("/a*a$", "/aa", True),
        ("/a**b***", "/axxb", True),
        ("*", "/anything", True),
        ("*/x", "/deep/x", True),
        ("x", "/x", False),
        ("/%7Euser", "/~user/", True),
        ("/%7euser", "/~user/", True),
        ("/ä", "/%C3%A4", True),
        ("/%c3%a4", "/%C3%A4", True),
        ("/%2F", "//", False),
    ],
)
def test_patterns(pattern: str, path: str, matches: bool) -> None:
    assert rules(f"User-agent: *\nDisallow: {pattern}").allows(path) is not matches


def test_longest_wins_and_allow_wins_ties() -> None:
    parsed = rules(
        "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nAllow: /*/b/c\nDisallow: /t/\nAllow: /*t\n"
    )
    assert not parsed.allows("/a")
    assert parsed.allows("/a/b")
    assert parsed.allows("/a/b/c")
    assert parsed.allows("/t/t")


def test_groups_of_one_agent_are_merged_and_beat_the_star() -> None:
    text = """
    User-agent: PeriplusBot
    Disallow: /a
    User-agent: *
    Disallow: /
    User-agent: Other
    User-agent: periplusbot
    Crawl-delay: 2.5
    Disallow: /b
    """
    parsed = rules(text)
    assert [parsed.allows(path) for path in ("/a", "/b", "/c")] == [False, False, True]
    assert parsed.delay == 2.5
    assert not rules(text, "Stranger").allows("/c")


def test_invalid_delays_are_ignored() -> None:
    assert rules("User-agent: *\nCrawl-delay: soon").delay is None
    assert rules("User-agent: *\nCrawl-delay: -1").delay is None
    assert rules("User-agent: *\nCrawl-delay: inf").delay is None
    assert rules("User-agent: *\nCrawl-delay: 1\nCrawl-delay: 3").delay == 3


def test_sitemaps_are_global() -> None:
    parsed = rules("Sitemap: https://a.example/1.xml\nUser-agent: X\nSite-map: /2.xml\nSitemap:\nSitemap: /2.xml")
    assert parsed.sitemaps == ("https://a.example/1.xml", "/2.xml")


def test_the_limit_cuts_at_a_line() -> None:
    line = b"# " + b"x" * 98 + b"\n"
    head = b"User-agent: *\nDisallow: /early\n"
    parsed = parse_robots(head + line * 5_065 + b"Disallow: /very/late/rule\n" * 5_000 + b"Disallow: /never\n", "Bot")
    assert not parsed.allows("/early")
    assert parsed.allows("/never")
    assert parsed.allows("/very")


def test_hostile_patterns_take_bounded_time() -> None:
    body = b"User-agent: *\n" + b"".join(b"Disallow: /%d*" % n + b"a*" * 50 + b"b$\n" for n in range(1_000))
    parsed = parse_robots(body + b"Disallow: /" + b"*a" * 20_000 + b"*b$\n", "Bot")
    for _ in range(20):
        assert parsed.allows("/" + "a" * 1_000)


@given(st.binary(max_size=300), st.text(max_size=12), st.text(alphabet=st.characters(codec=None), max_size=30))
def test_any_bytes_are_parsed(body: bytes, agent: str, path: str) -> None:
    assert parse_robots(b"User-agent: *\nDisallow:" + body, agent).allows(path) in {True, False}


@given(st.text("ab/*", min_size=1, max_size=8), st.booleans(), st.text("ab/", max_size=8))
def test_matching_agrees_with_a_naive_twin(pattern: str, anchored: bool, path: str) -> None:
    expression = fnmatch.translate(pattern if anchored else pattern + "*")
    expected = re.match(expression, "/" + path, re.DOTALL) is not None
    assert rules(f"User-agent: *\nDisallow: {pattern}{'$' if anchored else ''}").allows("/" + path) is not expected


class CountedPath(bytes):
    """A path that counts how often a rule is tried on it: every rule with a wildcard begins with this question."""

    trials = 0

    def startswith(self, *prefix: Any) -> bool:
        CountedPath.trials += 1
        return super().startswith(*prefix)


class CountedText(str):
    """A path as text whose bytes count trials."""

    def partition(self, separator: str) -> Any:
        return self, "", ""

    def encode(self, *_: Any) -> bytes:
        return CountedPath(super().encode())


def trials(parsed: RobotsRules, path: str) -> int:
    """Return how many rules a check tries, without the question whether the path begins with a slash."""
    CountedPath.trials = 0
    parsed.allows(CountedText(path))
    return CountedPath.trials - 1


def test_a_check_tries_few_of_many_rules_with_wildcards() -> None:
    numbered = b"User-agent: *\n" + b"".join(b"Allow:/*x%05d\n" % n for n in range(42_000))
    parsed = parse_robots(numbered, "Bot")
    assert trials(parsed, "/a/page/about/nothing?in=particular") == 0
    assert trials(parsed, "/a/x00777/") < 50
    nested = parse_robots(b"User-agent: *\n" + b"".join(b"Disallow: /*q%d*z\n" % n for n in range(20_000)), "Bot")
    assert not nested.allows("/q777/z")
    assert trials(nested, "/q777/y") < 50


def test_of_rules_that_nearly_match_a_bounded_number_is_tried() -> None:
    letters = b"abcdefghij"
    words = (
        bytes((first, 42, second, 42, third, 42, fourth))
        for first in letters
        for second in letters
        for third in letters
        for fourth in letters
    )
    parsed = parse_robots(b"User-agent: *\n" + b"".join(b"Disallow: /*%s*0\n" % word for word in words), "Bot")
    path = "/jihgfedcba-" * 60 + "0"
    assert trials(parsed, path) <= 1_001
    assert not parsed.allows(path)  # what cannot be decided within the bound is not fetched


@given(
    st.lists(st.tuples(st.booleans(), st.text("ab/*$", min_size=1, max_size=6)), min_size=40, max_size=80),
    st.text("ab/", max_size=8),
)
def test_many_rules_agree_with_a_naive_twin(lines: list[tuple[bool, str]], path: str) -> None:
    best = (0, True)
    for allow, rule in lines:
        text, anchored = (rule[:-1], True) if rule.endswith("$") else (rule, False)
        expression = ".*".join(map(re.escape, text.split("*"))) + (r"\Z" if anchored else "")
        if re.match(expression, "/" + path, re.DOTALL):
            best = max(best, (len(rule), allow))
    body = "User-agent: *\n" + "".join(f"{'Allow' if allow else 'Disallow'}: {rule}\n" for allow, rule in lines)
    assert rules(body).allows("/" + path) is best[1]


@pytest.mark.parametrize(
    ("agent", "line", "matches"),
    [
        ("MyBot2/1.0 (+http://a.test)", "MyBot2", True),
        ("MyBot2/1.0", "mybot2/3", True),
        ("MyBot2/1.0", "MyBot", True),
        ("MyBot2/1.0", "MyBot3", False),
        ("My Crawler/1.0", "My Crawler", True),
        ("My Crawler/1.0", "my crawler/2", True),
        ("My Crawler/1.0", "My Reader", False),
        ("MyBot/1.0", "MyBot2", True),
        ("MyBot/1.0", "MyBots", False),
    ],
)
def test_a_configured_name_matches_its_own_group(agent: str, line: str, matches: bool) -> None:
    parsed = parse_robots(f"User-agent: {line}\nDisallow: /".encode(), agent, any_name=True)
    assert parsed.allows("/x") is not matches
