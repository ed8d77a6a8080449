"""Any string to a tree, by recursive descent.

    query    = sequence { "OR" sequence }
    sequence = { [ "+" | "-" | "NOT" ] item [ "AND" ] }
    item     = [ field ] "(" query ")" | [ field ] '"' words '"' | [ field ] word { near word }
             | [ field ] word "*" | number ".." number | filter
    near     = "NEAR" | "AROUND(" number ")"
    field    = "intitle:" | "inheading:" | "inurl:" | "inanchor:" | "intext:"
    filter   = ( "site:" | "lang:" | "filetype:" | "before:" | "after:" | "link:" ) value

AND requires the items on both sides of it, and binds more tightly than OR. A field applies to everything in its
parentheses that names no field of its own. It never fails: unbalanced quotes and parentheses close themselves,
operators without operands are left out, unknown prefixes are words, filters with an invalid value are left out with a
note. Plain words of the outermost sequence are a `BagOfWords`; elsewhere each must be there.
"""

import re
from dataclasses import replace
from datetime import date
from typing import Final, NamedTuple

from periplus.index import Field
from periplus.query.content_types import is_content_type
from periplus.query.forms.plain_queries import parse_plain
from periplus.query.forms.prose import remove_operators
from periplus.query.query_limits import limit_tree
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
    ParsedQuery,
    Phrase,
    Prefix,
    Site,
    Word,
)
from periplus.text import (
    Compound,
    content_words,
    find_acronym,
    find_compounds,
    is_language,
    normalize_language,
    split_text,
)

__all__ = ["ParsedQuery", "parse_query"]

_LONGEST: Final = 20_000
_DEEPEST: Final = 64
_PLACE: Final = r'(?i:in(?:title|heading|url|anchor|text):(?=["(])|link:(?="))'
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
"""Stands for `link:` among fields: what follows is a URL in quotes."""
_LONGEST_URL: Final = 2_000
_FAR: Final = 1 << 30
_RANGE: Final = re.compile(r"(\d{1,18})\.\.(\d{1,18})")
_FILTER: Final = re.compile(r"(lang|filetype|type|before|after):(\S*\w\S*)", re.IGNORECASE)
_UNKNOWN_TYPE: Final = "it is not a type of document that Periplus indexes."
_NO_DATE: Final = "a date is written as 2024, 2024-05 or 2024-05-31."
_INVALID: Final = {
    "lang": "it is not a language code that Periplus knows.",
    "filetype": _UNKNOWN_TYPE,
    "type": _UNKNOWN_TYPE,
    "before": _NO_DATE,
    "after": _NO_DATE,
}
"""What is wrong with the value of a filter."""
_IGNORED: Final = MatchAll()
"""Stands for a filter with an invalid value, which is left out."""
_MOST_NOTES: Final = 8
_MOST_QUOTED: Final = 40
"""Characters of a filter that a note quotes."""
_QUOTES: Final = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_NEGATIVE: Final = re.compile(r"-(\d[\d.,]*|[A-Za-z])")
"""A negative number, or an option of a command ('ls -l'); to exclude a number or a letter, it is put in quotes."""
_OPERATORS: Final = frozenset({"OR", "AND", "NOT"})
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")
_SITE: Final = re.compile(r"site:(?:https?://)?(?P<host>[^/\s:]+)(?::\d+)?(?P<path>/\S*)?", re.IGNORECASE)


class _Piece(NamedTuple):
    kind: str
    text: str


def parse_query(text: str) -> ParsedQuery:
    """Understand a query; any string is one."""
    if plain := parse_plain(text):
        return ParsedQuery(plain, ())
    notes: list[str] = []
    if len(text) > _LONGEST:
        text = text[:_LONGEST]
        notes.append("The query is very long; only its beginning was used.")
    text = remove_operators(text.translate(_QUOTES)) or text
    parser = _Parser(_pieces(text), notes, text)
    tree = parser.query()
    tree, cut = limit_tree(tree) if tree else (None, ())
    return ParsedQuery(tree, (*notes, *cut))


def _pieces(text: str) -> list[_Piece]:
    clean = _CONTROL.sub(" ", text.translate(_QUOTES))
    pieces = []
    for match in _PIECE.finditer(clean):
        kind, begin = match.lastgroup or "phrase", match.start()
        text = match[kind] or ""
        attached = begin > 0 and not clean[begin - 1].isspace() and clean[begin - 1] != "("
        if kind == "sign" and attached:
            continue  # 501(c)(3)-company: a hyphen.
        if kind == "word" and (attached or _NEGATIVE.fullmatch(text)):
            text = text.lstrip("+-")
        pieces.append(_Piece(kind, text))
    return _drop_bars(pieces)


