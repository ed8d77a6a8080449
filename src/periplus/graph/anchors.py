"""What links say about the pages they lead to: distinct texts, the weightiest first, the empty phrases left out."""

import re
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["AnchorTexts", "Texts", "choose_texts", "clean"]

MAX_TEXT: Final = 120
"""Longer link texts are cut here: they are teasers, not names."""

_SPACE: Final = re.compile(r"\s+")
_WORDLESS: Final = re.compile(r"[\W\d_]*")
_GENERIC: Final = frozenset(
    """
    about|about us|back|back to top|click|click here|comments|contact|contact us|continue|continue reading|details|
    download|edit|email|first|follow|full article|full story|go|go here|here|home|homepage|home page|image|index|info|
    last|learn more|link|links|login|log in|main|main page|menu|more|more info|more information|newer|next|next page|
    older|page|permalink|photo|post|prev|previous|previous page|print|privacy|privacy policy|read|read more|register|
    reply|search|see more|share|sign in|sign up|site|skip to content|skip to main content|source|start|terms|
    terms of service|this|this page|top|up|url|view|view all|view more|visit|web site|website|hier|mehr|weiter|zurück|
    startseite|ici|suivant|précédent|accueil|lire la suite|aquí|inicio|siguiente|anterior|leer más|más|qui|avanti
    """.replace("\n", "")
    .replace("    ", "")
    .split("|")
)


def clean(text: str) -> str:
    """Give a link's text on one line, cut to length; '' when it says nothing about its target."""
    line = _SPACE.sub(" ", text[: 4 * MAX_TEXT]).strip()[:MAX_TEXT].rstrip()
    bare = line.strip(" .,:;!?»«›‹→←>…-–|[]()").casefold()
    if bare in _GENERIC or _WORDLESS.fullmatch(bare) or bare.startswith(("http://", "https://", "www.")):
        return ""
    return line.encode("utf-8", "replace").decode("utf-8")


class Texts:
    """Distinct texts by number. Case does not make a text another one; the first form seen is kept."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._blob = bytearray()
        self._ends: list[int] = [0]
        self._lengths: list[int] = []

    def number(self, text: str) -> int:
        """Give the number of a clean text; -1 for ''."""
        if not text:
            return -1
        folded = text.casefold()
        found = self._numbers.get(folded)
        if found is None:
            found = self._numbers[folded] = len(self._numbers)
            self._blob += text.encode("utf-8") + b"\n"
            self._ends.append(len(self._blob))
            self._lengths.append(len(text))
        return found

    def lengths(self) -> npt.NDArray[np.int64]:
        """Give the characters of each text."""
        return np.array(self._lengths, np.int64)

    def join(self, numbers: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """Give the bytes of these texts one after the other, a newline after each, and the length of each."""
        ends = np.array(self._ends, np.int64)
        sizes = np.diff(ends)[numbers]
        # The place of every byte to take: the start of its text, plus its number within the text.
        within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        blob = np.frombuffer(bytes(self._blob), np.uint8)
        return blob[np.repeat(ends[numbers], sizes) + within], sizes


class AnchorTexts(NamedTuple):
    """The texts of node `v` are the UTF-8 bytes `starts[v]` up to `starts[v + 1]`, a newline after each."""

    starts: npt.NDArray[np.int64]
    blob: npt.NDArray[np.uint8]


def choose_texts(
    targets: npt.NDArray[np.int32],
    numbers: npt.NDArray[np.int32],
    weights: npt.NDArray[np.float32],
    texts: Texts,
    nodes: int,
    most: int,
) -> AnchorTexts:
    """Take the weightiest texts of each node, as many as fit in `most` characters."""
    said = (numbers >= 0) & (weights > 0)
    pairs, inverse = np.unique(targets[said].astype(np.int64) << 32 | numbers[said], return_inverse=True)
    sums = np.bincount(inverse.reshape(-1), weights[said], len(pairs))
    node, number = pairs >> 32, pairs & 0xFFFFFFFF
    order = np.lexsort((number, -sums, node))
    node, number = node[order], number[order]
    taken = texts.lengths()[number] + 1
    running = np.cumsum(taken)
    before = np.concatenate((np.zeros(1, np.int64), running))[np.searchsorted(node, node)]
    fits = running - before - 1 <= most
    blob, sizes = texts.join(number[fits])
    starts = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(node[fits], sizes, nodes).astype(np.int64), out=starts[1:])
    return AnchorTexts(starts, blob)
