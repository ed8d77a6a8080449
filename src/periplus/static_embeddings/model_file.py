"""The file of a static model: a vocabulary of word pieces and a vector for each.

    lengths      u8  (pieces)          length of each piece in bytes; pieces at the beginning of words come first,
                                       sorted, then those within words, sorted
    letters      u8                    the pieces one after the other: digits and lower-case letters of ASCII
    inner        i64 (1)               number of the first piece within words
    run_start    u32 (runs)            code points from which on a kind holds, ascending from 0
    run_kind     u8  (runs)            what code points are, see `kernels.word_pieces`
    expanded     i32 (characters)      code points that stand for several symbols, ascending
    expanded_end i32 (characters)      where the symbols of each end
    expansions   u8                    these symbols
    vectors      i8  (pieces, width)
    scales       u16 (pieces)          what one unit of a row is worth, the weight of the piece included,
    scale_unit   f32 (1)               in these units

The notes are its card: what it was trained from, by which teacher, with which seeds.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.hashing import fingerprint
from periplus.static_embeddings.kernels import word_pieces

__all__ = ["MODEL_PATH", "ModelArrays", "read_model", "write_model"]

MODEL_PATH: Final = Path(__file__).parent / "english.arrays"
"""The model that lies in the package."""
_KIND: Final = "static-model"
_FORMAT: Final = 1
_TYPES: Final = {
    "lengths": ("|u1", 1),
    "letters": ("|u1", 1),
    "inner": ("<i8", 1),
    "run_start": ("<u4", 1),
    "run_kind": ("|u1", 1),
    "expanded": ("<i4", 1),
    "expanded_end": ("<i4", 1),
    "expansions": ("|u1", 1),
    "vectors": ("|i1", 2),
    "scales": ("<u2", 1),
    "scale_unit": ("<f4", 1),
}
"""The type and the number of dimensions of each array."""
_MAX_WIDTH: Final = 1_024
_MAX_SCALE: Final = 1e6
_SCALE_STEPS: Final = 65_535
_SYMBOLS: Final = np.frombuffer(b"0123456789abcdefghijklmnopqrstuvwxyz", np.uint8)


class ModelArrays(NamedTuple):
    """A model, read and validated."""

    table: word_pieces.PieceTable
    card: dict[str, Any]
    """What it was trained from, and how."""
    name: str
    """Identifies its contents: vectors of different models are not comparable."""


def write_model(
    path: Path,
    pieces: Mapping[str, int],
    vectors: npt.NDArray[np.int8],
    scales: npt.NDArray[np.float32],
    code_points: tuple[npt.NDArray[np.uint8], dict[int, bytes]],
    card: Mapping[str, Any],
) -> ModelArrays:
    """Write a model and read it back.

    pieces: the row of each piece in `vectors` and `scales`; one within words begins with '##'. code_points: what
    `tabulate_code_points` returns.
    """
    inner = sorted(piece for piece in pieces if piece.startswith("##"))
    ordered = sorted(piece for piece in pieces if not piece.startswith("##"))
    rows = np.array([pieces[piece] for piece in ordered + inner], np.int64)
    names = [*ordered, *(piece[2:] for piece in inner)]
    unit = float(scales.max()) / _SCALE_STEPS
    kinds, expansions = code_points
    starts = np.flatnonzero(np.concatenate(([True], kinds[1:] != kinds[:-1])))
    codes = sorted(expansions)
    arrays: dict[str, npt.NDArray[Any]] = {
        "lengths": np.array([len(name) for name in names], np.uint8),
        "letters": np.frombuffer("".join(names).encode("ascii"), np.uint8),
        "inner": np.array([len(ordered)], np.int64),
        "run_start": starts.astype(np.uint32),
        "run_kind": kinds[starts],
        "expanded": np.array(codes, np.int32),
        "expanded_end": np.cumsum([len(expansions[code]) for code in codes], dtype=np.int32),
        "expansions": np.frombuffer(b"".join(expansions[code] for code in codes), np.uint8),
        "vectors": vectors[rows],
        "scales": np.rint(scales[rows] / unit).astype(np.uint16),
        "scale_unit": np.array([unit], np.float32),
    }
    write_arrays(path, _KIND, arrays, card, format=_FORMAT)
    return read_model(path)


def read_model(path: Path = MODEL_PATH) -> ModelArrays:
    """Open a model, memory-mapped; raise `CorruptFile` if it is damaged or its arrays do not fit together."""
    file = ArrayFile(path, _KIND, format=_FORMAT)
    file.check()
    for name, (dtype, dimensions) in _TYPES.items():
        if file[name].dtype.str != dtype or file[name].ndim != dimensions:
            raise CorruptFile(f"{path} has an invalid array '{name}'.")
    scales = _read_scales(file)
    trie = _read_vocabulary(file)
    kinds, starts = _read_code_points(file)
    table = word_pieces.PieceTable(kinds, file["expanded"], starts, file["expansions"], *trie, file["vectors"], scales)
    for array in table:
        array.flags.writeable = False
    parts = (file[name] for name in ("vectors", "scales", "letters", "lengths", "run_kind"))
    marks = np.array([fingerprint(part.reshape(-1).view(np.uint8).data) for part in parts], np.uint64)
    return ModelArrays(table, file.notes, f"{fingerprint(marks.view(np.uint8).data):016x}")


def _require(file: ArrayFile, name: str, valid: bool) -> None:
    if not valid:
        raise CorruptFile(f"{file.path} has an invalid array '{name}'.")


def _read_scales(file: ArrayFile) -> npt.NDArray[np.float32]:
    """Return the scale of each row; raise `CorruptFile` unless there are as many as rows."""
    vectors, scales, unit, pieces = file["vectors"], file["scales"], file["scale_unit"], len(file["lengths"])
    _require(
        file, "vectors", len(vectors) == pieces and 0 < vectors.shape[1] <= _MAX_WIDTH and vectors.shape[1] % 8 == 0
    )
    _require(file, "scales", len(scales) == pieces)
    _require(file, "scale_unit", len(unit) == 1 and 0 <= float(unit[0]) < _MAX_SCALE)
    floats: npt.NDArray[np.float32] = scales.astype(np.float32) * unit[0]
    return floats


def _read_vocabulary(file: ArrayFile) -> word_pieces.PieceTrie:
    """Return the trie of the pieces, which must be sorted and distinct."""
    lengths, letters, inner = file["lengths"], file["letters"], file["inner"]
    valid = bool(len(lengths) and lengths.min() >= 1 and lengths.max() <= word_pieces.MAX_WORD)
    _require(file, "lengths", valid and int(lengths.sum(dtype=np.int64)) == len(letters))
    _require(file, "letters", bool(np.isin(letters, _SYMBOLS).all()))
    _require(file, "inner", len(inner) == 1 and 0 <= int(inner[0]) <= len(lengths))
    _require(file, "letters", word_pieces.is_sorted_vocabulary(letters, lengths, int(inner[0])))
    return word_pieces.PieceTrie(*word_pieces.build_trie(letters, lengths, int(inner[0])))


def _read_code_points(file: ArrayFile) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    """Return the kind of each code point, and where the symbols of expanded ones begin, with the end of the last."""
    start, run_kind = file["run_start"].astype(np.int64), file["run_kind"]
    ascending = len(start) > 0 and int(start[0]) == 0 and bool((np.diff(start) > 0).all())
    _require(file, "run_start", ascending and int(start[-1]) < word_pieces.TABLE_SIZE)
    allowed = np.append(_SYMBOLS, np.arange(word_pieces.EXPANDED + 1, dtype=np.uint8))
    _require(file, "run_kind", len(run_kind) == len(start) and bool(np.isin(run_kind, allowed).all()))
    kinds = np.repeat(run_kind, np.diff(np.append(start, word_pieces.TABLE_SIZE)))
    expanded, ends, symbols = file["expanded"], file["expanded_end"], file["expansions"]
    _require(file, "expanded", bool((np.diff(expanded) > 0).all()))
    starts = np.concatenate((np.zeros(1, np.int32), ends))
    valid = len(ends) == len(expanded) and bool((np.diff(starts) > 0).all()) and int(starts[-1]) == len(symbols)
    _require(file, "expanded_end", valid)
    _require(file, "expansions", bool((np.isin(symbols, allowed) & (symbols != word_pieces.EXPANDED)).all()))
    return kinds, starts
