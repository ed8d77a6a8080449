"""The dictionary of a collection: terms merged and frequencies summed, as plain dictionaries of Python do it."""

import contextlib
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.made_pages import Ranks, random_visits, visit
from periplus.errors import CorruptFile
from periplus.index import CollectionDictionary, Index, SegmentDictionary, build_index, read_dictionary
from periplus.index.collection.merged_terms import merge_dictionaries, select_numbers, select_prefix, sum_frequencies
from periplus.index.kernels import term_packing
from periplus.index.kernels.term_dictionary import TermDictionary, TermTable
from periplus.index.vocabulary.name_file import name_columns
from periplus.search import decode_record, encode_record
from periplus.settings import IndexSettings
from periplus.text import language_number

TERMS = st.dictionaries(
    st.one_of(st.integers(0, 2_000).map(lambda n: str(n).encode()), st.binary(min_size=1, max_size=6)),
    st.integers(1, 1 << 20),
    max_size=60,
)


def pack(terms: dict[bytes, int]) -> TermDictionary:
    """Return a packed dictionary of terms with frequencies, which point to postings of one byte each."""
    names = sorted(terms)
    start = np.zeros(len(names) + 1, np.int64)
    np.cumsum([len(name) for name in names], out=start[1:])
    ends, none = np.arange(1, len(names) + 1, dtype=np.int64), np.zeros(len(names), np.int32)
    table = TermTable(
        np.frombuffer(b"".join(names), np.uint8),
        start,
        np.array([terms[name] for name in names], np.int32),
        ends,
        ends,
        np.zeros(len(names), np.uint8),
        none,
        none,
        none - 1,
    )
    packed = term_packing.allocate_dictionary(table)
    used = term_packing.pack_terms(table, packed)
    packed = packed._replace(pages=packed.pages[:used])
    for array in packed:
        array.flags.writeable = False
    return packed


def merge_naively(dictionaries: list[dict[bytes, int]]) -> dict[bytes, int]:
    merged: dict[bytes, int] = {}
    for terms in dictionaries:
        for term, frequency in terms.items():
            merged[term] = merged.get(term, 0) + frequency
    return merged


@given(st.lists(TERMS, max_size=5), st.binary(min_size=1, max_size=2), st.integers(0, 2_000), st.integers(1, 9))
def test_merged_terms_are_the_sums(parts: list[dict[bytes, int]], prefix: bytes, low: int, most: int) -> None:
    expected = merge_naively(parts)
    packed = [pack(part) for part in parts]
    merged = merge_dictionaries(packed)
    table = term_packing.unpack_terms(merged, len(expected))
    names = [table.blob[a:b].tobytes() for a, b in zip(table.start[:-1], table.start[1:], strict=True)]
    assert dict(zip(names, table.frequency.tolist(), strict=True)) == expected
    assert names == sorted(expected)
    asked = [*expected, b"\xfe no term", b""]
    counts = [expected.get(term, 0) for term in asked]
    assert sum_frequencies(packed, asked) == sum_frequencies([merged], asked) == counts
    for dictionaries in (packed, [merged]):
        begin = {term: count for term, count in expected.items() if term.startswith(prefix)}
        best = sorted(begin.items(), key=lambda item: (-item[1], item[0]))[:most]
        assert select_prefix(dictionaries, prefix, most) == (best, len(begin))
        numbers = {t: n for t, n in expected.items() if t.isdigit() and low <= int(t) <= low + 500}
        best = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))[:most]
        assert select_numbers(dictionaries, low, low + 500, most) == (best, len(numbers))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("dictionary") / "index"
    visits = random_visits(3, 90)
    for start in range(0, 90, 30):
        build_index(visits[start : start + 30], folder, IndexSettings(), Ranks({}), append=start > 0)
    opened = Index.open(folder)
    opened.spelling.load()
    return opened