def _drop_bars(pieces: list[_Piece]) -> list[_Piece]:
    """Leave out bars between plain words, as in 'Page | Site': any of the words may match anyhow."""
    depth, bars = 0, set[int]()
    for number, (kind, text) in enumerate(pieces):
        depth += (kind == "paren") * (1 if text == "(" else -1)
        if text == "|" and depth <= 0:
            bars.add(number)
            continue
        has_sign = len(text) > 1 and text[0] in "+-"
        if kind not in ("word", "paren") or text == "|" or text in _OPERATORS or has_sign or ":" in text[1:-1]:
            return pieces
    return [piece for number, piece in enumerate(pieces) if number not in bars]


class _Item(NamedTuple):
    """One item of a sequence."""

    node: Node
    """What must match where the item is required or excluded."""
    words: tuple[str, ...] = ()
    """The words of an item that consists of nothing else: without a sign, any of them may match."""
    sign: str = ""
    compounds: tuple[Compound, ...] = ()
    """Which of the words are written as one."""


class _Sequence:
    """The items of one sequence, in their order."""

    def __init__(self) -> None:
        self._items: list[_Item] = []
        self._and = False

    def add(self, item: _Item) -> None:
        """Append an item; after AND, it and the one before it are required."""
        if self._and:
            last = self._items[-1]
            self._items[-1] = last._replace(sign=last.sign or "+")
            item = item._replace(sign=item.sign or "+")
        self._items.append(item)
        self._and = False

    def add_and(self) -> None:
        """Join the last item to the next one by AND."""
        self._and = bool(self._items)

    def plain_words(self) -> tuple[tuple[str, ...], tuple[Compound, ...]]:
        """Return the words of a sequence without operators, and its compounds; none if it has any operator."""
        plain = all(item.words and not item.sign for item in self._items)
        return _gather_words(self._items) if plain else ((), ())

    def node(self, *, outermost: bool) -> Node | None:
        """Join the items."""
        plain = [item for item in self._items if item.words and not item.sign]
        parts = [item.node for item in self._items if item.sign != "-" and (item.sign or not item.words)]
        excluded = [item.node for item in self._items if item.sign == "-"]
        if plain and outermost:
            parts.append(BagOfWords(*_gather_words(plain)))
        else:
            for item in plain:
                parts += [item.node] if item.compounds else [Word(word) for word in item.words]
        if not parts and not excluded:
            return None
        part: Node = MatchAll() if not parts else _all(parts)
        return AndNot(part, _any(excluded)) if excluded else part


def _gather_words(items: list[_Item]) -> tuple[tuple[str, ...], tuple[Compound, ...]]:
    """Return the words of some items, and which of them are written as one."""
    words: list[str] = []
    compounds: list[Compound] = []
    for item in items:
        compounds += [compound.shift(len(words)) for compound in item.compounds]
        words += item.words
    return tuple(words), tuple(compounds)


def _words_node(words: tuple[str, ...], compounds: tuple[Compound, ...], fields: int, *, quoted: bool) -> Node:
    """Return what must match for words that are not separated: one word or a phrase."""
    content = words if quoted else content_words(words, compounds) or words
    return Word(content[0], fields) if len(content) == 1 else Phrase(words, fields, compounds)


