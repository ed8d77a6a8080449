"""Filters by own fields: an expression of the API, and terms such as `price:10..20` within a query.

    expression = part { ("AND" | "OR") part }       AND binds more tightly
    part       = "NOT" part | "(" expression ")" | field ":" value | field operator value
    value      = word | '"' any characters '"' | [ low ] ".." [ high ] | "*"
    operator   = "=" | "!=" | "<" | "<=" | ">" | ">="

Unlike a query it may fail: a program has to know what is wrong.
"""

import math
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from periplus.errors import BadInput
from periplus.index import parse_date
from periplus.query.query_tree import And, AndNot, FieldFilter, MatchAll, Node, Or
from periplus.settings import FieldSettings

__all__ = ["extract_fields", "parse_filter"]

_MAX_LENGTH: Final = 2_000
_MAX_PARTS: Final = 50
_MAX_DEPTH: Final = 20
_PIECE: Final = re.compile(
    r"\s*(?:(?P<paren>[()])|(?P<name>[A-Za-z_][A-Za-z0-9_]{0,63})\s*(?P<operator>:|!=|<=|>=|=|<|>)\s*"
    r'(?:"(?P<quoted>[^"]*)"|(?P<value>[^\s()"]+))|(?P<word>AND|OR|NOT|&&|\|\|)(?=[\s(]|$))'
)
_TERM: Final = re.compile(
    r'(?:(?<=\s)|^)(?P<sign>[-+]?)(?P<name>[A-Za-z_][A-Za-z0-9_]{0,63}):(?:"(?P<quoted>[^"]*)"|(?P<value>[^\s()"]+))(?=\s|$)'
)
_WORDS: Final = {"&&": "AND", "||": "OR"}
_DAY: Final = 86_400.0
_WHOLE_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_PERIOD: Final = re.compile(r"(\d{4})(?:-(\d\d))?")

Fields = Mapping[str, FieldSettings]


def parse_filter(text: str, fields: Fields) -> Node:
    """Return the tree of an expression; raise `BadInput` with the place that cannot be read."""
    if len(text) > _MAX_LENGTH:
        raise BadInput(f"The filter has {len(text):,} characters.", f"Send at most {_MAX_LENGTH:,}.")
    if text.strip() == "*":
        return MatchAll()
    return _Parser(_pieces(text), fields).parse()


class _Piece(NamedTuple):
    kind: str
    name: str
    operator: str = ""
    value: str = ""
    quoted: bool = False


def _pieces(text: str) -> list[_Piece]:
    pieces, at = [], 0
    while text[at:].strip():
        match = _PIECE.match(text, at)
        if match is None:
            raise BadInput(f"The filter cannot be read from '{text[at : at + 40].strip()}' on.", _HINT)
        at = match.end()
        if match["paren"] or match["word"]:
            word = match["paren"] or match["word"]
            pieces.append(_Piece("operator", _WORDS.get(word, word)))
        else:
            quoted = match["quoted"] is not None
            value = match["quoted"] if quoted else match["value"]
            pieces.append(_Piece("test", match["name"], match["operator"], value, quoted))
        if len(pieces) > 4 * _MAX_PARTS:
            raise BadInput("The filter has too many parts.", f"Send at most {_MAX_PARTS}.")
    return pieces


_HINT: Final = "Write for example: brand:acme AND (price:10..20 OR NOT in_stock:true)."


