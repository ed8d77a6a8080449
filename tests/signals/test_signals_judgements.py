"""Judgements and clicks survive processes, crashes and nonsense."""

from pathlib import Path

import pytest

from periplus.signals import Click, Judgement, read_clicks, read_judgements, write_click, write_judgement


def test_what_is_written_is_read_and_the_last_judgement_counts(tmp_path: Path) -> None:
    assert read_judgements(tmp_path) == []
    for grade in (1, 4):
        assert write_judgement(tmp_path, Judgement("tides", "https://a.example/", grade, 5.0))
    assert write_judgement(tmp_path, Judgement("tides", "https://b.example/ü", 0, 6.0))
    assert [(one.url, one.grade) for one in read_judgements(tmp_path)] == [
        ("https://a.example/", 4),
        ("https://b.example/ü", 0),
    ]
    click = Click("tides", "https://b.example/", 2, ("https://a.example/", "https://b.example/"), 7.0)
    assert write_click(tmp_path, click)
    assert list(read_clicks(tmp_path)) == [click]


def test_torn_and_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    write_judgement(tmp_path, Judgement("one", "https://a.example/", 1))
    file = tmp_path / "judgements.jsonl"
    file.write_bytes(file.read_bytes() + b'\xff\xfe\n{"query": "no url"}\n[1]\n\n{"query": "torn')
    write_judgement(tmp_path, Judgement("two", "https://a.example/", 2))
    assert [one.query for one in read_judgements(tmp_path)] == ["one", "two"]


@pytest.mark.parametrize(
    "bad",
    [
        Judgement("", "https://a.example/", 1),
        Judgement("x" * 2_001, "https://a.example/", 1),
        Judgement("x", "https://a.example/", 5),
        Judgement("x", "u" * 4_001, 1),
    ],
)
def test_what_is_out_of_bounds_is_not_kept(tmp_path: Path, bad: Judgement) -> None:
    assert not write_judgement(tmp_path, bad)
    assert read_judgements(tmp_path) == []


def test_a_full_file_takes_no_more(tmp_path: Path) -> None:
    with (tmp_path / "clicks.jsonl").open("wb") as file:
        file.truncate(256 << 20)
    assert not write_click(tmp_path, Click("a", "https://a.example/", 1))
