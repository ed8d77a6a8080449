"""Documents that a query names, looked up in the name tables of all segments.

Queries are compared with names letter by letter, spaces and punctuation aside, and as stems. Where no document has the
name as typed, words that hardly any document has are replaced by similar ones of the spelling dictionary.
"""

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.index.collection.collection_view import NameEntry
from periplus.index.vocabulary.kernels.name_keys import hash_letters
from periplus.index.vocabulary.name_file import NAMES, name_entries
from periplus.text import is_stop_word, split_text, terms_of

if TYPE_CHECKING:
    from periplus.index.collection.collection_view import CollectionView
    from periplus.index.index_reader import Index
    from periplus.index.segment import Segment
    from periplus.index.vocabulary.spelling_dictionary import SpellingCandidate

__all__ = [
    "MAX_ROWS",
    "NAME_ALIAS",
    "NAME_BASE",
    "NAME_PART",
    "NAME_STEM",
    "NAME_TITLE",
    "NamedDocument",
    "discount_titles",
    "find_named_documents",
    "keys_of_names",
    "name_key",
    "segment_names",
    "select_named",
]

NAME_TITLE, NAME_BASE, NAME_STEM, NAME_ALIAS, NAME_PART = range(5)
"""What kind of name it is, the surest first."""

_APART: Final = re.compile(rb"[0-9']")
"""What names may have that is not just written as one."""
_MAX_WORDS: Final = 8
_MAX_DOCUMENTS: Final = 8
"""Documents of the whole index that are used."""
MAX_ROWS: Final = 32
"""Entries of one name in a segment that are read."""
_RARE: Final = 10
_RARE_SHARE: Final = 1e-4
"""Words that so many documents have, or this share of them, may be misspelt."""
_MIN_LETTERS: Final = 4
_MAX_MISSPELT: Final = 2
"""Words of a query that are replaced, one at a time."""
_TIMES_MENTIONED: Final = 3
"""A page is meant by a misspelt name if so many times as many documents mention it as have the word as typed."""
_SURENESS: Final = {
    NAME_TITLE: 1.0,
    NAME_BASE: 0.9,
    NAME_STEM: 0.7,
    NAME_ALIAS: 0.85,
    NAME_PART: 0.7,
}
"""By kind of name: what being meant by it with certainty counts."""
_IN_TITLE: Final = 0.4
"""What a name counts where the title begins with the words as typed: other features of the title count too."""
_HALF: Final = 2.0
"""Mentions at which a name counts half ..."""
_UNMENTIONED: Final = 0.05
"""... and what it counts without any: the title of a page that nobody mentions may be a mere heading."""
_UNCERTAIN: Final = (NAME_STEM, NAME_ALIAS)
"""Kinds that count less for a word that more documents have than mention the page."""
_COST_SCALE: Final = 35.0
"""Edits of this cost make a misspelling e times less likely."""
_MISSPELT_WEIGHT: Final = 0.8


class NamedDocument(NamedTuple):
    """A document that a query names."""

    segment: int
    document: int
    weight: float
    """How surely, 0 to 1."""


def name_key(parts: Sequence[bytes]) -> int:
    """Return the name key of words or stems, as `kernels.name_words.hash_names` computes it."""
    return int(keys_of_names([parts])[0])


def keys_of_names(names: Sequence[Sequence[bytes]]) -> npt.NDArray[np.uint64]:
    """Return the name keys of several names, each given by its words or stems."""
    return _hash_names([_join_letters(parts) for parts in names])


def _hash_names(letters: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """Return the keys of names, each given by its letters."""
    start = np.array([*itertools.accumulate(map(len, letters), initial=0)], np.int64)
    keys: npt.NDArray[np.uint64] = hash_letters(np.frombuffer(b"".join(letters) or b"\0", np.uint8), start)
    return keys


def _join_letters(parts: Sequence[bytes]) -> bytes:
    """Return the letters of a name, written as one; numbers stay apart."""
    letters = b"".join(parts)
    if not _APART.search(letters):
        return letters
    joined = bytearray()
    for part in parts:
        if joined and joined[-1:].isdigit() and part[:1].isdigit():
            joined += b"|"
        joined += part
        if b"'" in part:
            joined = joined.replace(b"'", b"")
    return bytes(joined)


def find_named_documents(index: "Index", words: Sequence[str], *, verbatim: bool = False) -> tuple[NamedDocument, ...]:
    """Return the documents that folded words name, the surest first; verbatim: words are not taken for misspelt."""
    return discount_titles(index, select_named(index, words, verbatim=verbatim), words)


def select_named(
    collection: "CollectionView", words: Sequence[str], *, verbatim: bool = False
) -> tuple[NamedDocument, ...]:
    """Return the documents that folded words name, by their names alone; `discount_titles` reads their titles."""
    if not words or len(words) > _MAX_WORDS:
        return ()
    language = max(collection.languages, key=collection.languages.__getitem__, default="") or "en"
    stems = terms_of(words, language)
    frequency = collection.document_frequency(stems[0]) if len(words) == 1 else 0
    named = _look_up(collection, _keys(words, stems), frequency)
    if not named and len(words) > 1 and is_stop_word(words[0], language):
        named = _look_up(collection, _keys(words[1:], stems[1:]), frequency)
    if not named and not verbatim:
        named = _look_up_misspelt(collection, words, stems, language)
    best: dict[tuple[int, int], float] = {}
    for document, _ in named:
        place = (document.segment, document.document)
        best[place] = max(best.get(place, 0.0), document.weight)
    ordered = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:_MAX_DOCUMENTS]
    return tuple(NamedDocument(segment, document, weight) for (segment, document), weight in ordered)


