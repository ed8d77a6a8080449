"""Links of the result page, and which links to other sites are safe to show."""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

import msgspec

from periplus.records import Hit, Query
from periplus.serve.search_request import SearchRequest, request_url

__all__ = [
    "fragment_link",
    "is_published_here",
    "page_numbers",
    "passage_link",
    "queries_without_one_word",
    "require_word",
    "result_link",
    "safe_link",
]

_MAX_WORDS: Final = 8
"""Longer queries get no links that drop a word."""
_MAX_PAGE_LINKS: Final = 10
_UNPUBLISHED: Final = re.compile(r"https?://[^/]*\.invalid(?:[:/]|$)", re.IGNORECASE)
_PUBLISHED: Final = re.compile(r"https://published\.invalid/([0-9a-f]{64})")
_ASCII: Final = {code: quote(chr(code), safe="") for code in range(128)} | {ord("-"): "%2D"}
_MIN_FRAGMENT_WORDS: Final = 3
_END_WORDS: Final = 5
"""Words at either end of a passage that its link names."""
_MAX_FRAGMENT_WORDS: Final = 8
"""Words of the snippet in a text fragment."""


def safe_link(url: str) -> str:
    """Return `url` if it is an HTTP URL, else ''; an index may contain anything, such as javascript: links."""
    return url if url.lower().startswith(("http://", "https://")) else ""


def result_link(hit: Hit) -> str:
    """Return the link of a result: the page, or what was published here and is not on the web."""
    if _may_be_unpublished(hit.url):
        if match := _PUBLISHED.fullmatch(hit.url):
            return f"/c/{match[1]}"
        if _UNPUBLISHED.match(hit.url):
            return f"/cached/{hit.key:016x}"
    return safe_link(hit.url)


def _may_be_unpublished(url: str) -> bool:
    """Return False for most URLs, which takes less time than a pattern."""
    return not url.isascii() or ".invalid" in url.lower()


def is_published_here(hit: Hit) -> bool:
    """Return whether a result is content that was published here, without an address on the web."""
    return _may_be_unpublished(hit.url) and _PUBLISHED.fullmatch(hit.url) is not None


def fragment_link(hit: Hit, link: str | None = None) -> str:
    """Return the link of a result with a text fragment, so that the browser scrolls to the snippet and marks it.

    link: that of the result, if it is known.
    """
    link = result_link(hit) if link is None else link
    if hit.kind not in ("text/html", "text/plain") or not link.startswith("http") or "#" in link:
        return link
    words = _fragment_words(hit)
    if len(words) < _MIN_FRAGMENT_WORDS:
        return link
    return f"{link}#:~:text={_quote_words(words)}"


def passage_link(url: str, text: str) -> str:
    """Return the link of a passage in its page: by its words, or by its first and last ones if there are many."""
    words = text.split()
    if not words or not safe_link(url):
        return safe_link(url)
    ends = [text.splitlines()[0].split()[:_END_WORDS], text.splitlines()[-1].split()[-_END_WORDS:]]
    parts = [words] if len(words) <= 2 * _END_WORDS else ends
    return f"{url.partition('#')[0]}#:~:text={','.join(_quote_fragment(' '.join(part)) for part in parts)}"


def _quote_words(words: Sequence[str]) -> str:
    """Quote words, and the spaces between them; most have nothing to quote."""
    joined = "".join(words)
    if joined.isascii() and joined.isalnum():
        return "%20".join(words)
    return "%20".join([word if word.isascii() and word.isalnum() else _quote_fragment(word) for word in words])


def _quote_fragment(text: str) -> str:
    """Quote a text for a fragment, in which a hyphen is special; ASCII in a single step."""
    return text.translate(_ASCII) if text.isascii() else quote(text, safe="").replace("-", "%2D")


def _fragment_words(hit: Hit) -> list[str]:
    """Return some words of the answer, or of the snippet from the first marked one on, as they appear on the page."""
    texts = [text for text, _ in hit.snippet]
    if hit.answer[0] < hit.answer[1]:
        return "".join(texts)[hit.answer[0] : hit.answer[1]].split()[:_MAX_FRAGMENT_WORDS]
    first = next((n for n, (_, marked) in enumerate(hit.snippet) if marked), None)
    if first is None:
        return []
    text = "".join(texts[first:]).replace("…", " ")
    if not text.isascii():
        text = text.encode("utf-8", "ignore").decode()
    return text.split(None, _MAX_FRAGMENT_WORDS)[:-1]


def require_word(request: SearchRequest, word: str) -> str:
    """Return the URL of the same query with a word required: 'old word' becomes 'old +word'."""
    parts = request.query.words.split()
    index = next((i for i, part in enumerate(parts) if part.casefold() == word.casefold()), None)
    if index is None:
        parts.append("+" + word)
    else:
        parts[index] = "+" + parts[index]
    return request_url(request, q=" ".join(parts), start=0)


def queries_without_one_word(query: Query) -> list[tuple[str, Query]]:
    """Return, for a short query, each word with the query without it. They ask for one result only."""
    parts = query.words.split()
    if not 1 < len(parts) <= _MAX_WORDS:
        return []
    rest = [" ".join(parts[:i] + parts[i + 1 :]) for i in range(len(parts))]
    return [
        (part, msgspec.structs.replace(query, words=words, size=1, verbatim=True))
        for part, words in zip(parts, rest, strict=True)
    ]


def page_numbers(query: Query, total: int, shown: int, max_start: int) -> list[int]:
    """Return the page numbers, from 1, to link to: around the current one, never past the last."""
    current = query.start // query.size + 1
    last = min(-(-total // query.size), max_start // query.size + 1)
    if shown < query.size:
        last = current
    first = max(1, min(current - _MAX_PAGE_LINKS // 2, last - _MAX_PAGE_LINKS + 1))
    return list(range(first, min(first + _MAX_PAGE_LINKS - 1, last) + 1))
