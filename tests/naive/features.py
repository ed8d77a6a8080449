"""The features of a document for a query, counted from lists of words: the naive twin of `kernels.features.measure`."""

from collections.abc import Sequence
from itertools import pairwise, product

from periplus.rank.kernels.best_passage import PASSAGE, SPREAD
from periplus.rank.kernels.features import PREVIEW, WINDOW

FIELDS = ("title", "heading", "url", "anchor", "emphasis", "body")


def features(
    query: Sequence[tuple[str, float, int]],
    fields: dict[str, list[str]],
    title: str,
    url: str,
    bonds: Sequence[float] = (),
) -> dict[str, float]:
    """Give all features; a query is words with weight and place, fields are the words of the document.

    bonds: how firmly each word of the query belongs to the next.
    """
    found: dict[str, float] = {}
    whole = sum(weight for _, weight, _ in query) or 1e-12
    for field in FIELDS:
        found[field] = sum(weight for word, weight, _ in query if word in fields[field]) / whole
    anywhere = [any(word in fields[field] for field in FIELDS) for word, _, _ in query]
    found["coverage"] = sum(weight for (_, weight, _), has in zip(query, anywhere, strict=True) if has) / whole
    both = [weight for word, weight, _ in query if word in fields["title"] and word in fields["body"]]
    found["title_body"] = sum(both) / whole
    found["coverage_words"] = sum(anywhere) / len(query)
    found["preview"] = sum(weight for word, weight, _ in query if word in fields["body"][:PREVIEW]) / whole
    words = [word for word, _, _ in query]
    found["title_sequence"] = _longest_common(words, fields["title"]) / len(words)
    found["title_run"] = max(_runs(query, fields["title"]), default=0) / len(words)
    runs = _runs(query, fields["body"])
    found["run"] = max(runs, default=0) / len(words)
    found["phrase"] = sum(len(words) > 1 and run == len(words) for run in runs)
    found["pairs"], found["near"] = _pairs(query, fields["body"])
    found["fixed"] = sum(
        bond * (one[1] + other[1]) / whole * (times := _together(one, other, fields)) / (times + 1)
        for bond, (one, other) in zip(bonds, pairwise(query), strict=False)
    )
    found["span"] = _span(words, fields["body"])
    found["passage_body"] = _best_passage(query, fields["body"]) / whole
    found["passage"] = max(found["title"], found["passage_body"])
    found["title_words"] = len(title.split())
    found["title_fill"] = min(1.0, sum(word in fields["title"] for word in words) / max(1, len(title.split())))
    path = url.split("/", 3)[3]
    found["url_length"] = len(path)
    before, _, after = path.partition("?")
    found["url_depth"] = sum(1 for part in before.split("/") if part)
    found["url_parameters"] = after.count("=")
    return found


def _together(one: tuple[str, float, int], other: tuple[str, float, int], fields: dict[str, list[str]]) -> int:
    """Count how often two words of a query stand in a document as far apart as in the query, in any field."""
    gap = other[2] - one[2]
    return sum(
        text[at] == one[0] and text[at + gap] == other[0] for text in fields.values() for at in range(len(text) - gap)
    )


def _longest_common(one: list[str], other: list[str]) -> int:
    """Give the length of the longest common subsequence."""
    table = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, j in product(range(len(one)), range(len(other))):
        same = one[i] == other[j]
        table[i + 1][j + 1] = table[i][j] + 1 if same else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def _runs(query: Sequence[tuple[str, float, int]], text: list[str]) -> list[int]:
    """Give, for each word of the query that stands in the text, how many of those before it stand as in the query."""
    runs = []
    for at, number in product(range(len(text)), range(len(query))):
        if text[at] != query[number][0]:
            continue
        size = 1
        while number >= size:
            place = at - (query[number][2] - query[number - size][2])
            if place < 0 or text[place] != query[number - size][0]:
                break
            size += 1
        runs.append(size)
    return runs


def _pairs(query: Sequence[tuple[str, float, int]], body: list[str]) -> tuple[float, float]:
    """Give how much the body has of the query's pairs of neighbours: in order and as far apart, and near each other."""
    ordered, near, whole = 0.0, 0.0, 0.0
    for (one, weight, place), (other, weight_there, place_there) in pairwise(query):
        share = min(weight, weight_there)
        whole += share
        gaps = [
            there - here
            for here, there in product(range(len(body)), repeat=2)
            if body[here] == one and body[there] == other and abs(there - here) <= WINDOW
        ]
        close, exact = len(gaps), sum(gap == place_there - place for gap in gaps)
        ordered += share * exact / (exact + 1)
        near += share * close / (close + 1)
    return (ordered / whole, near / whole) if whole else (0.0, 0.0)


def _span(words: list[str], body: list[str]) -> float:
    """Give how tight the tightest stretch is that has every word of the query that the body has at all."""
    kinds = {word for word in words if word in body}
    if len(kinds) < 2:
        return 0.0
    widths = [
        last - first for first, last in product(range(len(body)), repeat=2) if kinds <= set(body[first : last + 1])
    ]
    return min(1.0, (len(kinds) - 1) / min(widths))


def _best_passage(query: Sequence[tuple[str, float, int]], body: list[str]) -> float:
    """Return the weight of the words of the best passage, less if they are far apart there."""
    weights: dict[str, float] = {}
    for word, weight, _ in query:
        weights[word] = weights.get(word, 0.0) + weight
    hits = [at for at, word in enumerate(body) if word in weights]
    return max(
        (
            sum(weights[word] for word in {body[at] for at in hits if first <= at <= last})
            * (1 - SPREAD * (last - first) / PASSAGE)
            for first, last in product(hits, repeat=2)
            if 0 <= last - first < PASSAGE
        ),
        default=0.0,
    )