def _all(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _any(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


class _Parser:
    def __init__(self, pieces: list[_Piece], notes: list[str], text: str) -> None:
        self._text = text
        self._pieces = pieces
        self._at = 0
        self._notes = notes

    def query(self, depth: int = 0) -> Node | None:
        """Read sequences separated by OR, up to a closing parenthesis or the end."""
        return self._join(self._sequences(depth), depth)

    def _sequences(self, depth: int) -> list[_Sequence]:
        sequences = [self._sequence(depth)]
        while self._at < len(self._pieces) and self._pieces[self._at] in (_Piece("word", "OR"), _Piece("word", "|")):
            self._at += 1
            sequences.append(self._sequence(depth))
        return sequences

    def _join(self, sequences: list[_Sequence], depth: int) -> Node | None:
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
                place = _PLACES.get(piece.text.lower(), _LINKED)
            elif piece == _Piece("word", "NOT"):
                sign = "-"
            elif piece == _Piece("word", "AND"):
                sequence.add_and()
            elif piece.kind != "near":
                self._item(piece, sign, place, sequence, depth)
                sign, place = "", EVERYWHERE
        return sequence

    def _item(self, piece: _Piece, sign: str, place: int, sequence: _Sequence, depth: int) -> None:
        """Read one item into the sequence."""
        if piece.kind == "paren":
            self._group(sign, place, sequence, depth)
            return
        text = piece.text
        if piece.kind == "word" and len(text) > 1 and text[0] in "+-" and text[1] not in "+-":
            sign, text = text[0], text[1:]
        node: Node | None = self._near(piece, text)
        if node is None and piece.kind == "word":
            node = self._special(text)
        elif place == _LINKED:
            node, place = _link(text), EVERYWHERE
        words, compounds = ((), ()) if node else find_compounds(text)
        if node is _IGNORED or (not node and not words):
            return
        plain = words if place == EVERYWHERE and piece.kind == "word" else ()
        if plain and len(words) == 1:
            compounds = find_acronym(text, self._text)
        node = node or _words_node(words, compounds, place, quoted=piece.kind != "word")
        sequence.add(_Item(node, plain, sign, compounds))

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

    def _group(self, sign: str, fields: int, sequence: _Sequence, depth: int) -> None:
        if depth >= _DEEPEST:
            self._notes.append("Parentheses nested too deeply were left out.")
            self._at = len(self._pieces)
            return
        sequences = self._sequences(depth + 1)
        self._at += 1  # the closing parenthesis, or past the end
        node = self._join(sequences, depth + 1)
        if node is None:
            return
        # Words in parentheses without operators are an aside, as people write them: as optional as other words.
        plain = sequences[0].plain_words() if len(sequences) == 1 and fields == EVERYWHERE else ((), ())
        sequence.add(_Item(self._within(node, fields), plain[0], sign, plain[1]))

    def _within(self, node: Node, fields: int) -> Node:
        """Return a tree in which everything without fields of its own is restricted to some."""
        if fields == EVERYWHERE:
            return node
        if isinstance(node, And | Or):
            return type(node)(tuple(self._within(part, fields) for part in node.parts))
        if isinstance(node, AndNot):
            return AndNot(self._within(node.part, fields), self._within(node.barred, fields))
        if isinstance(node, Word | Phrase | Near | Prefix) and node.fields == EVERYWHERE:
            return replace(node, fields=fields)
        return node

    def _special(self, text: str) -> Node | None:
        """Read what a word may be besides a word: a site, another filter, a field, a prefix or a range."""
        if match := _SITE.fullmatch(text):
            return Site(match["host"].lower().removeprefix("*.").strip("."), match["path"] or "")
        if text[: len(_LINK)].lower() == _LINK:
            return _link(text[len(_LINK) :])
        if match := _FILTER.fullmatch(text):
            return self._filter(match[1].lower(), match[2].lower())
        if match := _RANGE.fullmatch(text):
            low, high = int(match[1]), int(match[2])
            return NumberRange(min(low, high), max(low, high))
        head, colon, rest = text.partition(":")
        if colon and (place := _PLACES.get(head.lower() + colon)) and (parts := split_text(rest)):
            if rest.endswith("*") and len(parts) == 1:
                return Prefix(parts[0], place)
            return _words_node(*find_compounds(rest), place, quoted=False)
        if text.endswith("*") and len(parts := split_text(text)) == 1:
            return Prefix(parts[0])
        return None

    def _filter(self, name: str, value: str) -> Node | None:
        """Read a filter; one with an invalid value is ignored or, if it may be words of a title, None; with a note."""
        day = _day(value) if name in ("before", "after") else None
        if day is not None:
            return DateRange(-_FAR, day - 1) if name == "before" else DateRange(day, _FAR)
        if name == "lang" and is_language(value):
            return Language(normalize_language(value))
        if name in ("filetype", "type") and is_content_type(value.lstrip(".")):
            return ContentType(value.lstrip("."))
        words = name in ("type", "before", "after") and value[0].isalpha()
        quoted, outcome = f"{name}:{value}"[:_MOST_QUOTED], "read as words" if words else "ignored"
        note = f"{quoted} was {outcome}: {_INVALID[name]}"
        if note not in self._notes and len(self._notes) < _MOST_NOTES:
            self._notes.append(note)
        return None if words else _IGNORED


def _link(target: str) -> Link | None:
    """Read whom a page should link to; None if that is nobody."""
    return Link(target.strip()[:_LONGEST_URL]) if split_text(target) else None


def _day(text: str) -> int | None:
    """Return a date (2024, 2024-05 or 2024-05-31) in days since 1970; None if it is not one."""
    if text.count("-") + text.count("/") > 2:
        return None
    parts = [*text.replace("/", "-").split("-"), "1", "1"][:3]
    try:
        return (date(*(int(part) for part in parts)) - date(1970, 1, 1)).days
    except (ValueError, TypeError, OverflowError):
        return None