def test_it_answers_as_the_index_does(index: Index) -> None:
    parts = [read_dictionary(segment) for segment in index.segments]
    parts = [decode_record(encode_record(part), SegmentDictionary) for part in parts]
    deleted = [np.flatnonzero(~segment.is_live) for segment in index.segments]
    first = CollectionDictionary(parts[:2], deleted[:2])
    for dictionary in (CollectionDictionary(parts, deleted), CollectionDictionary(parts, deleted, first)):
        dictionary.spelling.load()
        words = ["sea", "ships", "harbour", "12", "unknown"]
        terms = [word.encode() for word in words]
        assert dictionary.frequencies(terms) == index.document_frequencies(terms)
        for prefix in (b"s", b"sa", b"zz"):
            assert dictionary.frequent_terms(prefix, 3) == index.frequent_terms(prefix, 3)
        assert dictionary.frequent_numbers(10, 2_000, 3) == index.frequent_numbers(10, 2_000, 3)
        assert dictionary.spelling.document_frequencies(words) == index.spelling.document_frequencies(words)
        assert dictionary.spelling.find_candidates("harbuor") == index.spelling.find_candidates("harbuor")
        keys = {int(key) for segment in index.segments for key in name_columns(segment.files["names"]).key}
        for key in (*keys, 0, 12345):
            assert dictionary.names(key) == index.names(key)
        asked = np.array([12345, *keys, 0], np.uint64)
        assert dictionary.known_names(asked).tolist() == index.known_names(asked).tolist()
        assert index.known_names(asked).tolist() == [key in keys for key in asked.tolist()]


def test_terms_of_rare_languages_are_those_that_documents_have(tmp_path: Path) -> None:
    german = "Der Leuchtturm steht an der Küste und leuchtet den Schiffen in der Nacht den Weg in den Hafen."
    french = "Le phare se dresse sur la côte et montre aux navires le chemin du port pendant la nuit."
    visits = [
        *random_visits(3, 60),
        *(visit(f"https://de.test/{n}", "Leuchtturm", f"{german} {n}") for n in range(3)),
        *(visit(f"https://fr.test/{n}", "Le phare", f"{french} {n}") for n in range(2)),
    ]
    declared = []
    for record in visits:
        code = {"de.test": "de", "fr.test": "fr"}.get(record.url.split("/")[2], "en")
        page = msgspec.structs.replace(record.page, language=code) if record.page else None
        declared.append(msgspec.structs.replace(record, page=page))
    build_index(declared[::2], tmp_path, IndexSettings())
    build_index(declared[1::2], tmp_path, IndexSettings(), append=True)
    index = Index.open(tmp_path)
    assert index.languages["de"] == 3
    dictionary = CollectionDictionary([read_dictionary(s) for s in index.segments], [np.zeros(0, np.int64)] * 2)
    numbers = [frozenset((language_number("de"),)), frozenset((language_number("fr"), language_number("es")))]
    words = ["leuchtturm", "schiff", "navir", "phare", "sea", "fog", "unknown", "port", "hafen", "2"]
    terms = [word.encode() for word in words] * 2
    groups = [0] * len(words) + [1] * len(words)
    expected = index.have_terms(terms, groups, numbers)
    assert expected.any()
    assert dictionary.have_terms(terms, groups, numbers).tolist() == expected.tolist()


def test_damaged_dictionaries_are_refused(index: Index) -> None:
    part = read_dictionary(index.segments[0])
    for other in (
        part._replace(terms=part.terms + 40),
        part._replace(page_start=part.page_start[::-1]),
        part._replace(pages=part.pages[:-1]),
    ):
        with pytest.raises(CorruptFile):
            CollectionDictionary([other], [np.zeros(0, np.int64)])
    with pytest.raises(CorruptFile):
        CollectionDictionary([part._replace(name_document=part.name_document + 1_000)], [np.zeros(0, np.int64)])
    noise = np.full(len(part.pages), 255, np.uint8)
    with pytest.raises(CorruptFile):
        CollectionDictionary([part._replace(pages=noise)], [np.zeros(0, np.int64)])


@pytest.mark.parametrize(("least", "most"), [(0, 2), (0, 4), (0, 256), (1, 255), (128, 256), (190, 200)])
def test_any_pages_are_merged_within_their_room_or_refused(index: Index, least: int, most: int) -> None:
    part = read_dictionary(index.segments[0])
    random = np.random.default_rng(1)
    for _ in range(20):
        noise = random.integers(least, most, len(part.pages)).astype(np.uint8)
        with contextlib.suppress(CorruptFile):
            CollectionDictionary([part._replace(pages=noise), part], [np.zeros(0, np.int64)] * 2)