class _Parser:
    """Reads pieces by recursive descent."""

    def __init__(self, pieces: list[_Piece], fields: Fields) -> None:
        self._pieces, self._fields, self._at, self._parts = pieces, fields, 0, 0

    def parse(self) -> Node:
        """Return the tree of all pieces."""
        node = self._either(0)
        if self._at < len(self._pieces):
            raise BadInput("The filter has a parenthesis that was not opened.", _HINT)
        return node

    def _next(self, word: str) -> bool:
        if self._at < len(self._pieces) and self._pieces[self._at] == _Piece("operator", word):
            self._at += 1
            return True
        return False

    def _either(self, depth: int) -> Node:
        parts = [self._every(depth)]
        while self._next("OR"):
            parts.append(self._every(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _every(self, depth: int) -> Node:
        parts = [self._one(depth)]
        while self._next("AND"):
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _one(self, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            raise BadInput("The filter is nested too deeply.", _HINT)
        if self._next("NOT"):
            return AndNot(MatchAll(), self._one(depth + 1))
        if self._next("("):
            node = self._either(depth + 1)
            if not self._next(")"):
                raise BadInput("The filter has a parenthesis that is not closed.", _HINT)
            return node
        if self._at >= len(self._pieces) or self._pieces[self._at].kind != "test":
            raise BadInput("The filter ends, or has an operator, where a field is expected.", _HINT)
        piece = self._pieces[self._at]
        self._at += 1
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise BadInput("The filter has too many parts.", f"Send at most {_MAX_PARTS}.")
        return _test(piece, self._fields)


def _test(piece: _Piece, fields: Fields) -> Node:
    """Return the filter of one field."""
    field = fields.get(piece.name)
    if field is None or not field.filter or not field.has_column:
        declared = ", ".join(name for name, one in fields.items() if one.filter and one.has_column) or "none"
        raise BadInput(f"'{piece.name}' is not a field to filter by.", f"There are: {declared[:400]}.")
    node: Node
    if piece.value == "*" and not piece.quoted:
        node = FieldFilter(piece.name, field.type)
    elif field.type == "keyword":
        if piece.operator not in (":", "=", "!="):
            raise BadInput(f"'{piece.name}' is a keyword, which is not more or less than another.", _HINT)
        node = FieldFilter(piece.name, field.type, words=(piece.value,))
    else:
        node = FieldFilter(piece.name, field.type, *_bounds(piece, field))
    return AndNot(MatchAll(), node) if piece.operator == "!=" else node


def _bounds(piece: _Piece, field: FieldSettings) -> tuple[float, float]:
    """Return the least and the largest value that pass."""
    low_text, dots, high_text = piece.value.partition("..")
    try:
        if dots and piece.operator in (":", "="):
            low = _value(low_text, field)[0] if low_text else -math.inf
            return low, _value(high_text, field)[1] if high_text else math.inf
        low, high = _value(piece.value, field)
    except ValueError:
        raise BadInput(f"'{piece.value[:80]}' is not a value of '{piece.name}', a {field.type}.", _HINT) from None
    return {
        "<": (-math.inf, math.nextafter(low, -math.inf)),
        "<=": (-math.inf, high),
        ">": (math.nextafter(high, math.inf), math.inf),
        ">=": (low, math.inf),
    }.get(piece.operator, (low, high))


def _value(text: str, field: FieldSettings) -> tuple[float, float]:
    """Return the range that a value stands for: a day is from its first to its last moment."""
    if field.type == "boolean":
        return (float(["false", "true"].index(text.lower())),) * 2
    if field.type == "number":
        number = float(text)
        if not math.isfinite(number):
            raise ValueError
        return number, number
    if period := _PERIOD.fullmatch(text):
        year, month = int(period[1]), int(period[2] or 1)
        following = (year, month + 1) if period[2] and month < 12 else (year + 1, 1)
        end = parse_date(f"{following[0]:04}-{following[1]:02}-01")
        return parse_date(f"{year:04}-{month:02}-01"), math.nextafter(end, -math.inf)
    moment = parse_date(text)
    return moment, math.nextafter(moment + _DAY, -math.inf) if _WHOLE_DAY.fullmatch(text) else moment


def extract_fields(words: str, fields: Fields) -> tuple[str, Node | None, tuple[str, ...]]:
    """Return a query without its terms of own fields, their tree, and notes on those that cannot be read.

    People write these: a term that is wrong is left out with a note, and an unknown name is a word of the query.
    """
    if ":" not in words or not fields:
        return words, None, ()
    required: list[Node] = []
    excluded: list[Node] = []
    notes: list[str] = []

    def take(match: re.Match[str]) -> str:
        if match["name"] not in fields or len(required) + len(excluded) >= _MAX_PARTS:
            return match[0]
        quoted = match["quoted"] is not None
        piece = _Piece("test", match["name"], ":", match["quoted"] if quoted else match["value"], quoted)
        try:
            (excluded if match["sign"] == "-" else required).append(_test(piece, fields))
        except BadInput as error:
            notes.append(f"{match[0][:60]} was ignored: {error.message}")
        return ""

    rest = " ".join(_TERM.sub(take, words).split())
    tree: Node | None = None
    if required:
        tree = required[0] if len(required) == 1 else And(tuple(required))
    if excluded:
        tree = AndNot(tree or MatchAll(), excluded[0] if len(excluded) == 1 else Or(tuple(excluded)))
    return (rest, tree, tuple(notes)) if tree or notes else (words, None, ())
