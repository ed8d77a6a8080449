"""Any string to a tree, by recursive descent.

    query    = sequence { "OR" sequence }
    sequence = { [ "+" | "-" | "NOT" ] item { near item } }
    near     = "NEAR" | "AROUND(" number ")"
    item     = "(" query ")" | [ place ":" ] '"' words '"' | [ place ":" ] word | word "*" | number ".." number | filter
    place    = "intitle" | "inheading" | "inurl" | "inanchor" | "intext"
    filter   = ( "site" | "lang" | "filetype" | "before" | "after" | "link" ) ":" value

It never fails: unbalanced quotes and parentheses close themselves, operators without operands are left out,
unknown prefixes are words. Plain words of the outermost sequence are a `BagOfWords`; elsewhere each must be there.
"""

import re
from datetime import date
from typing import Final, NamedTuple

from periplus.index import Field
from periplus.query.query_tree import (
    EVERYWHERE,
    And,
    AndNot,
    BagOfWords,
    ContentType,
    DateRange,
    Language,
    Link,
    MatchAll,
    Near,
    Node,
    NumberRange,
    Or,
    Phrase,
    Prefix,
    Site,
    Word,
)
from periplus.text import split_text

__all__ = ["ParsedQuery", "parse_query"]

_LONGEST: Final = 20_000
_DEEPEST: Final = 64
_PLACE: Final = r'(?:in(?:title|heading|url|anchor|text)|link):(?=")'
_PIECE: Final = re.compile(
    r'"(?P<phrase>[^"]*)"?|(?P<sign>[-+](?=["(]|'
    + _PLACE
    + r"))|(?P<near>(?:NEAR|AROUND\(\d{1,3}\))(?=\s))|(?P<paren>[()])|(?P<place>"
    + _PLACE
    + r')|(?P<word>[^\s"()]+)'
)
_PLACES: Final = {
    "intitle:": 1 << Field.TITLE,
    "inheading:": 1 << Field.HEADING,
    "inurl:": 1 << Field.URL,
    "inanchor:": 1 << Field.ANCHOR,
    "intext:": 1 << Field.BODY,
}
_LINK: Final = "link:"
_NEAR: Final = 10
"""How far apart words may be for NEAR."""
_LINKED: Final = -1
"""The place of what is no place, but an address in quotes: that of a link."""
_LONGEST_URL: Final = 2_000
_FAR: Final = 1 << 30
_RANGE: Final = re.compile(r"(\d{1,18})\.\.(\d{1,18})")
_FILTER: Final = re.compile(r"(lang|filetype|type|before|after):([\w./+-]+)", re.IGNORECASE)
_QUOTES: Final = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")
_SITE: Final = re.compile(r"site:(?:https?://)?(?P<host>[^/\s:]+)(?::\d+)?(?P<path>/\S*)?", re.IGNORECASE)


class ParsedQuery(NamedTuple):
    """A query as understood."""

    tree: Node | None
    """None when there is nothing to look for."""
    notes: tuple[str, ...]


class _Piece(NamedTuple):
    kind: str
    text: str


def parse_query(text: str) -> ParsedQuery:
    """Understand a query; any string is one."""
    notes: list[str] = []
    if len(text) > _LONGEST:
        text = text[:_LONGEST]
        notes.append("The query is very long; only its beginning was used.")
    parser = _Parser(_pieces(text), notes)
    parts = parser.query()
    return ParsedQuery(parts, tuple(notes))


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
            parts.append(BagOfWords(tuple(self.words)))
        else:
            parts += [Word(word) for word in self.words]
        if not parts and not self.barred:
            return None
        part: Node = MatchAll() if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))
        return AndNot(part, _any(self.barred)) if self.barred else part


