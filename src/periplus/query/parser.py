"""Any string to a tree, by recursive descent.

    query    = sequence { "OR" sequence }
    sequence = { [ "+" | "-" | "NOT" ] item }
    item     = "(" query ")" | '"' words '"' | "site:" host [ path ] | word

It never fails: unbalanced quotes and parentheses close themselves, operators without operands are left out,
unknown prefixes are words. Plain words of the outermost sequence are a `Bag`; elsewhere each must be there.
"""

import re
from typing import Final, NamedTuple

from periplus.query.tree import All, Any, Bag, Everything, Node, Phrase, Site, Without, Word
from periplus.text import split_text

__all__ = ["Parsed", "parse"]

_LONGEST: Final = 20_000
_DEEPEST: Final = 64
_PIECE: Final = re.compile(r'"(?P<phrase>[^"]*)"?|(?P<sign>[-+](?=["(]))|(?P<paren>[()])|(?P<word>[^\s"()]+)')
_QUOTES: Final = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")
_SITE: Final = re.compile(r"site:(?:https?://)?(?P<host>[^/\s:]+)(?::\d+)?(?P<path>/\S*)?", re.IGNORECASE)


class Parsed(NamedTuple):
    """A query as understood."""

    tree: Node | None
    """None when there is nothing to look for."""
    notes: tuple[str, ...]


class _Piece(NamedTuple):
    kind: str
    text: str


def parse(text: str) -> Parsed:
    """Understand a query; any string is one."""
    notes: list[str] = []
    if len(text) > _LONGEST:
        text = text[:_LONGEST]
        notes.append("The query is very long; only its beginning was used.")
    parser = _Parser(_pieces(text), notes)
    parts = parser.query()
    return Parsed(parts, tuple(notes))


def _pieces(text: str) -> list[_Piece]:
    clean = _CONTROL.sub(" ", text.translate(_QUOTES))
    pieces = []
    for match in _PIECE.finditer(clean):
        kind = match.lastgroup or "phrase"
        pieces.append(_Piece(kind, match[kind] or ""))
    return pieces


class _Sequence:
    """The items of one sequence, sorted by what is asked of them."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.required: list[Node] = []
        self.barred: list[Node] = []

    def node(self, *, outermost: bool) -> Node | None:
        """Join the items."""
        parts = list(self.required)
        if self.words and outermost:
            parts.append(Bag(tuple(self.words)))
        else:
            parts += [Word(word) for word in self.words]
        if not parts and not self.barred:
            return None
        part: Node = Everything() if not parts else parts[0] if len(parts) == 1 else All(tuple(parts))
        return Without(part, _any(self.barred)) if self.barred else part


def _any(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else Any(tuple(parts))


class _Parser:
    def __init__(self, pieces: list[_Piece], notes: list[str]) -> None:
        self._pieces = pieces
        self._at = 0
        self._notes = notes

    def query(self, depth: int = 0) -> Node | None:
        """Read sequences parted by OR, up to a closing parenthesis or the end."""
        sequences = [self._sequence(depth)]
        while self._at < len(self._pieces) and self._pieces[self._at] in (_Piece("word", "OR"), _Piece("word", "|")):
            self._at += 1
            sequences.append(self._sequence(depth))
        outermost = depth == 0 and len(sequences) == 1
        parts = [node for sequence in sequences if (node := sequence.node(outermost=outermost))]
        return _any(parts) if parts else None

    def _sequence(self, depth: int) -> _Sequence:
        sequence = _Sequence()
        sign = ""
        while self._at < len(self._pieces):
            piece = self._pieces[self._at]
            if piece.kind == "word" and piece.text in ("OR", "|"):
                break
            if piece == _Piece("paren", ")"):
                if depth > 0:
                    break
                self._at += 1
                continue
            self._at += 1
            if piece.kind == "sign":
                sign = piece.text
            elif piece == _Piece("word", "NOT"):
                sign = "-"
            elif piece != _Piece("word", "AND"):
                self._item(piece, sign, sequence, depth)
                sign = ""
        return sequence

    def _item(self, piece: _Piece, sign: str, sequence: _Sequence, depth: int) -> None:
        """Read one item into the sequence."""
        if piece.kind == "paren":
            self._group(sign, sequence, depth)
            return
        text = piece.text
        if piece.kind == "word" and len(text) > 1 and text[0] in "+-" and text[1] not in "+-":
            sign, text = text[0], text[1:]
        node: Node | None = _site(text) if piece.kind == "word" else None
        words = () if node else tuple(split_text(text))
        if not node and not words:
            return
        if piece.kind == "phrase" and len(words) > 1:
            node = Phrase(words)
        if node is None and not sign and piece.kind == "word":
            sequence.words.extend(words)
            return
        node = node or (Word(words[0]) if len(words) == 1 else Phrase(words))
        (sequence.barred if sign == "-" else sequence.required).append(node)

    def _group(self, sign: str, sequence: _Sequence, depth: int) -> None:
        if depth >= _DEEPEST:
            self._notes.append("Parentheses nested too deeply were left out.")
            self._at = len(self._pieces)
            return
        node = self.query(depth + 1)
        self._at += 1  # the closing parenthesis, or past the end
        if node:
            (sequence.barred if sign == "-" else sequence.required).append(node)


def _site(text: str) -> Site | None:
    match = _SITE.fullmatch(text)
    if not match:
        return None
    return Site(match["host"].lower().removeprefix("*.").strip("."), match["path"] or "")
