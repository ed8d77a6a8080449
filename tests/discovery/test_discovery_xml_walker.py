"""The one XML walker: what it reports, what it refuses, and that it never raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.discovery import xml_walker
from periplus.discovery.xml_walker import local_name, walk, walk_elements

Event = tuple[str, str]
REFUSED = {
    "depth": (b"<a>" * 100_000, "nested too deeply"),
    "entity": (b'<!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>', "'a' has an internal subset"),
    "default attributes": (b'<!DOCTYPE a [<!ATTLIST a b CDATA "c">]><a/>', "'a' has an internal subset"),
    "empty subset": (b"<!DOCTYPE a []><a/>", "'a' has an internal subset"),
    "subset and file": (b"<!DOCTYPE a SYSTEM 'a.dtd' [<!ATTLIST a b ID #IMPLIED>]><a/>", "internal subset"),
    "wide": ('<?xml version="1.0" encoding="utf-16"?><!DOCTYPE a [ ]><a/>'.encode("utf-16"), "internal subset"),
    "attributes": (b"<a " + b" ".join(b"a%d='b'" % n for n in range(1_001)) + b"/>", "more attributes"),
    "file": (b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', "internal subset"),
    "encoding": (b"<?xml version='1.0' encoding='nonsense'?><a/>", "unknown encoding"),
    "cut off": (b"<a><b>", "not well-formed"),
    "empty": (b"", "not well-formed"),
}


def events_of(body: bytes, last: str = "") -> tuple[list[Event], str]:
    events: list[Event] = []
    reason = walk(
        body,
        lambda name, _: events.append(("start", name)) if name != last else False,
        lambda name: events.append(("end", name)),
        lambda text: events.append(("text", text)),
    )
    return events, reason


def elements_of(body: bytes) -> tuple[list[tuple[str, str]], str]:
    elements: list[tuple[str, str]] = []

    def visit(names: list[str], attributes: dict[str, str], text: str) -> bool:
        elements.append(("/".join(names), text))
        return True

    return elements, walk_elements(body, visit)


def test_names_are_local() -> None:
    events, reason = events_of(b" \n<x:a xmlns:x='y'><x:b>c</x:b></x:a>")
    assert events == [("start", "a"), ("start", "b"), ("text", "c"), ("end", "b"), ("end", "a")]
    assert reason == ""
    assert local_name("x:a") == local_name("a") == "a"


def test_each_element_comes_once_with_the_text_since_its_last_child() -> None:
    body = b"<a> one <x:b> two </x:b> three </a>"
    assert elements_of(body) == ([("a/b", "two"), ("a", "three")], "")
    long = b"<a><b>" + b"x" * 4_097 + b"</b><c>" + b"x" * 4_096 + b"</c></a>"
    assert [len(text) for _, text in elements_of(long)[0]] == [0, 4_096, 0]


def test_false_ends_the_walk() -> None:
    events, reason = events_of(b"<a><b/><c/></a>", last="c")
    assert events == [("start", "a"), ("start", "b"), ("end", "b")]
    assert "more entries" in reason
    assert "more entries" in walk_elements(b"<a><b/><c/></a>", lambda *_: False)


@pytest.mark.parametrize("name", REFUSED)
def test_faults_end_the_walk_with_a_reason(name: str) -> None:
    body, reason = REFUSED[name]
    assert reason in events_of(body)[1]
    assert reason in elements_of(body)[1]


def test_a_document_type_without_a_subset_is_accepted() -> None:
    for name in (b"", b" SYSTEM 'a.dtd'", b" PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' 'http://a.test/xhtml1.dtd'"):
        assert elements_of(b"<!DOCTYPE a" + name + b"><a>b</a>") == ([("a", "b")], "")


@pytest.mark.parametrize("limit", ["_MAX_TAGS", "_MAX_EQUALS_SIGNS", "_MAX_SECONDS"])
def test_elements_attributes_and_seconds_are_bounded(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = b"<a>" + b"<b c='d'/>" * 20_000 + b"</a>"
    assert elements_of(body)[1] == ""
    monkeypatch.setattr(xml_walker, limit, -1.0 if limit == "_MAX_SECONDS" else 10_000)
    assert ("longer than" if limit == "_MAX_SECONDS" else "more elements") in elements_of(body)[1]


def test_what_precedes_a_fault_is_reported() -> None:
    assert events_of(b"<a><b>c</b><d>")[0][:4] == [("start", "a"), ("start", "b"), ("text", "c"), ("end", "b")]
    assert elements_of(b"<a><b>c</b><d>")[0] == [("a/b", "c")]


@given(st.binary().map(lambda body: b"<a>" + body))
def test_any_bytes_are_walked(body: bytes) -> None:
    events_of(body)
    elements_of(body)
