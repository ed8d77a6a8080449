"""What 'why this?' says: the parts of a score in words that mean something to a reader, the largest first."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from periplus.serve.pages.locales import Locale

__all__ = ["LABELS", "ReasonRow", "label_reasons"]

_WORD: Final = "word: "
_HOME: Final = "home page of "
LABELS: Final = {
    "words it contains": ("first", "coverage", "coverage_words", "query_words", "query_stop_words", "query_rarest"),
    "all your words are there": ("all words",),
    "words in the title": (
        *("title", "title_sequence", "title_run", "title_fill", "title_equal", "title_words", "title_body"),
        "query_titles",
    ),
    "it is what you named": ("name",),
    "words in headings": ("heading",),
    "words in the text": ("body",),
    "words at the beginning": ("preview",),
    "words in bold, and tags": ("emphasis",),
    "its address": ("url", "url_length", "url_depth", "url_parameters"),
    "what links to it say": ("anchor",),
    "links from other pages": ("links and host", "static"),
    "how often others mention it": ("mentions",),
    "words close together, in your order": ("phrase", "run", "pairs", "near", "span", "fixed"),
    "a passage about your words": ("passage", "passage_body"),
    "similar in meaning": ("static_similarity", "meaning"),
    "quality of the text": ("quality",),
    "how recent it is": ("freshness",),
    "signs of spam": ("spam",),
    "how often it is visited": ("popularity",),
    "chosen before for this query": ("clicks",),
}
"""Labels, each with the names of the parts that it stands for."""
_BY_NAME: Final = {name: label for label, names in LABELS.items() for name in names}
_MAX_ROWS: Final = 8


class ReasonRow(NamedTuple):
    """One contribution to a score."""

    label: str
    value: float
    share: float
    """Of all contributions, by their size; negative where it counts against the page."""


def label_reasons(reasons: Iterable[tuple[str, float]], locale: Locale) -> list[ReasonRow]:
    """Return the parts of a score by what they mean, the largest first; the smallest are summed up."""
    sums: dict[str, float] = {}
    for name, value in reasons:
        label = _label(name, locale)
        sums[label] = sums.get(label, 0.0) + value
    ranked = sorted(sums.items(), key=lambda item: -abs(item[1]))
    if len(ranked) > _MAX_ROWS:
        rest = sum(value for _, value in ranked[_MAX_ROWS - 1 :])
        ranked = [*ranked[: _MAX_ROWS - 1], (locale.translate("everything else"), rest)]
    whole = sum(abs(value) for _, value in ranked) or 1.0
    return [ReasonRow(label, value, value / whole) for label, value in ranked]


def _label(name: str, locale: Locale) -> str:
    if name.startswith(_WORD):
        return locale.translate("“{word}” on the page", word=name.removeprefix(_WORD))
    if name.startswith(_HOME):
        return locale.translate("home page of {host}", host=name.removeprefix(_HOME))
    return locale.translate(_BY_NAME.get(name, name.replace("_", " ")))
