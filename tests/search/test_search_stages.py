"""The stages of a search can run on different machines: records travel, and shards give what one index gives."""

import copy
import struct
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from embeddings.tiny_model import NaiveEncoder
from index.made_pages import Ranks, random_ranks, random_visits, visit
from periplus.embeddings import EmbeddingSearcher, embed_index
from periplus.index import Index, build_index, select_named
from periplus.query import QueryPlan, parse_query
from periplus.rank import Ranker
from periplus.records import Query
from periplus.search import (
    RerankedCandidates,
    RetrievedCandidates,
    decode_record,
    encode_record,
    merge_shards,
    rerank,
    retrieve,
)
from periplus.search.navigational import site_name
from periplus.settings import EmbeddingSettings, IndexSettings, RankSettings

SEMANTIC = EmbeddingSettings(enabled=True, passage_tokens=16, overlap=4, nearest=5, candidates=10)
QUERIES = [
    "sea chart",
    "the ship of fog",
    "rope -sail tide",
    '"harbour light" bell',
    "wind",
    "coast",
    "lang:en",
    "zebra",
]
LIMIT = 150


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Build an index of four segments."""
    folder = tmp_path_factory.mktemp("stages") / "index"
    visits = [*random_visits(5, 300), visit("https://coast.test/", "Coast", "sea chart of the coast")]
    ranks = Ranks(random_ranks(5, visits))
    for start in range(0, 301, 76):
        build_index(visits[start : start + 76], folder, IndexSettings(), ranks, append=start > 0)
    embed_index(folder, SEMANTIC, encoder=NaiveEncoder())
    opened = Index.open(folder)
    assert len(opened.segments) == 4
    return opened


def open_ranker(index: Index, semantic: EmbeddingSettings, depth: int = 40) -> Ranker:
    ranker = Ranker(index, RankSettings(rerank=depth), semantic)
    if ranker.embeddings is not None:
        ranker.embeddings._meaning = EmbeddingSearcher(index, semantic, NaiveEncoder())
    return ranker


def split(index: Index) -> list[Index]:
    """Return two shards, each with half of the segments."""
    shards = []
    for segments in (index.segments[:2], index.segments[2:]):
        shard = copy.copy(index)
        shard.segments = segments
        shards.append(shard)
    return shards


def run_stage(ranker: Ranker, plan: QueryPlan, words: str) -> RetrievedCandidates:
    site = site_name(parse_query(words).tree, Query(words))
    return retrieve(ranker, plan, LIMIT, site_name=site, dated=True)


def assert_equal(one: RerankedCandidates, other: RerankedCandidates) -> None:
    for name, value in one._asdict().items():
        expected = getattr(other, name)
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, expected, err_msg=name)
        else:
            assert value == expected, name


@pytest.mark.parametrize("semantic", [EmbeddingSettings(), SEMANTIC], ids=["words", "embeddings"])
@pytest.mark.parametrize("words", QUERIES)
def test_records_travel_and_rerank_to_the_same(index: Index, words: str, semantic: EmbeddingSettings) -> None:
    ranker = open_ranker(index, semantic)
    tree = parse_query(words).tree
    assert tree is not None
    retrieved = run_stage(ranker, ranker.plan(tree), words)
    received = decode_record(encode_record(retrieved), RetrievedCandidates)
    assert received.features.dtype == np.float64
    for today in (None, 9):
        here, there = rerank(retrieved, ranker.model, LIMIT, today), rerank(received, ranker.model, LIMIT, today)
        assert_equal(here, there)
        assert_equal(here, decode_record(encode_record(there), RerankedCandidates))


def test_what_is_not_a_record_is_refused() -> None:
    for data in (b"", b"\x93\x01\x02\x03", encode_record([1] * 15), encode_record([["<i4", [3], b"1"]] * 15)):
        with pytest.raises(msgspec.MsgspecError):
            decode_record(data, RetrievedCandidates)


class Numbers(NamedTuple):
    """A record of one array."""

    values: npt.NDArray[np.int32]


def pack_array(code: int, *shape: int, elements: bytes = b"") -> bytes:
    """Return the header of an array of integers of 4 bytes (code 5), or others, and its elements."""
    return (
        bytes([code, len(shape), *bytes(6)])
        + struct.pack(f"<{len(shape)}Q", *shape)
        + bytes(8 * ((len(shape) + 1) % 2))
        + elements
    )


@pytest.mark.parametrize(
    "array",
    [
        b"",
        bytes(7),
        bytes(8),
        pack_array(11, 1, elements=bytes(8)),
        pack_array(255, 1, elements=bytes(8)),
        pack_array(10, 2, elements=bytes(16)),
        pack_array(5, 2, elements=bytes(4)),
        pack_array(5, 2, elements=bytes(12)),
        pack_array(5, 1, 2)[:-1],
        pack_array(5, 1, 1, 1, 1, 1, elements=bytes(4)),
        pack_array(5, 1 << 31, 1 << 31, 1 << 31, 0),
        pack_array(5, 1 << 62, 0),
        pack_array(5, 1 << 62, elements=bytes(4)),
        ("<i4", (1,), bytes(4)),
        "text",
        7,
    ],
)
def test_an_array_of_another_type_or_shape_is_refused(array: object) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_record(msgspec.msgpack.encode([array]), Numbers)
    received = decode_record(msgspec.msgpack.encode([pack_array(5, 1, 2, elements=bytes(8))]), Numbers)
    assert received.values.shape == (1, 2)


def test_an_array_that_cannot_travel_is_an_error() -> None:
    for array in (np.zeros(2, np.complex128), np.zeros((1,) * 5), np.array(["text"], object)):
        with pytest.raises(NotImplementedError):
            encode_record((array,))


@pytest.mark.parametrize("semantic", [EmbeddingSettings(), SEMANTIC], ids=["words", "embeddings"])
@pytest.mark.parametrize("words", QUERIES)
def test_two_shards_give_what_one_index_gives(index: Index, words: str, semantic: EmbeddingSettings) -> None:
    """The broker plans by the statistics of the whole collection; each shard looks the terms up for itself.

    Statistics are shared here by planning on the whole index. Two things are still decided on each shard alone, and
    may differ: whether a query is in a language of the embedding model (by the shard's own best candidates), and the
    total, where it is estimated.
    """
    tree = parse_query(words).tree
    assert tree is not None
    ranker = open_ranker(index, semantic)
    plan = ranker.plan(tree)
    whole = run_stage(ranker, plan, words)
    named = select_named(index, plan.name)
    parts = [
        run_stage(
            open_ranker(shard, semantic),
            plan.bind(shard, [item._replace(segment=item.segment - n) for item in named if 0 <= item.segment - n < 2]),
            words,
        )
        for n, shard in zip((0, 2), split(index), strict=True)
    ]
    merged = merge_shards([decode_record(encode_record(part), RetrievedCandidates) for part in parts])
    assert merged.total == whole.total
    assert len(merged.features) >= len(whole.features)
    assert_equal(rerank(merged, ranker.model, LIMIT), rerank(whole, ranker.model, LIMIT))
    assert_equal(rerank(merged, ranker.model, 20, 9), rerank(whole, ranker.model, 20, 9))


def test_one_shard_is_merged_as_it_is(index: Index) -> None:
    ranker = open_ranker(index, EmbeddingSettings())
    tree = parse_query("sea").tree
    assert tree is not None
    retrieved = run_stage(ranker, ranker.plan(tree), "sea")
    assert merge_shards([retrieved]) is retrieved
