"""Bodies of documents, compared with cutting them out of their blocks one by one."""

import os
from pathlib import Path

import numpy as np
import pytest

from index.made_pages import random_visits
from periplus.errors import CorruptFile
from periplus.index import Index, Segment, build_index
from periplus.settings import IndexSettings
from periplus.store import decompress


def naive_text(segment: Segment, document: int) -> bytes:
    file = segment.files["text"]
    first, start, ends = (file[name].tolist() for name in ("first", "start", "end"))
    block = max(n for n in range(len(first) - 1) if first[n] <= document)
    raw = decompress(file["text"][start[block] : start[block + 1]].tobytes(), 1 << 20)
    return raw[0 if document == first[block] else ends[document - 1] : ends[document]]


def test_texts_are_those_of_each_document(tmp_path: Path) -> None:
    build_index(random_visits(4, 200), tmp_path, IndexSettings())
    segment = Index.open(tmp_path).segments[0]
    assert len(segment.files["text"]["first"]) > 3  # several blocks
    expected = [naive_text(segment, document) for document in range(200)]
    for documents in ([], [0], [3, 4, 5, 120, 199], list(range(200))):
        assert segment.texts(documents) == [expected[document] for document in documents]
    assert [segment.text(document) for document in range(200)] == expected
    assert [segment.stored_texts.length(document) for document in range(200)] == [len(text) for text in expected]


def test_a_damaged_block_is_named(tmp_path: Path) -> None:
    build_index(random_visits(4, 200), tmp_path, IndexSettings())
    file = next(tmp_path.glob("seg-*/text.arrays"))
    raw = bytearray(file.read_bytes())
    segment = Index.open(tmp_path).segments[0]
    at = raw.find(segment.files["text"]["text"][:40].tobytes())
    raw[at + 20] ^= 255
    file.write_bytes(raw)
    damaged = Index.open(tmp_path, verify=False).segments[0]
    with pytest.raises(CorruptFile, match="is damaged in block 0"):
        damaged.text(0)


def test_a_text_that_was_cut_off_after_opening_is_an_error(tmp_path: Path) -> None:
    build_index(random_visits(4, 200), tmp_path, IndexSettings())
    segment = Index.open(tmp_path).segments[0]
    file = segment.files["text"]
    begin = file.path.read_bytes().index(file["text"].tobytes())
    os.truncate(file.path, begin + int(file["start"][-2]) + 9)  # within the last block
    assert segment.text(0)
    with pytest.raises(CorruptFile, match=r"text\.arrays is cut off in 'text'"):
        segment.text(199)


def test_titles_are_those_of_each_document(tmp_path: Path) -> None:
    build_index(random_visits(4, 200), tmp_path, IndexSettings())
    segment = Index.open(tmp_path).segments[0]
    start, blob = segment.table("title")
    titles = [blob[start[n] : start[n + 1]].tobytes().decode() for n in range(200)]
    assert any(titles)
    assert [segment.string("title", document) for document in range(200)] == titles
    assert segment.strings_of("title", np.arange(200)) == titles
