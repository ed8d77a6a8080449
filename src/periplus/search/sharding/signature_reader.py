"""What near-duplicates among the candidates of all shards are recognised by."""

from collections.abc import Callable, Sequence
from typing import Final

from periplus.search.presentation.result_selection import MIN_SIMHASH_BYTES, ContentSignature
from periplus.search.sharding.candidate_columns import CandidateRows

__all__ = ["SignatureReader"]

_SIGNATURES: Final = 128
"""Candidates whose texts are asked for together, where selection comes to one that needs it."""


class SignatureReader:
    """Returns what near-duplicates of a row are recognised by; texts that have to be read for it are asked for.

    Texts too short for a simhash are near-duplicates only if they are equal. Most differ in length from all others that
    selection has come to: these need not be read. Instead of a fingerprint, their signatures have the first row with
    the same text.
    """

    def __init__(self, rows: CandidateRows, read: Callable[[Sequence[int]], dict[int, ContentSignature]]) -> None:
        """Read signatures of candidates; rows: what is known of them; read: asks the shards for texts of some."""
        self._read = read
        self._simhashes, self._lengths = rows["simhash"].tolist(), rows["length"].tolist()
        self._signatures: dict[int, ContentSignature] = {}
        self._short: dict[int, dict[int, int]] = {}
        """By length of the text, rows that selection has come to, each with the first that has its text."""

    def __call__(self, row: int) -> ContentSignature:
        """Return what near-duplicates of a row are recognised by."""
        length = self._lengths[row]
        if self._simhashes[row]:
            return ContentSignature(self._simhashes[row], length, 0)
        if length < MIN_SIMHASH_BYTES:
            return ContentSignature(0, length, 1 + self._first_with_text(row, length))
        if row not in self._signatures:
            long = (n for n in range(row, len(self._lengths)) if self._lengths[n] >= MIN_SIMHASH_BYTES)
            self._ask([n for n in long if not self._simhashes[n]])
        return self._signatures[row]

    def _ask(self, rows: Sequence[int]) -> None:
        self._signatures |= self._read([n for n in rows if n not in self._signatures][:_SIGNATURES])

    def _first_with_text(self, row: int, length: int) -> int:
        """Return the first row that has the text of a row; only those of the same length are read."""
        same = self._short.setdefault(length, {})
        if row in same:
            return same[row]
        if same and length:
            later = [n for n in range(row, len(self._lengths)) if self._lengths[n] == length]
            self._ask([*same, *later])
            own = self._signatures[row]  # without a length if its shard does not answer
            same[row] = next((first for n, first in same.items() if own.length and self._signatures[n] == own), row)
        else:
            same[row] = row
        return same[row]
