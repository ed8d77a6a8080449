"""Fields of terms in some documents, compared with looking each of them up."""

import random
from pathlib import Path

import numpy as np
import pytest

from index.made_pages import random_visits
from periplus.index import Index, build_index
from periplus.index.kernels.postings_format import BITSET, BLOCKED, SPARSE
from periplus.rank.kernels.field_lookup import look_up_fields
from periplus.settings import IndexSettings


@pytest.mark.parametrize("count", [3, 700])
def test_fields_are_those_of_each_document(tmp_path: Path, count: int) -> None:
    build_index(random_visits(2, count), tmp_path, IndexSettings())
    segment, chance, encodings = Index.open(tmp_path).segments[0], random.Random(count), set()
    for term in (b"sea", b"chart", b"ship", b"fog", b"bell", b"rope", b"test"):
        entry = segment.find_term(term)
        if entry is None:
            continue
        encodings.add(entry.encoding)
        chosen = sorted(chance.sample(range(segment.documents), min(90, segment.documents)))
        documents = np.array(chosen, np.int32)
        excluded = np.array([chance.random() < 0.3 for _ in chosen])
        fields = np.ones(len(chosen), np.int64)
        look_up_fields(segment.postings, entry, documents, excluded, fields)
        for document, out, mask in zip(chosen, excluded.tolist(), fields.tolist(), strict=True):
            assert mask == 1 | (0 if out else segment.positions(entry, document)[2])
    assert encodings <= {SPARSE, BLOCKED, BITSET}
    assert count < 700 or BITSET in encodings
