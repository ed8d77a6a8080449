"""The dictionary of a segment in pieces: put together it is the same, and what is not a piece of it is refused."""

from typing import Any

import numpy as np
import pytest

from index.made_pages import random_visits
from periplus.errors import CorruptFile
from periplus.index import DictionaryAssembler, DictionaryPiece, Index, SegmentDictionary, build_index, cut_piece
from periplus.index import read_dictionary as read_whole
from periplus.search import decode_record, encode_record
from periplus.settings import IndexSettings


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> SegmentDictionary:
    folder = tmp_path_factory.mktemp("dictionary")
    build_index(random_visits(3, 80), folder, IndexSettings())
    return read_whole(Index.open(folder).segments[0])


@pytest.mark.parametrize("size", [997, 4_096, 1 << 30])
def test_pieces_put_together_are_the_dictionary(dictionary: SegmentDictionary, size: int) -> None:
    assembler = DictionaryAssembler(size)
    while not assembler.is_complete:
        piece = decode_record(encode_record(cut_piece(dictionary, assembler.received, size)), DictionaryPiece)
        assert len(piece.data) <= size
        assembler.add(piece)
    for own, part in zip(dictionary, assembler.dictionary(), strict=True):
        if isinstance(own, np.ndarray):
            assert isinstance(part, np.ndarray)
            assert own.dtype == part.dtype
            assert part.flags.aligned
            assert own.tobytes() == part.tobytes()
        else:
            assert own == part


def test_what_is_not_the_next_piece_is_refused(dictionary: SegmentDictionary) -> None:
    first, second = cut_piece(dictionary, 0, 1_000), cut_piece(dictionary, 1_000, 1_000)
    wrong_first = [
        first._replace(lengths=first.lengths[:-1]),
        first._replace(lengths=(-1, *first.lengths[1:])),
        first._replace(lengths=(1 << 40, *first.lengths[1:])),
        first._replace(start=5),
        first._replace(data=first.data[:-1]),
        first._replace(data=np.zeros((10, 100), np.uint8)),
    ]
    for piece in wrong_first:
        with pytest.raises(CorruptFile):
            DictionaryAssembler(1_000).add(piece)
    for piece in (
        first,
        second._replace(name="other"),
        second._replace(data=second.data[:0]),
        second._replace(terms=1),
    ):
        assembler = DictionaryAssembler(1_000)
        assembler.add(first)
        with pytest.raises(CorruptFile):
            assembler.add(piece)
        assert assembler.received == 1_000


def test_a_segment_without_terms_is_one_empty_piece(dictionary: SegmentDictionary) -> None:
    arrays: dict[str, Any] = {
        name: value[:0] for name, value in dictionary._asdict().items() if isinstance(value, np.ndarray)
    }
    empty = dictionary._replace(**arrays)
    assembler = DictionaryAssembler()
    assembler.add(cut_piece(empty, 0))
    assert assembler.is_complete
    assert assembler.dictionary().name == dictionary.name
