"""Passages: the parts of a document that are embedded, each with the title before it."""

from typing import Final

from periplus.hashing import fingerprint
from periplus.settings import EmbeddingSettings

__all__ = ["cut_passages", "source_fingerprint", "truncate_source"]

_MAX_TITLE_PIECES: Final = 24
"""Maximum number of word pieces of the title before each passage."""
_CHARS_PER_PIECE: Final = 8
"""Upper bound of the average length of a word piece; text beyond it is not read."""
_SPECIAL_TOKENS: Final = 2
_MAX_TITLE_CHARS: Final = 300


def truncate_source(title: str, text: bytes, settings: EmbeddingSettings) -> tuple[str, str]:
    """Return as much of title and text as passages can be made from."""
    size = settings.passage_tokens * settings.passages * _CHARS_PER_PIECE
    return title[:_MAX_TITLE_CHARS], text[:size].decode("utf-8", "ignore")


def source_fingerprint(title: str, text: str, recipe: str) -> int:
    """Return a fingerprint of what is embedded, and how; never 0."""
    return fingerprint(f"{recipe}\0{title}\0{text}".encode("utf-8", "replace")) or 1


def cut_passages(title: list[int], text: list[int], settings: EmbeddingSettings) -> list[list[int]]:
    """Return a text's word pieces as overlapping passages, the title before each; an empty text yields one passage."""
    head = title[: min(_MAX_TITLE_PIECES, settings.passage_tokens // 4)]
    size = settings.passage_tokens - _SPECIAL_TOKENS - len(head)
    step = max(1, size - min(settings.overlap, size // 2))
    count = min(settings.passages, max(1, -(-(len(text) - (size - step)) // step)))
    return [[*head, *text[at * step : at * step + size]] for at in range(count)]
