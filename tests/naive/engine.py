"""Naive twin of the index and the match kernel: dictionaries, and every document looked at for every query."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from periplus.index.document_fields import Field, field_weights
from periplus.query import (
    And,
    AndNot,
    BagOfWords,
    ContentType,
    DateRange,
    Language,
    MatchAll,
    Near,
    Node,
    NumberRange,
    Or,
    Phrase,
    Prefix,
    Scoring,
    Site,
    Word,
)
from periplus.records import FetchRecord, Page
from periplus.settings import IndexSettings
from periplus.text import is_stop_word, split_text, terms_of

LANGUAGE = "en"
EVERYWHERE = 255


class Doc(NamedTuple):
    url: str
    places: dict[bytes, list[tuple[int, int]]]
    """Field and place of each occurrence of each term."""
    impacts: dict[bytes, int]
    static: float
    day: int


class NaiveEngine:
    def __init__(self, visits: Sequence[FetchRecord], settings: IndexSettings, static: dict[int, float]) -> None:
        texts = [_fields(visit) for visit in visits]
        split = [[terms_of(split_text(text), LANGUAGE) for text in fields] for fields in texts]
        count = max(1, len(split))
        means = [max(sum(len(doc[f]) for doc in split) / count, 1e-9) for f in range(len(Field))]
        weights = _adapted_weights(split, settings)
        self.docs = [
            _doc(visit, doc, means, weights, settings, static.get(visit.key, 0.0))
            for visit, doc in zip(visits, split, strict=True)
        ]

    def idf(self, term: bytes) -> float:
        df = sum(term in doc.places for doc in self.docs)
        return math.log(1 + (len(self.docs) - df + 0.5) / (df + 0.5)) if df else 0.0

    def search(self, tree: Node, scoring: Scoring) -> dict[str, float]:
        """Give the score of every matching document."""
        return {doc.url: self.score(doc, tree, scoring) for doc in self.docs if self.matches(doc, tree)}

    def matches(self, doc: Doc, node: Node) -> bool:
        if isinstance(node, BagOfWords):
            return any(term in doc.places for term in _terms(_meant(node)))
        if isinstance(node, Word):
            places = doc.places.get(_terms([node.word])[0], [])
            return any(node.fields >> field & 1 for field, _ in places)
        if isinstance(node, Phrase):
            return _has_phrase(doc, _terms(node.words), node.fields)
        if isinstance(node, Near):
            return _has_near(doc, _terms(node.words), node.distance, node.fields)
        if isinstance(node, Prefix):
            own, begin = _terms([node.beginning])[0], node.beginning.encode()
            return any((term == own or term.startswith(begin)) and _in(doc, term, node.fields) for term in doc.places)
        if isinstance(node, NumberRange):
            return any(term.isdigit() and node.low <= int(term) <= node.high for term in doc.places)
        if isinstance(node, Language):
            return node.code == LANGUAGE
        if isinstance(node, ContentType):
            return node.name in ("html", "text/html")
        if isinstance(node, DateRange):
            return node.after <= doc.day <= node.before
        if isinstance(node, Site):
            host, _, path = doc.url.partition("://")[2].partition("/")
            return (host == node.host or host.endswith("." + node.host)) and ("/" + path).startswith(node.path)
        if isinstance(node, MatchAll):
            return True
        if isinstance(node, And):
            return all(self.matches(doc, part) for part in node.parts)
        if isinstance(node, Or):
            return any(self.matches(doc, part) for part in node.parts)
        return self.matches(doc, node.part) and not self.matches(doc, node.barred)

    def score(self, doc: Doc, tree: Node, scoring: Scoring) -> float:
        terms = self._gather(tree)
        score = sum(self.idf(term) * doc.impacts.get(term, 0) / 255 for term, fields in terms if _in(doc, term, fields))
        score += scoring.static_weight * doc.static
        words = _bag_words(tree)
        if 2 <= len(words) <= scoring.short_query and all(term in doc.places for term in _terms(words)):
            score += scoring.all_words_bonus * self._best(tree)
        return score

    def _best(self, tree: Node) -> float:
        total = 0.0
        for node in _scored(tree):
            if isinstance(node, BagOfWords):
                total += sum(self.idf(_terms([w])[0]) * node.words.count(w) for w in _meant(node))
            elif isinstance(node, Word):
                total += self.idf(_terms([node.word])[0])
            elif not isinstance(node, Prefix):
                total += sum(self.idf(_terms([w])[0]) for w in node.words if not is_stop_word(w))
        return total

    def _gather(self, tree: Node) -> list[tuple[bytes, int]]:
        """Give every term that adds to the score, with the fields in which it does."""
        terms: list[tuple[bytes, int]] = []
        for node in _scored(tree):
            if isinstance(node, BagOfWords):
                terms += [(_terms([word])[0], 255) for word in _meant(node) for _ in range(node.words.count(word))]
            elif isinstance(node, Word):
                terms.append((_terms([node.word])[0], node.fields))
            elif isinstance(node, Prefix):
                most = 8 if node.fields == EVERYWHERE else len(self.docs)
                terms += [(term, node.fields) for term in self._expand(node.beginning, most)]
            else:
                terms += [(term, 255) for term in _terms(node.words)]
        return terms

    def _expand(self, beginning: str, most: int) -> list[bytes]:
        counts: dict[bytes, int] = defaultdict(int)
        for doc in self.docs:
            for term in doc.places:
                counts[term] += term.startswith(beginning.encode())
        own = _terms([beginning])[0]
        often = sorted((term for term in sorted(counts) if counts[term]), key=lambda term: -counts[term])
        first = [own] if any(own in doc.places for doc in self.docs) else []
        return list(dict.fromkeys(first + often))[:most]


def _scored(node: Node) -> list[BagOfWords | Word | Phrase | Near | Prefix]:
    """Leaves that add to the score."""
    if isinstance(node, BagOfWords | Word | Phrase | Near | Prefix):
        return [node]
    if isinstance(node, And | Or):
        return [leaf for part in node.parts for leaf in _scored(part)]
    return _scored(node.part) if isinstance(node, AndNot) else []


def _in(doc: Doc, term: bytes, fields: int) -> bool:
    return any(fields >> field & 1 for field, _ in doc.places.get(term, []))


def _bag_words(tree: Node) -> list[str]:
    return [word for node in _scored(tree) if isinstance(node, BagOfWords) for word in _meant(node)]


def _meant(bag: BagOfWords) -> list[str]:
    distinct = list(dict.fromkeys(bag.words))
    content = [word for word in distinct if not is_stop_word(word)] or distinct
    return distinct if len(content) == 1 and 2 < len(distinct) <= 6 else content


def _terms(words: Sequence[str]) -> list[bytes]:
    return terms_of(list(words), LANGUAGE)


def _has_phrase(doc: Doc, terms: Sequence[bytes], fields: int) -> bool:
    if any(term not in doc.places for term in terms):
        return False
    return any(
        all((field, place + n) in set(doc.places[term]) for n, term in enumerate(terms))
        for field, place in doc.places[terms[0]]
        if fields >> field & 1
    )


def _has_near(doc: Doc, terms: Sequence[bytes], distance: int, fields: int) -> bool:
    held = [(field, place) for field, place in doc.places.get(terms[0], []) if fields >> field & 1]
    for term in terms[1:]:
        held = [
            (field, place)
            for field, place in doc.places.get(term, [])
            if any(f == field and p != place and abs(p - place) <= distance for f, p in held)
        ]
    return bool(held)


def _fields(visit: FetchRecord) -> list[str]:
    page = visit.page
    assert page is not None
    url = visit.url.partition("://")[2].removeprefix("www.")
    return [page.title, in_body(page, page.headings), url, "", in_body(page, page.emphasis), *split_body(page)]


def in_body(page: Page, phrases: Sequence[str]) -> str:
    """Return the phrases, one a line, without those that only the boilerplate has."""
    body, rest = split_body(page)
    return "\n".join(phrase for phrase in phrases if not rest or phrase in body or phrase not in rest)


def split_body(page: Page) -> tuple[str, str]:
    """Return the main content, if it has 32 characters, and the rest of the text."""
    if not page.main or page.main[1] - page.main[0] < 32:
        return page.text, ""
    begin, end = page.main
    return page.text[begin:end], page.text[:begin] + "\n" + page.text[end:]


def _adapted_weights(split: list[list[list[bytes]]], settings: IndexSettings) -> list[float]:
    """Return the weights of fields, title and URL by the ratio of body length to theirs, all by that of bodies."""
    weights = list(field_weights(settings)[0])
    present = [[len(doc[f]) for doc in split if doc[f]] for f in range(len(Field))]
    if not present[Field.BODY]:
        return weights
    lengths = [sum(sizes) / len(sizes) if sizes else 0.0 for sizes in present]
    body, certainty = lengths[Field.BODY], len(split) / (len(split) + 64)
    for field in (Field.TITLE, Field.URL):
        if lengths[field]:
            ratio = min(64.0, max(1.0, body / lengths[field]))
            weights[field] *= (ratio / 12) ** (certainty * settings.field_length_exponent)
    k1_factor = (min(256.0, max(16.0, body)) / 100) ** (certainty * settings.k1_length_exponent)
    return [weight / k1_factor for weight in weights]


def _doc(
    visit: FetchRecord,
    fields: list[list[bytes]],
    means: list[float],
    weight: list[float],
    settings: IndexSettings,
    static: float,
) -> Doc:
    _, b = field_weights(settings)
    thin = settings.thin_page_weight
    share = thin + (1 - thin) * min(1.0, len(fields[Field.BODY]) / 10)
    places: dict[bytes, list[tuple[int, int]]] = defaultdict(list)
    mass: dict[bytes, float] = defaultdict(float)
    for field, terms in enumerate(fields):
        norm = 1 - b[field] + b[field] * len(terms) / means[field]
        for place, term in enumerate(terms):
            places[term].append((field, place))
            mass[term] += float(np.float32(share * weight[field] / norm))  # stored in single precision
    impacts = {t: max(1, min(255, math.ceil(255 * m / (settings.k1 + m)))) for t, m in mass.items()}
    return Doc(visit.url, dict(places), impacts, static, int(visit.when // 86_400))