def _any(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


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
        sign, place = "", EVERYWHERE
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
            elif piece.kind == "place":
                place = _PLACES.get(piece.text, _LINKED)
            elif piece == _Piece("word", "NOT"):
                sign = "-"
            elif piece.kind != "near" and piece != _Piece("word", "AND"):
                self._item(piece, sign, place, sequence, depth)
                sign, place = "", EVERYWHERE
        return sequence

    def _item(self, piece: _Piece, sign: str, place: int, sequence: _Sequence, depth: int) -> None:
        """Read one item into the sequence."""
        if piece.kind == "paren":
            self._group(sign, sequence, depth)
            return
        text = piece.text
        if piece.kind == "word" and len(text) > 1 and text[0] in "+-" and text[1] not in "+-":
            sign, text = text[0], text[1:]
        node: Node | None = self._near(piece, text)
        if node is None and piece.kind == "word":
            node = _special(text)
        elif place == _LINKED:
            node, place = _link(text), EVERYWHERE
        words = () if node else tuple(split_text(text))
        if not node and not words:
            return
        if node is None and not sign and place == EVERYWHERE and piece.kind == "word":
            sequence.words.extend(words)
            return
        node = node or (Word(words[0], place) if len(words) == 1 else Phrase(words, place))
        (sequence.barred if sign == "-" else sequence.required).append(node)

    def _near(self, piece: _Piece, text: str) -> Near | None:
        """Read the words that NEAR or AROUND(n) joins to this one, if there are any."""
        words = list(split_text(text))
        distance = 0
        at = self._at
        while piece.kind == "word" and words and at + 1 < len(self._pieces) and self._pieces[at].kind == "near":
            operator, other = self._pieces[at], self._pieces[at + 1]
            more = split_text(other.text) if other.kind == "word" else []
            if not more:
                break
            digits = operator.text.removeprefix("AROUND(").removesuffix(")")
            distance = max(distance, int(digits) if digits.isdigit() else _NEAR, 1)
            words += more
            at += 2
        if not distance:
            return None
        self._at = at
        return Near(tuple(words), distance)

    def _group(self, sign: str, sequence: _Sequence, depth: int) -> None:
        if depth >= _DEEPEST:
            self._notes.append("Parentheses nested too deeply were left out.")
            self._at = len(self._pieces)
            return
        node = self.query(depth + 1)
        self._at += 1  # the closing parenthesis, or past the end
        if not sign and (words := _only_words(node)):
            sequence.words.extend(words)  # An aside, as people write them, asks for no more than its words.
        elif node:
            (sequence.barred if sign == "-" else sequence.required).append(node)


def _only_words(node: Node | None) -> tuple[str, ...]:
    """Return the words of a group that contains nothing else."""
    parts = node.parts if isinstance(node, And) else (node,)
    words = tuple(part.word for part in parts if isinstance(part, Word) and part.fields == EVERYWHERE)
    return words if len(words) == len(parts) else ()


def _special(text: str) -> Node | None:
    """Read what a word may be besides a word: a site, another filter, a place, a prefix or a range."""
    if match := _SITE.fullmatch(text):
        return Site(match["host"].lower().removeprefix("*.").strip("."), match["path"] or "")
    if text[: len(_LINK)].lower() == _LINK:
        return _link(text[len(_LINK) :])
    if match := _FILTER.fullmatch(text):
        return _filter(match[1].lower(), match[2].lower())
    if match := _RANGE.fullmatch(text):
        low, high = int(match[1]), int(match[2])
        return NumberRange(min(low, high), max(low, high))
    head, colon, rest = text.partition(":")
    if colon and (place := _PLACES.get(head.lower() + colon)) and (words := tuple(split_text(rest))):
        return Word(words[0], place) if len(words) == 1 else Phrase(words, place)
    if text.endswith("*") and len(parts := split_text(text)) == 1:
        return Prefix(parts[0])
    return None


def _link(target: str) -> Link | None:
    """Read whom a page should link to; None if that is nobody."""
    return Link(target.strip()[:_LONGEST_URL]) if split_text(target) else None


def _filter(name: str, value: str) -> Node | None:
    if name == "lang":
        return Language(value[:2])
    if name in ("filetype", "type"):
        return ContentType(value.lstrip("."))
    day = _day(value)
    if day is None:
        return None
    return DateRange(-_FAR, day - 1) if name == "before" else DateRange(day, _FAR)


def _day(text: str) -> int | None:
    """Read a date: 2024, 2024-05 or 2024-05-31; give it in days since 1970."""
    parts = [*text.replace("/", "-").split("-"), "1", "1"][:3]
    try:
        return (date(*(int(part) for part in parts)) - date(1970, 1, 1)).days
    except (ValueError, TypeError, OverflowError):
        return None
