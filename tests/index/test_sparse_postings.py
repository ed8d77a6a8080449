"""Postings of sparse terms: written as by definition, read as they were written, and safe on any bytes."""

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from naive import sparse_postings as naive
from naive.dense_blocks import BODY_ONLY, ESCAPED, Posting
from periplus.index.kernels.postings_format import BLOCK, SPARSE, TermPostings
from periplus.index.kernels.postings_reader import PostingsReader, make_tiny_postings
from periplus.index.kernels.postings_scan import LOOKUP_FIELDS, look_up_documents, read_postings
from periplus.index.kernels.term_dictionary import TermEntry
from periplus.index.sparse_postings.kernels import is_valid_sparse, write_sparse

DOCUMENTS = st.integers(0, 6).flatmap(lambda digits: st.sets(st.integers(0, 10**digits), min_size=1, max_size=40))


@st.composite
def terms(draw: Any) -> list[Posting]:
    """Make the postings of a term."""
    postings = []
    for document in sorted(draw(DOCUMENTS)):
        code = draw(st.integers(0, 3))
        mask = draw(st.sampled_from([BODY_ONLY, 1, 127])) if code == ESCAPED else BODY_ONLY
        postings.append(Posting(document, code, mask, draw(st.integers(1, 255)) if code == ESCAPED else 0))
    return postings


def blocks_of(postings: list[Posting]) -> int:
    """Return how many blocks a segment has at least that has these documents."""
    return postings[-1].offset // BLOCK + 1


def written(postings: list[Posting], blocks: int) -> bytes:
    """Return the bytes that are written for some postings."""
    columns, out = np.array(postings, np.int64).T, np.full(16 * len(postings), 0xFF, np.uint8)
    rows = TermPostings(
        columns[0].astype(np.int32),
        *(columns[n].astype(np.uint8) for n in (1, 2, 3)),
        np.zeros(len(postings) + 1, np.int64),
        *(np.zeros(1, kind) for kind in (np.int64, np.int32, np.uint8, np.int8, np.uint8)),
    )
    return out[: write_sparse(rows, len(postings), blocks, out, 0)].tobytes()


def segment_of(raw: bytes, blocks: int) -> PostingsReader:
    """Return the postings of a segment whose stream has some bytes, behind which a few more can be read."""
    impacts = np.resize(np.arange(1, 256, dtype=np.uint8), blocks * ESCAPED * BLOCK)
    stream = np.frombuffer(raw + bytes(8), np.uint8)[: len(raw)]
    return make_tiny_postings()._replace(stream=stream, plain_impact=impacts)


@given(terms(), st.integers(0, 500))
@example([Posting(1 << 20, 3, 5, 9)], 0)
@example([Posting(0, 0), Posting(1, 0), Posting(200_000, 2)], 0)
@example([Posting(n, 0) for n in range(30)] + [Posting(10**6, 3, 32, 255)], 0)
def test_postings_are_written_as_by_definition(postings: list[Posting], more: int) -> None:
    blocks = blocks_of(postings) + more
    assert written(postings, blocks) == naive.write(postings, blocks)


@given(terms(), st.integers(0, 500), st.binary(max_size=9))
def test_postings_are_read_as_they_were_written(postings: list[Posting], more: int, after: bytes) -> None:
    blocks, count = blocks_of(postings) + more, len(postings)
    raw = naive.write(postings, blocks)
    lists = segment_of(raw + after, blocks)
    assert is_valid_sparse(lists.stream, 0, len(raw), count, blocks * BLOCK)
    if more == 0:
        assert is_valid_sparse(lists.stream, 0, len(raw), count, postings[-1].offset + 1)
        assert not is_valid_sparse(lists.stream, 0, len(raw), count, postings[-1].offset)
    entry = TermEntry(count, 0, len(raw), 0, SPARSE, 0, 0, -1)
    documents, columns = np.zeros(count, np.int32), [np.zeros(count, np.uint8) for _ in range(3)]
    assert read_postings(lists, entry, documents, *columns) == count
    for n, (document, code, mask, impact) in enumerate(postings):
        block, offset = divmod(document, BLOCK)
        plain = 0 if code == ESCAPED else lists.plain_impact[(block * ESCAPED + code) * BLOCK + offset]
        assert (documents[n], *(column[n] for column in columns)) == (document, code, mask, impact or plain)
    wanted = np.array([posting.offset for posting in postings[::2]], np.int32)
    found = look_up_documents(lists._replace(positions=np.zeros(8, np.uint8)), entry, wanted)
    assert found[:, LOOKUP_FIELDS].tolist() == [posting.mask for posting in postings[::2]]


@given(st.binary(min_size=1, max_size=60), st.integers(1, 255), st.integers(1, 10_000))
@example(b"\xff" * 20, 1, 100)
@example(b"\xff" * 7, 1, 1 << 20)
def test_other_bytes_are_refused_or_postings(raw: bytes, frequency: int, documents: int) -> None:
    blocks = -(-documents // BLOCK)
    lists = segment_of(raw, blocks)
    if frequency > documents or not is_valid_sparse(lists.stream, 0, len(raw), frequency, documents):
        return
    entry = TermEntry(frequency, 0, len(raw), 0, SPARSE, 0, 0, -1)
    numbers, columns = np.zeros(frequency, np.int32), [np.zeros(frequency, np.uint8) for _ in range(3)]
    assert read_postings(lists, entry, numbers, *columns) == frequency
    assert (np.diff(numbers) > 0).all()
    assert numbers[0] >= 0
    assert numbers[-1] < documents
    assert columns[1].all()
    assert columns[2].all()
