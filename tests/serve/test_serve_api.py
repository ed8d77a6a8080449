"""The JSON API, as docs/api.md has it."""

import pytest
from asgi_caller import get
from fake_searcher import FakeSearcher

from periplus.serve import make_app
from periplus.settings import ServeSettings

APP = make_app(FakeSearcher(), ServeSettings(threads=2))


def test_search_gives_everything_a_page_has() -> None:
    answer = get(APP, "/api/search?q=salt%20harbour&start=5&size=3&explain=1")
    assert answer.headers["content-type"] == "application/json"
    found = answer.json
    assert set(found) == {
        *("query", "number_of_results", "results", "answers", "corrections", "infoboxes", "suggestions"),
        *("unresponsive_engines", "start", "count", "exact", "partial", "seconds", "timings", "documents"),
        *("generation", "hidden", "notes", "showing_for", "unsearched"),
    }
    assert (found["query"], found["start"], found["count"], found["number_of_results"]) == ("salt harbour", 5, 3, 87)
    assert len(found["results"]) == 3
    first = found["results"][0]
    assert first["content"] == "".join(piece["text"] for piece in first["snippet"])
    assert {"text": "salt", "marked": True} in first["snippet"]
    assert first["cached"] == f"/cached/{first['key']}"
    assert first["explain"][0] == {"name": "words in the title", "value": 4.2}


def test_both_addresses_give_the_same() -> None:
    ours = get(APP, "/api/search?q=salt&start=10&size=10").json
    theirs = get(APP, "/search?q=salt&page=2&count=10&format=json").json
    assert [hit["url"] for hit in ours["results"]] == [hit["url"] for hit in theirs["results"]]
    assert set(ours) == set(theirs)
    assert set(ours["results"][0]) == set(theirs["results"][0])


@pytest.mark.parametrize("given", ["size=0", "size=101", "size=x", "size=", "start=-1", "start=10001", "start=1e3"])
def test_numbers_out_of_range_are_refused(given: str) -> None:
    answer = get(APP, f"/api/search?q=salt&{given}")
    assert answer.status == 400
    assert set(answer.json) == {"error", "hint"}
    assert given.split("=")[0] in answer.json["error"]


@pytest.mark.parametrize("given", ["", "q=", "q=%20", "q=%00"])
def test_no_query_is_refused(given: str) -> None:
    assert get(APP, f"/api/search?{given}").status == 400


def test_before_anything_is_indexed() -> None:
    app = make_app(FakeSearcher(total=0, documents=0), ServeSettings(threads=1))
    answer = get(app, "/api/search?q=salt")
    assert answer.status == 200, "a program that has just started the server is told, not refused"
    assert answer.json["number_of_results"] == 0
    assert "Nothing is indexed yet" in answer.json["notes"][0]


def test_the_largest_numbers_are_allowed() -> None:
    assert get(APP, "/api/search?q=salt&size=100&start=10000").status == 200


def test_a_long_query_is_cut_and_it_says_so() -> None:
    found = get(APP, "/api/search?q=" + "a" * 3000).json
    assert len(found["query"]) == 2000
    assert "truncated" in found["notes"][-1]


def test_unknown_paths_are_json_too() -> None:
    answer = get(APP, "/api/nothing")
    assert (answer.status, set(answer.json)) == (404, {"error", "hint"})
    assert get(APP, "/api/search?q=x", "DELETE").status == 405


def test_statistics_and_health() -> None:
    facts = get(APP, "/api/statistics").json
    assert (facts["documents"], facts["hosts"], facts["bytes"]) == (1_204_331, 8_412, 5_321_000_000)
    assert facts["newest"] > 1e9
    assert get(APP, "/healthz").json == {"status": "ok"}


def test_a_fault_has_an_id() -> None:
    def fail(_: object) -> None:
        raise RuntimeError("secret")

    app = make_app(FakeSearcher(answer=fail), ServeSettings(threads=1))  # type: ignore[arg-type]
    answer = get(app, "/api/search?q=x")
    assert answer.status == 500
    assert set(answer.json) == {"error", "hint", "id"}
    assert "secret" not in answer.text
