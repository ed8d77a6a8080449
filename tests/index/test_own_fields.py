"""Columns of own fields against their naive twins, through merges; and files that were damaged."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.own_fields import count_values, in_range, matching, split_elements, with_words
from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.index import Index, LiveIndex, check_index, convert_value, write_schema
from periplus.index.own_fields.field_columns import FieldColumn, column_arrays, make_column, merge_columns
from periplus.index.own_fields.own_fields import OwnFields
from periplus.publish import DocumentConverter, kernels
from periplus.query import And, QueryBudget, Scoring, match_sets, parse_filter, parse_query, plan_query
from periplus.settings import FieldSettings, IndexSettings

KEYWORD, NUMBER = FieldSettings("keyword"), FieldSettings("number")
WORDS = st.lists(st.lists(st.sampled_from(["a", "b", "bb", "", "ä", "c"]), max_size=3), max_size=150)
NUMBERS = st.lists(st.none() | st.integers(-5, 5) | st.floats(-5, 5), max_size=150)


def numbers_of(sets: npt.NDArray[np.uint64]) -> set[int]:
    return {block * 64 + bit for block, word in enumerate(sets.tolist()) for bit in range(64) if word >> bit & 1}


def own_fields(field: FieldSettings, values: Sequence[object]) -> OwnFields:
    """Return the fields of a segment with one column."""
    column, own = make_column(field, values, len(values)), OwnFields(None, len(values))
    own.column = lambda name, given: column  # type: ignore[method-assign]
    return own


@settings(max_examples=60, deadline=None)
@given(NUMBERS, st.floats(-6, 6), st.floats(-6, 6))
def test_ranges_and_gathered_values_are_those_of_the_twin(values: list[float | None], low: float, high: float) -> None:
    own = own_fields(NUMBER, values)
    found = own.in_range("f", NUMBER, low, high)
    assert numbers_of(found) == in_range(values, low, high)
    expected = sorted(float(values[number] or 0) for number in in_range(values, low, high))
    assert sorted(own.gather_values("f", NUMBER, found).tolist()) == expected


@settings(max_examples=60, deadline=None)
@given(WORDS, st.sets(st.sampled_from(["a", "bb", "ä", "z"])), st.integers(0, 7))
def test_keywords_and_counts_are_those_of_the_twin(values: list[list[str]], wanted: set[str], step: int) -> None:
    own = own_fields(KEYWORD, values)
    assert numbers_of(own.with_words("f", KEYWORD, sorted(wanted))) == with_words(values, wanted)
    chosen = set(range(0, len(values), step + 1))
    sets = np.zeros(-(-len(values) // 64), np.uint64)
    for number in chosen:
        sets[number >> 6] |= np.uint64(1 << (number & 63))
    column, counts = own.count_words("f", KEYWORD, sets)
    counted = {column.word(number): count for number, count in enumerate(counts.tolist()) if count}
    assert counted == count_values(values, chosen)


@settings(max_examples=40, deadline=None)
@given(WORDS, WORDS, NUMBERS)
def test_merged_columns_are_those_of_all_documents(
    one: list[list[str]], other: list[list[str]], numbers: list[float | None]
) -> None:
    for field, left, right in ((KEYWORD, one, other), (NUMBER, numbers, numbers[::2])):
        columns = [make_column(field, part, len(part)) for part in (left, right)]
        together = [*left, *right]
        kept = [number for number in range(len(together)) if number % 3]
        maps = [np.full(len(left), -1, np.int64), np.full(len(right), -1, np.int64)]
        for new, number in enumerate(reversed(kept)):
            part, at = (0, number) if number < len(left) else (1, number - len(left))
            maps[part][at] = new
        merged = merge_columns(columns, maps, len(kept))
        expected = make_column(field, [together[number] for number in reversed(kept)], len(kept))
        assert values_of(merged, len(kept)) == values_of(expected, len(kept))


def values_of(column: FieldColumn, documents: int) -> list[object]:
    if column.values is not None:
        return [None if math.isnan(value) else value for value in column.values.tolist()]
    bounds = column.start.tolist()
    return [[column.word(n) for n in column.words[bounds[d] : bounds[d + 1]].tolist()] for d in range(documents)]


def test_live_segments_and_merges_carry_fields(tmp_path: Path) -> None:
    write_schema(tmp_path, {"f": KEYWORD, "n": NUMBER})
    converter = DocumentConverter({"f": KEYWORD, "n": NUMBER})
    documents = [{"id": n, "title": f"Sail {n}", "f": ["x", f"w{n % 3}"], "n": n, "more": [n]} for n in range(40)]
    records = [converter.convert(msgspec.json.encode(document)) for document in documents]
    with LiveIndex(tmp_path, IndexSettings(), background=False) as live:
        for begin in range(0, 40, 4):
            assert not live.add_batch(records[begin : begin + 4])
        assert live.add_batch(records) == {record.key for record in records}, "nothing has changed"
        generation = live.manifest.generation
        assert live.merge()
        assert live.manifest.generation > generation
    check_index(tmp_path)
    index = Index.open(tmp_path)
    found = [
        segment.own_fields.sources.decode(number)["n"]
        for segment in index.segments
        for number in numbers_of(segment.own_fields.with_words("f", KEYWORD, ["w1"]) & segment.live)
    ]
    assert sorted(found) == [n for n in range(40) if n % 3 == 1]
    assert {segment.own_fields.column("n", NUMBER).values is not None for segment in index.segments} == {True}


@pytest.mark.parametrize("name", ["f:start", "f:word", "f:text_start", "source_start", "content", "n:value"])
def test_columns_that_do_not_fit_are_found_when_opened(tmp_path: Path, name: str) -> None:
    write_schema(tmp_path, {"f": KEYWORD, "n": NUMBER})
    record = DocumentConverter({}).convert(b'{"id": 1, "f": ["x", "y"], "n": 2}')
    with LiveIndex(tmp_path, IndexSettings(), background=False) as live:
        live.add_batch([record])
    path = next(tmp_path.glob("seg-*/own_fields.arrays"))
    file = ArrayFile(path, "own_fields")
    arrays = {key: np.array(file[key]) for key in file.sizes()}
    arrays[name] = np.append(arrays[name], 7).astype(arrays[name].dtype)
    write_arrays(path, "own_fields", arrays, file.notes, format=file.format)
    with pytest.raises(CorruptFile, match=r"own_fields\.arrays is damaged in"):
        Index.open(tmp_path)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("number", "1"),
        ("number", True),
        ("number", 10**400),
        ("boolean", 1),
        ("date", "soon"),
        ("date", []),
        ("keyword", {"a": 1}),
        ("keyword", [None]),
        ("keyword", ["x"] * 201),
        ("keyword", "x" * 501),
        ("text", 5),
    ],
)
def test_values_that_do_not_fit_a_field_are_errors(kind: str, wrong: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        convert_value(FieldSettings(kind), wrong)


def test_dates_are_seconds_and_columns_are_named_by_field() -> None:
    assert convert_value(FieldSettings("date"), "1970-01-02") == 86_400.0
    assert convert_value(FieldSettings("date"), "1970-01-01T01:00:00+01:00") == 0.0
    assert set(column_arrays("n", make_column(NUMBER, [1], 1))) == {"n:value"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(['\\"', "]", "{", ",", "[}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None)
@given(st.lists(VALUES, max_size=6), st.booleans(), st.integers(1, 40), st.booleans())
def test_elements_of_a_stream_are_those_of_the_twin(values: list[object], array: bool, cut: int, spaces: bool) -> None:
    if not array:
        values = [value for value in values if isinstance(value, dict)]
    texts = [json.dumps(value, ensure_ascii=cut % 2 == 0) for value in values]
    body = f"[{(', ' if spaces else ',').join(texts)}]" if array else "\n".join(texts)
    found, data, where = list[str](), b"", kernels.BEFORE
    raw, spans = body.encode() + b"\n", np.zeros((2, 2), np.int64)
    for begin in range(0, len(raw), cut):  # as it arrives
        data += raw[begin : begin + cut]
        count = len(spans)
        while count == len(spans):
            count, done, where = kernels.scan_elements(np.frombuffer(data, np.uint8), where, spans)
            found += [data[a:b].decode() for a, b in spans[:count].tolist()]
            data = data[done:]
    assert found == split_elements(body) == texts


def test_all_matches_are_those_of_the_twin_and_incomplete_ones_are_called_so(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    words = ["tide", "fog", "reef", "gull", "kelp"]
    texts = [[str(word) for word in random.choice(words, random.integers(1, 5))] for _ in range(300)]
    write_schema(tmp_path, {"n": NUMBER})
    convert = DocumentConverter({"n": NUMBER}).convert
    records = [
        convert(json.dumps({"id": n, "title": f"Page{n}", "text": " ".join(text), "n": n}).encode())
        for n, text in enumerate(texts)
    ]
    with LiveIndex(tmp_path, IndexSettings(), background=False) as live:
        live.add_batch(records[:180])
        live.add_batch(records[180:])
    index = Index.open(tmp_path)
    for query, low in (("tide", 0), ("+tide +fog", 100), ("+reef +gull +kelp", 30)):
        tree = parse_query(query).tree
        assert tree is not None
        plan = plan_query(index, And((tree, parse_filter(f"n:{low}..250", {"n": NUMBER}))), Scoring())
        found, complete = match_sets(index, plan)
        numbers = {
            int(segment.own_fields.column("n", NUMBER).values[document])  # type: ignore[index]
            for segment, sets in zip(index.segments, found, strict=True)
            for document in numbers_of(sets)
        }
        assert complete
        assert numbers == matching(texts, query.replace("+", "").split(), range(low, 251))
        assert not match_sets(index, plan, QueryBudget(work=1)).complete
