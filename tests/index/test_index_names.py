"""Names of documents: learned from titles and texts, looked up by queries, kept through merges."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.made_pages import visit
from naive import names as naive
from periplus.index import Index, LiveIndex, build_index, find_named_documents
from periplus.index.vocabulary.kernels import name_words
from periplus.index.vocabulary.name_columns import name_keys, sort_rows
from periplus.index.vocabulary.name_file import name_columns
from periplus.index.vocabulary.name_lookup import _join_letters, _replace_word, name_key
from periplus.records import FetchRecord, PageFlag
from periplus.settings import IndexSettings
from periplus.text import split_text

PLACES = {
    "Ostrava Velka": "Ostrava Velka (OV), formerly known as the Old Harbour (Altenhafen), is a town by the sea.",
    "Quorn (planet)": "Quorn is a planet. It is far from the sun, says Mira Tolland.",
    "Quorn (river)": "Quorn is a river in the south.",
    "Mira Tolland": "Mira Tolland was a painter. She lived by the sea.",
    "Black kettle": "A black kettle is a kettle that is black.",
    "Colourist": "A colourist (also spelled colorist) works with paint.",
}


def pages(more: int = 6) -> list[FetchRecord]:
    texts = dict(PLACES)
    for number in range(more):
        texts[f"Report {number}"] = (
            "The planet Quorn was seen by Mira Tolland from Ostrava Velka (OV). Later Tolland wrote of it."
        )
    texts["Survey"] = "The river Quorn is long. The Haven (Ostrava Velka) is near it."
    texts["Second survey"] = "The Haven (Ostrava Velka) is a harbour."
    return [visit(f"https://names.test/{number}", title, text) for number, (title, text) in enumerate(texts.items())]


def named(folder: Path, query: str) -> list[str]:
    index = Index.open(folder)
    index.spelling.load()
    hits = find_named_documents(index, split_text(query))
    return [index.segments[hit.segment].string("title", hit.document) for hit in hits]


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("mira tolland", "Mira Tolland"),
        ("tolland", "Mira Tolland"),
        ("blackkettle", "Black kettle"),
        ("black kettles", "Black kettle"),
        ("the black kettle", "Black kettle"),
        ("ov", "Ostrava Velka"),
        ("altenhafen", "Ostrava Velka"),
        ("haven", "Ostrava Velka"),
        ("colorist", "Colourist"),
        ("quorn", "Quorn (planet)"),
        ("quorn river", "Quorn (river)"),
    ],
)
def test_a_name_finds_its_page(tmp_path: Path, query: str, title: str) -> None:
    build_index(pages(), tmp_path, IndexSettings())
    assert named(tmp_path, query)[:1] == [title]


def test_words_that_name_nothing_find_nothing(tmp_path: Path) -> None:
    build_index(pages(), tmp_path, IndexSettings())
    assert named(tmp_path, "sea") == []
    assert named(tmp_path, "") == []
    assert named(tmp_path, "mira tolland " * 5) == []


def test_a_misspelt_name_means_a_page_that_many_mention(tmp_path: Path) -> None:
    build_index(pages(30), tmp_path, IndexSettings())
    assert named(tmp_path, "mira toland") == ["Mira Tolland"]
    assert named(tmp_path, "black ketle") == []


def test_deleted_documents_are_not_named(tmp_path: Path) -> None:
    records = pages()
    with LiveIndex(tmp_path, IndexSettings(), background=False) as live:
        for record in records:
            live.add(record)
        live.publish()
        live.delete(records[3].url)
        live.publish()
    assert named(tmp_path, "mira tolland") == []


def test_merging_learns_from_all_segments(tmp_path: Path) -> None:
    records = pages()
    with LiveIndex(tmp_path, IndexSettings(), background=False) as live:
        for record in records:
            live.add(record)
            live.publish()
        assert named(tmp_path, "mira tolland") == ["Mira Tolland"]
        while live.merge():
            pass
    assert named(tmp_path, "tolland") == ["Mira Tolland"]
    whole = tmp_path / "whole"
    build_index(records, whole, IndexSettings())
    own, other = (Index.open(folder).segments[0].files["names"] for folder in (tmp_path, whole))
    for one, two in zip(name_columns(own), name_columns(other), strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(own["mentions"], other["mentions"])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_mentions_are_counted_as_by_definition(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    words = ("Sea", "sea", "Chart", "Harbour", "harbour", "Bell", "fog", "Old")

    def text(most: int) -> str:
        return " ".join(chance.choice(words) for _ in range(chance.randint(1, most)))

    titles, bodies = [text(3) for _ in range(30)], [text(40) for _ in range(30)]
    records = [
        visit(f"https://names.test/{number:02}", title, body)
        for number, (title, body) in enumerate(zip(titles, bodies, strict=True))
    ]
    build_index(records, tmp_path, IndexSettings())
    wanted = naive.count_mentions(titles, bodies)
    assert counted(tmp_path) == {record.url: count for record, count in zip(records, wanted, strict=True)}


def counted(folder: Path) -> dict[str, int]:
    segment = Index.open(folder).segments[0]
    return {segment.string("url", n): int(segment.files["names"]["mentions"][n]) for n in range(segment.documents)}


def test_many_pages_of_one_title_are_counted_as_by_definition(tmp_path: Path) -> None:
    titles = ["News"] * 300 + ["Chart"] * 40 + ["Bell"]
    bodies = [("News", "Chart News", "bell", "Chart of News and Bell")[n % 4] for n in range(len(titles))]
    records = [
        visit(f"https://names.test/{number:03}", title, body)
        for number, (title, body) in enumerate(zip(titles, bodies, strict=True))
    ]
    build_index(records, tmp_path, IndexSettings())
    wanted = naive.count_mentions(titles, bodies)
    assert counted(tmp_path) == {record.url: count for record, count in zip(records, wanted, strict=True)}


def test_stop_words_are_not_mentioned(tmp_path: Path) -> None:
    records = [visit(f"https://names.test/{n}", ("It", "Sea", "it")[n % 3], "It is by the sea.") for n in range(30)]
    build_index(records, tmp_path, IndexSettings())
    assert sorted(set(counted(tmp_path).values())) == [0, 20]


def test_so_many_senses_of_one_title_are_counted(tmp_path: Path) -> None:
    records = [visit(f"https://names.test/{n:03}", f"Quorn (sense{n})", "Nothing here.") for n in range(100)]
    text = "Quorn is " + " ".join(f"sense{n}" for n in range(100))
    records.append(visit("https://names.test/text", "Survey", text))
    build_index(records, tmp_path, IndexSettings())
    assert sum(counted(tmp_path).values()) == 64


@pytest.mark.parametrize(
    ("title", "text", "names", "others"),
    [
        (
            "Barack Obama",
            "Barack Obama (born August 4, 1961, called Barry) was a president.",
            ["barry"],
            ["august 4", "1961", "august"],
        ),
        (
            "Ada Lovelace",
            "Ada Lovelace (10 December 1815 - 27 November 1852) was a mathematician.",
            [],
            ["10 december 1815", "december 1815", "december", "27 november 1852", "november", "1852"],
        ),
        (
            "Лондон",
            "Лондон (англ. London, столица Англии с давних времен) стоит на реке.",
            ["london"],
            ["англ london", "столица англии с давних времен", "столица", "с давних времен", "англ"],
        ),
        ("Wien", "Wien (älteste Stadt, über alles; Übersee)", ["übersee"], ["über", "über alles", "älteste stadt"]),
        ("Tor", "Tor (J. K. Rowlin. Later Minster)", ["j k rowlin", "later minster"], ["rowlin later minster"]),
        ("Tokio", "Tokio（Edo、東京）", ["edo"], ["東京", "edo 東京"]),
        ("Cyber Unit", "Cyber Unit (" + "A" * 65 + ", Ny" + "b" * 60 + ")", ["ny" + "b" * 60], ["a" * 65]),
    ],
)
def test_what_is_a_name_in_brackets(tmp_path: Path, title: str, text: str, names: list[str], others: list[str]) -> None:
    build_index([visit("https://names.test/", title, text)], tmp_path, IndexSettings())
    assert [name for name in names if not named(tmp_path, name)] == []
    assert [name for name in others if named(tmp_path, name)] == []


def test_a_title_may_begin_with_http(tmp_path: Path) -> None:
    texts = {"HTTP cookie": "A cookie.", "httpd": "A server.", "http://names.test/x": "A page without a title."}
    records = [visit(f"https://names.test/{n}", title, text) for n, (title, text) in enumerate(texts.items())]
    text = "The HTTP cookie is sent to httpd at http://names.test/x"
    records.append(visit("https://names.test/text", "Survey", text))
    build_index(records, tmp_path, IndexSettings())
    assert list(counted(tmp_path).values()).count(1) == 2
    segment = Index.open(tmp_path).segments[0]
    without = [n for n in range(segment.documents) if segment.string("title", n).startswith("http://")]
    assert not set(without) & set(name_columns(segment.files["names"]).document.tolist())


def spread(*texts: tuple[str, str, str]) -> list[FetchRecord]:
    """Pages of many hosts, and these of their own."""
    records = [visit(f"https://host{n}.test/", f"Filler {n}", "Nothing of note.") for n in range(40)]
    return [*records, *(visit(f"https://{host}/{n}", title, text) for n, (host, title, text) in enumerate(texts))]


def test_documents_of_one_host_count_twice_at_most(tmp_path: Path) -> None:
    mention = [("farm.test", f"Report {n}", "Mira Tolland was seen.") for n in range(12)]
    records = spread(("a.test", "Mira Tolland", "A painter."), ("b.test", "Note", "Mira Tolland."), *mention)
    build_index(records, tmp_path, IndexSettings())
    assert counted(tmp_path)["https://a.test/0"] == 3


@pytest.mark.parametrize(
    "text", ["(Online Betting)", "Shady Shop (Online Betting)", "Shady Shop. (Online Betting) here"]
)
def test_a_page_cannot_give_itself_any_name(tmp_path: Path, text: str) -> None:
    own = [("shady.test", "Shady Shop", text) for _ in range(5)]
    build_index(spread(*own), tmp_path, IndexSettings())
    assert named(tmp_path, "online betting") == []
    other = tmp_path / "other"
    build_index(spread(*own, ("b.test", "Note", "At Shady Shop (Online Betting) we met.")), other, IndexSettings())
    assert (named(other, "online betting") == ["Shady Shop"]) == text.startswith("Shady")


def test_spam_teaches_no_names(tmp_path: Path) -> None:
    texts = ("Ostrava Velka", "Ostrava Velka (OV)."), ("Note", "Mira Tolland was seen."), ("Mira Tolland", "A painter.")
    for flags, known in ((PageFlag(0), True), (PageFlag.STUFFED, False), (PageFlag.PAYWALL, True)):
        records = [visit(f"https://names.test/{n}", *text, flags=flags) for n, text in enumerate(texts)]
        folder = tmp_path / str(int(flags))
        build_index(records, folder, IndexSettings())
        assert bool(named(folder, "ov")) == known
        assert counted(folder)["https://names.test/2"] == known


def test_a_page_can_introduce_its_initials_and_spellings(tmp_path: Path) -> None:
    texts = ("a.test", "Ostrava Velka", "Ostrava Velka (OV) is old."), ("b.test", "Colourist", "Colourist or colorist.")
    build_index(spread(*texts), tmp_path, IndexSettings())
    assert named(tmp_path, "ov") == ["Ostrava Velka"]
    assert named(tmp_path, "colorist") == ["Colourist"]


def test_a_title_has_a_part_in_what_another_page_calls_itself(tmp_path: Path) -> None:
    alone = [visit("https://names.test/0", "Shady Shop", "Shady Shop (Betting) is a shop.")]
    titled = visit("https://names.test/1", "Betting", "Betting is a pastime.")
    weights = []
    for folder, records in ((tmp_path / "alone", alone), (tmp_path / "both", [*alone, titled])):
        build_index(records, folder, IndexSettings())
        hits = find_named_documents(Index.open(folder), ["betting"])
        index = Index.open(folder)
        weights.append({index.segments[0].string("title", hit.document): hit.weight for hit in hits})
    assert weights[1]["Shady Shop"] < 0.7 * weights[0]["Shady Shop"]


def test_documents_are_named_for_the_whole_index(tmp_path: Path) -> None:
    with LiveIndex(tmp_path, IndexSettings(), background=False) as live:
        for number in range(12):
            live.add(visit(f"https://host{number}.test/", "Quorn", "Quorn is a planet."))
            live.publish()
    assert len(named(tmp_path, "quorn")) == 8


@pytest.mark.parametrize(
    "title",
    ["Mercury (planet)", "Mercury", "A (b) c", "(x)", "Pricing | Example", "One - Two", "Wi-Fi", "A – B (c)", "", ")("],
)
def test_titles_without_brackets(title: str) -> None:
    raw = np.frombuffer(title.encode(), np.uint8)
    end, _ = name_words.title_ends(raw, np.array([0, len(raw)], np.int64))
    assert raw[: end[0]].tobytes().decode() == naive.title_name(title)


@pytest.mark.parametrize("name", ["Black hole", "9/11", "911", "9-1-1", "McDonald's", "AC/DC", "Köln", "1984 2", ""])
def test_keys_are_the_same_in_tables_and_queries(name: str) -> None:
    data = name.encode()
    keys = name_keys(data, np.array([0, len(data)], np.int64), np.zeros(1, np.uint8)).words
    words = [word.encode() for word in split_text(name)]
    assert int(keys[0]) == name_key(words) == naive.name_key(words)


def test_numbers_stay_apart() -> None:
    assert len({name_key(split) for split in ([b"9", b"11"], [b"911"], [b"9", b"1", b"1"])}) == 3


def test_an_index_without_names_is_searched(tmp_path: Path) -> None:
    build_index(pages(), tmp_path, IndexSettings())
    next(tmp_path.glob("seg-*/names.arrays")).unlink()
    assert named(tmp_path, "mira tolland") == []


def test_hostile_titles_and_bodies(tmp_path: Path) -> None:
    texts = ["(" * 5_000, '"' * 5_000, "A " * 40_000, "Ab (Cd) " * 9_000, "\x00\xff" * 500, "é" * 9_000, "(A\n" * 999]
    records = [visit(f"https://names.test/{n}", text[:3_000], text) for n, text in enumerate(texts)]
    build_index(records, tmp_path, IndexSettings())
    assert len(Index.open(tmp_path).segments[0].files["names"]["mentions"]) == len(texts)


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ((b"mira", b"toland"), (b"tolland", b"poland")),
        ((b"apollo", b"11", b"mision"), (b"mission", b"12", b"o'brien")),
        ((b"area", b"5", b"one"), (b"1", b"two")),
    ],
)
def test_names_with_another_word_have_the_letters_of_that_name(name, others) -> None:
    for place in range(len(name)):
        written = [_join_letters([*name[:place], other, *name[place + 1 :]]) for other in others]
        assert _replace_word(name, place, others) == written


def test_words_that_may_be_meant_are_kept_as_they_are_written(tmp_path: Path) -> None:
    build_index(iter(pages()), tmp_path, IndexSettings())
    spelling = Index.open(tmp_path).spelling
    assert spelling.find_written("tolund", "en") == ([], [], [])  # Nothing is loaded yet.
    spelling.load()
    words = ["tolland", "quorn", "nowhere"]
    first = spelling.document_frequencies(words)
    assert first[0] > 0
    assert first[2] == 0
    assert spelling.document_frequencies(words) == first == [spelling.document_frequencies([word])[0] for word in words]
    written = spelling.find_written("toland", "en")
    assert written is spelling.find_written("toland", "en")
    assert written.candidates == spelling.find_candidates("toland")
    assert written.written == [candidate.word.encode() for candidate in written.candidates]
    assert b"tolland" in written.written
    assert len(written.stems) == len(written.written)


@given(
    st.lists(st.tuples(st.sampled_from([0, 5, 1 << 63, 2**64 - 1]), st.integers(-2, 2), st.integers(0, 1)), max_size=40)
)
def test_rows_are_sorted_by_hash_then_columns_then_place(rows: list[tuple[int, int, int]]) -> None:
    hashes = np.array([row[0] for row in rows], np.uint64)
    first, second = (np.array([row[column] for row in rows], np.int64) for column in (1, 2))
    expected = sorted(range(len(rows)), key=rows.__getitem__)
    assert sort_rows(hashes, first, second).tolist() == expected
