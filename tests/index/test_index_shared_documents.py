"""How many documents have two terms, compared with the documents of each."""

import random
from pathlib import Path

import pytest

from index.made_pages import random_visits
from periplus.index import Index, build_index
from periplus.index.kernels.postings_format import BITSET, BLOCKED, SPARSE
from periplus.index.kernels.postings_scan import read_documents
from periplus.settings import IndexSettings

TERMS = (b"sea", b"chart", b"ship", b"fog", b"bell", b"rope", b"test", b"absent")


@pytest.mark.parametrize("count", [3, 700])
def test_shared_documents_are_those_that_both_terms_have(tmp_path: Path, count: int) -> None:
    build_index(random_visits(2, count), tmp_path, IndexSettings())
    index, encodings = Index.open(tmp_path), set()
    segment, documents = index.segments[0], {}
    for term in TERMS:
        entry = segment.find_term(term)
        documents[term] = set(read_documents(segment.postings, entry).tolist()) if entry else set()
        encodings |= {entry.encoding} if entry else set()
    for term in TERMS:
        others = random.Random(count).sample(TERMS, 5)
        assert index.count_together(term, others) == [len(documents[term] & documents[other]) for other in others]
    assert index.count_together(b"sea", []) == []
    assert encodings <= {SPARSE, BLOCKED, BITSET}
    assert count < 700 or BITSET in encodings
