"""Queries that name a site: its home page comes first.

'example.com', 'www example', 'example com' and the name or title of a site are looked up among the names that segments
know (docs/formats/segment.md). A query that is a whole host name means that site, whatever else matches. A name or
title alone may be ordinary words too: then the home page comes first only if by links it ranks no lower than the best
result (half as high, for a name of several words), so that calling a site 'cheap flights' does not make it the answer.
"""

from typing import Final, NamedTuple

import msgspec
import numpy as np

from periplus.hashing import fingerprint
from periplus.index import Index, Segment, squeeze
from periplus.query import BagOfWords, Node
from periplus.records import Candidates, Hit, PageFlag, Query

__all__ = ["Home", "explain_home", "find_home", "put_first"]

_MOST_WORDS: Final = 6
_BEFORE: Final = frozenset(("http", "https", "www"))
_DECEIVES: Final = int(PageFlag.STUFFED | PageFlag.HIDDEN | PageFlag.LINK_FARM | PageFlag.UNTRUSTED)
_SHARE: Final = 0.5
_STEP: Final = 1.0
"""What a home page scores above the best other result."""


class Home(NamedTuple):
    """The home page of a site that a query names."""

    segment: int
    document: int
    host: str
    whole: bool
    """Whether the query is the whole name of the host."""
    static: float
    words: int


def find_home(index: Index, tree: Node | None, query: Query) -> Home | None:
    """Find the home page that a query means; None if it asks for anything but words."""
    narrowed = query.language or query.site or query.days or query.kinds or query.having
    if not isinstance(tree, BagOfWords) or len(tree.words) > _MOST_WORDS or narrowed:
        return None
    words = tree.words
    while words and words[0] in _BEFORE:
        words = words[1:]
    name = "".join(words)
    key = np.uint64(fingerprint(name.encode("utf-8", "replace"))) if name else np.uint64(0)
    homes = [
        home._replace(words=len(words))
        for number, segment in enumerate(index.segments)
        for home in _homes(segment, number, key, name)
    ]
    return max(homes, key=lambda home: (home.whole, home.static, home.host), default=None)


def _homes(segment: Segment, number: int, key: np.uint64, name: str) -> list[Home]:
    """Give the home pages of a segment that are known by a name, and can be found."""
    words = segment.files.get("words")
    if words is None or not name:
        return []
    keys, documents = words["site_key"], words["site_document"]
    at = int(keys.searchsorted(key))
    found = []
    while at < len(keys) and keys[at] == key:
        document = int(documents[at])
        host = segment.string("hosts", int(segment.column("host")[document]))
        whole = squeeze(host.removeprefix("www.")) == name
        deceives = int(segment.column("flags")[document]) & _DECEIVES
        if segment.alive[document] and (whole or not deceives):
            found.append(Home(number, document, host, whole, float(segment.column("static")[document]), 1))
        at += 1
    return found


def put_first(index: Index, found: Candidates, home: Home) -> Candidates | None:
    """Give the candidates with a home page before all others; None if it has not earned that."""
    same = (found.segments == home.segment) & (found.documents == home.document)
    if not len(same):
        return None
    best = index.segments[int(found.segments[0])].column("static")[int(found.documents[0])]
    if not home.whole and (not same.any() or home.static < best * (_SHARE if home.words > 1 else 1.0)):
        return None
    rest = ~same
    if same.all():
        return found
    score = found.scores.dtype.type(found.scores[0] + _STEP)
    return found._replace(
        segments=np.concatenate([np.array([home.segment], found.segments.dtype), found.segments[rest]]),
        documents=np.concatenate([np.array([home.document], found.documents.dtype), found.documents[rest]]),
        scores=np.concatenate([np.array([score], found.scores.dtype), found.scores[rest]]),
    )


def explain_home(hit: Hit, home: Home) -> Hit:
    """Say why a home page is the first result."""
    return msgspec.structs.replace(hit, reasons=(*hit.reasons, (f"home page of {home.host}", _STEP)))
