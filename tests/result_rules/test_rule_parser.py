"""Rule files of all formats, and what is refused or ignored in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.errors import BadInput
from periplus.result_rules import LIMITS, Rule, parse_rules
from periplus.result_rules.rule_records import UrlPattern

LIST = """---
name: Farms
---
# comment
*://*.spam.example/*
https://www.shop.example/ads/*  # why
/casino\\d+\\.example/i
@*://docs.spam.example/*
@1*://*.good.example/*
block bare.example
raise manual.example 5
lower old.example/archive/
plain.example
title/buy now/
not a rule
"""
GOGGLE = """! name: Docs first
! description: More manuals
/docs/$boost=3
$boost,site=manual.example
|https://www.shop.example/*/ads^$downrank=2
$discard,site=spam.example
||farm.example^$discard
foo$intitle
foo$boost=99
$boost
$discard
"""


def rules_of(text: str, format_name: str = "auto") -> list[Rule]:
    return [rule._replace(line=0) for rule in parse_rules(text, format_name).rules]


def test_list() -> None:
    rules = parse_rules(LIST)
    assert (rules.name, rules.source.format) == ("Farms", "list")
    path = {"from_start": True, "to_end": True, "in_path": True}
    assert rules_of(LIST) == [
        Rule("block", host="spam.example"),
        Rule("block", host="www.shop.example", subdomains=False, pattern=UrlPattern("/ads/*", **path)),
        Rule("block", expression="(?i)casino\\d+\\.example"),
        Rule("allow", host="docs.spam.example", subdomains=False),
        Rule("raise", 3, host="good.example"),
        Rule("block", 3, host="bare.example"),
        Rule("raise", 5, host="manual.example"),
        Rule("lower", 3, host="old.example", pattern=UrlPattern("/archive/*", **path)),
        Rule("block", host="plain.example"),
    ]
    assert [line.line for line in rules.ignored] == [14, 15]


def test_goggle() -> None:
    rules = parse_rules(GOGGLE)
    assert (rules.name, rules.description, rules.source.format) == ("Docs first", "More manuals", "goggles")
    assert rules.blocks_others
    assert rules_of(GOGGLE) == [
        Rule("raise", 3, pattern=UrlPattern("/docs/")),
        Rule("raise", host="manual.example"),
        Rule("lower", 2, pattern=UrlPattern("https://www.shop.example/*/ads^", from_start=True)),
        Rule("block", host="spam.example"),
        Rule("block", host="farm.example"),
    ]
    assert [line.line for line in rules.ignored] == [8, 9, 10]


def test_the_id_is_that_of_the_text() -> None:
    assert parse_rules(LIST).id == parse_rules(LIST.replace("\n", "\r\n")).id != parse_rules(GOGGLE).id


def test_a_host_of_another_script_is_that_of_the_index() -> None:
    assert rules_of("block Bücher.example")[0].host == "xn--bcher-kva.example"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("! name: x\n" + "/a$boost\n" * 1_000_000, "100,00"),
        ("a.b\n" * 450_000, "100,001"),
        ("block ok.example\n" + "x" * 5_000, "line 2:"),
        ("! name: x\n\n/" + "a*" * 50 + "$discard", "line 3:"),
        ("! name: x\n/" + "a^" * 50 + "$discard", "line 2:"),
        ("! name: x\n" + "a" * 501 + "$discard", "line 2:"),
        ("/((((a{100}){100}){100}){100})/", "line 1:"),
        ("\n/" + "(" * 400 + "a" + ")" * 90 + "{900}" + "/", "line 2:"),
        ("\n".join(f"/a{number}[bc]/" for number in range(201)), "line 201:"),
        ("! x\n" + "\n".join(f"/{number % 90}$discard" for number in range(101)), "line 102:"),
    ],
)
def test_what_is_too_large_is_refused_with_the_line(text: str, line: str) -> None:
    if "(" * 400 in text:  # Not valid, and so ignored.
        assert parse_rules(text).ignored_count == 1
        return
    with pytest.raises(BadInput, match=line):
        parse_rules(text)


def test_many_patterns_of_any_site_are_refused() -> None:
    text = "! x\n" + "\n".join(f"/page{number}$discard" for number in range(LIMITS.anywhere + 1))
    with pytest.raises(BadInput, match="line 10,002"):
        parse_rules(text)


def test_lookahead_is_ignored_and_named() -> None:
    rules = parse_rules("/a(?=b)/\nblock ok.example")
    assert (len(rules.rules), rules.ignored[0].line) == (1, 1)


@given(st.text(max_size=300), st.sampled_from(["auto", "list", "goggles"]))
def test_any_text_is_parsed_or_refused(text: str, format_name: str) -> None:
    try:
        rules = parse_rules(text, format_name)
    except BadInput:
        return
    assert parse_rules(rules.source.text, rules.source.format).id == rules.id
