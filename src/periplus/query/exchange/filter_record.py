"""Filters of a plan as records of strings and numbers."""

import math
from typing import Final, NamedTuple

from periplus.errors import BadInput
from periplus.query.query_tree import ContentType, DateRange, FieldFilter, Filter, Language, Link, Site, Vertical
from periplus.query.term_lookups import TermSet

__all__ = ["FilterRecord", "record_filter", "restore_filter"]

_SITE, _LANGUAGE, _TYPE, _VERTICAL, _DATES, _LINK, _TERMS = "site", "lang", "type", "vertical", "dates", "link", "terms"
_FIELD: Final = "field"
_FIELD_TYPES: Final = frozenset({"keyword", "number", "date", "boolean"})
_MAX_TEXT: Final = 4_096
"""Characters of a host, a path or an address."""
_MAX_TERMS: Final = 4_096
"""Terms of a prefix or a range: twice what all of a query stand for together."""
_MAX_DAY: Final = 1 << 31


class FilterRecord(NamedTuple):
    """A filter: what kind it is, and the values that this kind has."""

    kind: str
    text: str = ""
    """The host, language, content type, vertical or address."""
    path: str = ""
    after: int = 0
    before: int = 0
    terms: tuple[bytes, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    """Of a field, whose type is `path`."""


def record_filter(wanted: Filter | TermSet) -> FilterRecord:
    """Return the record of a filter. That of a link has its target: each shard looks up which of its pages link there.

    Prefixes and ranges are planned as the terms that they stand for, and have no record.
    """
    if isinstance(wanted, Site):
        return FilterRecord(_SITE, wanted.host, wanted.path)
    if isinstance(wanted, Language):
        return FilterRecord(_LANGUAGE, wanted.code)
    if isinstance(wanted, ContentType):
        return FilterRecord(_TYPE, wanted.name)
    if isinstance(wanted, Vertical):
        return FilterRecord(_VERTICAL, wanted.what)
    if isinstance(wanted, DateRange):
        return FilterRecord(_DATES, after=wanted.after, before=wanted.before)
    if isinstance(wanted, Link):
        return FilterRecord(_LINK, wanted.target)
    if isinstance(wanted, FieldFilter):
        words = tuple(word.encode("utf-8", "replace") for word in wanted.words)
        return FilterRecord(_FIELD, wanted.name, wanted.kind, terms=words, low=wanted.low, high=wanted.high)
    assert isinstance(wanted, TermSet), f"{wanted} is planned as the terms that it stands for"
    return FilterRecord(_TERMS, terms=wanted.terms)


def restore_filter(record: FilterRecord) -> Filter | TermSet:
    """Return the filter of a record; raise `BadInput` for one that no plan has."""
    too_long = len(record.text) > _MAX_TEXT or len(record.path) > _MAX_TEXT or len(record.terms) > _MAX_TERMS
    if too_long or not max(abs(record.after), abs(record.before)) < _MAX_DAY:
        raise BadInput("A filter is too large.")
    if record.kind == _SITE:
        return Site(record.text, record.path)
    if record.kind == _DATES:
        return DateRange(record.after, record.before)
    if record.kind == _TERMS:
        return TermSet(record.terms)
    if record.kind == _LANGUAGE:
        return Language(record.text)
    if record.kind == _TYPE:
        return ContentType(record.text)
    if record.kind == _VERTICAL:
        return Vertical(record.text)
    if record.kind == _LINK:
        return Link(record.text)
    if record.kind == _FIELD:
        words = tuple(word.decode("utf-8", "replace") for word in record.terms)
        if record.path not in _FIELD_TYPES or record.low != record.low or record.high != record.high:
            raise BadInput("A filter has a type that no field has.")
        return FieldFilter(record.text, record.path, record.low, record.high, words)
    raise BadInput(f"'{record.kind[:40]}' is no kind of filter.")