def discount_titles(index: "Index", named: Sequence[NamedDocument], words: Sequence[str]) -> tuple[NamedDocument, ...]:
    """Return named documents; those count less whose titles begin with the words as they were typed."""
    return tuple(
        document._replace(weight=document.weight * _IN_TITLE) if _has_words(index, document, words) else document
        for document in named
    )


def _has_words(index: "Index", named: NamedDocument, words: Sequence[str]) -> bool:
    """Return whether a title begins with words as they were typed."""
    title = index.segments[named.segment].string("title", named.document)
    return split_text(title)[: len(words)] == list(words)


def segment_names(segment: "Segment", number: int, key: int) -> Iterator["NameEntry"]:
    """Yield the live documents of a segment, which has a number, that have the name with a key."""
    file = segment.files.get(NAMES)
    if file is None or not key:
        return
    for document, kind, weight in name_entries(file, key, MAX_ROWS):
        if segment.is_live[document]:
            yield NameEntry(number, document, kind, weight, int(file["mentions"][document]))


def _keys(words: Sequence[str], stems: Sequence[bytes]) -> list[int]:
    """Return the keys of words, as they are written and as stems."""
    return list(dict.fromkeys(keys_of_names([[word.encode("utf-8", "replace") for word in words], stems]).tolist()))


def _look_up(
    collection: "CollectionView", keys: Sequence[int], frequency: int, max_kind: int = NAME_PART
) -> list[tuple[NamedDocument, int]]:
    """Return the documents with a name, each with its mentions; frequency: of the word, where the name is one."""
    named = []
    for entry in itertools.chain.from_iterable(map(collection.names, keys)):
        if entry.kind <= max_kind:
            mentioned = max(_UNMENTIONED, entry.mentions / (entry.mentions + _HALF))
            weight = _SURENESS[entry.kind] * entry.weight / 255 * mentioned
            if entry.kind in _UNCERTAIN:
                weight *= min(1.0, (entry.mentions + 1) / max(1, frequency))
            named.append((NamedDocument(entry.segment, entry.document, weight), entry.mentions))
    return named


def _look_up_misspelt(
    collection: "CollectionView", words: Sequence[str], stems: Sequence[bytes], language: str
) -> list[tuple[NamedDocument, int]]:
    """Return the documents of titles that differ from some words in one that hardly any document has."""
    spelling = collection.spelling
    if not spelling.size:
        return []
    frequencies = spelling.document_frequencies(list(words))
    rare = max(_RARE, int(_RARE_SHARE * collection.documents))
    doubtful = [
        place
        for place, count in enumerate(frequencies)
        if count <= rare and words[place].isalpha() and len(words[place]) >= _MIN_LETTERS
    ]
    candidates: dict[tuple[int, int], float] = {}
    for place in doubtful[:_MAX_MISSPELT]:
        max_kind = NAME_STEM if frequencies[place] else NAME_PART
        for meant, keys in _similar_names(collection, words, stems, place, language):
            for named, mentions in _look_up(collection, keys, meant.documents, max_kind):
                if mentions >= _TIMES_MENTIONED * max(1, frequencies[place]):
                    worth = named.weight * mentions * math.exp(-meant.cost / _COST_SCALE)
                    key = (named.segment, named.document)
                    candidates[key] = max(candidates.get(key, 0.0), worth)
    total = sum(candidates.values())
    return [(NamedDocument(*key, _MISSPELT_WEIGHT * worth / total), 0) for key, worth in candidates.items()]


def _similar_names(
    collection: "CollectionView", words: Sequence[str], stems: Sequence[bytes], place: int, language: str
) -> Iterator[tuple["SpellingCandidate", list[int]]]:
    """Yield the words that may be meant by the one at a place, with the keys of the names that documents have so."""
    meanings, written, meant_stems = collection.spelling.find_written(words[place], language)
    if not meanings:
        return
    own = [word.encode("utf-8", "replace") for word in words]
    names = [*_replace_word(own, place, written), *_replace_word(stems, place, meant_stems)]
    # Most words are their own stems: names that are the same are looked for once.
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    keys = _hash_names(list(numbers))
    known = collection.known_names(keys)
    if not known.any():
        return
    has, every = known.tolist(), keys.tolist()
    for number, meant in enumerate(meanings):
        both = numbers[names[number]], numbers[names[number + len(meanings)]]
        if has[both[0]] or has[both[1]]:
            yield meant, list(dict.fromkeys([every[both[0]], every[both[1]]]))


def _replace_word(parts: Sequence[bytes], place: int, others: Sequence[bytes]) -> list[bytes]:
    """Return the letters of a name with each of some words in place of the one at a place."""
    before, after = parts[:place], parts[place + 1 :]
    if _APART.search(b"".join((*before, *after, *others))):
        return [_join_letters([*before, other, *after]) for other in others]
    first, last = b"".join(before), b"".join(after)
    return [first + other + last for other in others]
