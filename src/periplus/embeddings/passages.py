"""What of a document is embedded: passages of its text, each with the title before it."""

from typing import Final

from periplus.hashing import fingerprint
from periplus.settings import EmbeddingSettings

__all__ = ["cut_passages", "print_of", "source"]

_TITLE: Final = 24
"""Most word pieces of the title that go before each passage."""
_CHARS: Final = 8
"""Characters of a word piece, at most, on average: more text than this is not even read."""
_MARKS: Final = 2
_TITLE_CHARS: Final = 300


def source(title: str, text: bytes, settings: EmbeddingSettings) -> tuple[str, str]:
    """Give as much of title and text as passages can be made of."""
    most = settings.passage_tokens * settings.passages * _CHARS
    return title[:_TITLE_CHARS], text[:most].decode("utf-8", "ignore")


def print_of(title: str, text: str, recipe: str) -> int:
    """Fingerprint what is embedded and how; never 0."""
    return fingerprint(f"{recipe}\0{title}\0{text}".encode("utf-8", "replace")) or 1


def cut_passages(title: list[int], text: list[int], settings: EmbeddingSettings) -> list[list[int]]:
    """Cut a text's word pieces into overlapping passages behind the title's; a text of nothing gives one, too."""
    head = title[: min(_TITLE, settings.passage_tokens // 4)]
    room = settings.passage_tokens - _MARKS - len(head)
    step = max(1, room - min(settings.overlap, room // 2))
    count = min(settings.passages, max(1, -(-(len(text) - (room - step)) // step)))
    return [[*head, *text[at * step : at * step + room]] for at in range(count)]
