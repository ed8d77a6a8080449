"""A result page in formats for programs: JSON as SearXNG writes it with fields of our own, RSS, CSV."""

import csv
import io
from collections.abc import Sequence
from typing import Any, Final
from xml.sax.saxutils import escape

import msgspec

from periplus.records import Card, Hit, PageFlag, ResultPage
from periplus.serve.pages import number_formats
from periplus.serve.pages.page_links import result_link
from periplus.serve.search_request import SearchRequest, request_url

__all__ = ["EMPTY_NOTE", "as_csv", "as_json", "as_rss"]

EMPTY_NOTE: Final = "Nothing is indexed yet: crawl a site, or send documents to /api/documents."
"""The note of an answer where nothing is indexed."""

_ENGINE: Final = "periplus"
_COLUMNS: Final = ("title", "url", "content", "host", "engine", "score", "type")
_DAY: Final = 86_400
_SITE: Final = ("site", "outcome", "milliseconds", "results", "reason")


def as_json(page: ResultPage, request: SearchRequest | None = None, answers: Sequence[str] = ()) -> dict[str, Any]:
    """Return a result page in the JSON format of SearXNG, with additional fields."""
    query, request = page.query, request or SearchRequest(page.query)
    notes = [*page.notes, "The query was too long and was truncated."] if request.truncated else list(page.notes)
    asked, missing = page.shards
    shards = {"asked": asked, "answered": asked - len(missing), "missing": missing}
    return {
        "query": query.words,
        "number_of_results": page.total,
        "results": [_result(hit, query.start + n, request.tab) for n, hit in enumerate(page.hits, 1)],
        "answers": list(answers),
        "corrections": list(page.corrections),
        "showing_for": page.showing_for,
        "infoboxes": [_infobox(page.card)] if page.card else [],
        "suggestions": [],
        "unresponsive_engines": [],
        "start": query.start,
        "count": query.size,
        "exact": page.exact,
        "partial": page.partial,
        "unsearched": page.unsearched,
        "seconds": page.seconds,
        "timings": dict(page.timings),
        "documents": page.documents,
        "generation": page.generation,
        "hidden": page.hidden,
        "notes": notes,
        **({"facets": _facets(page)} if page.facets else {}),
        **({"shards": shards} if asked else {}),
        **({"sites": [dict(zip(_SITE, site, strict=True)) for site in page.sites]} if page.sites else {}),
    }


def _facets(page: ResultPage) -> dict[str, Any]:
    """Return the counts of values by field, and the least and largest value of numbers and dates."""
    return {
        name: {"values": dict(values), **({"min": span[0], "max": span[1]} if span else {})}
        for name, values, span in page.facets
    }


def _infobox(card: Card) -> dict[str, Any]:
    return {
        "infobox": card.title,
        "id": card.url,
        "content": card.text,
        "engine": _ENGINE,
        "attributes": [{"label": name, "value": value} for name, value in card.facts],
        "urls": [{"title": card.title, "url": card.url}],
    }


def _result(hit: Hit, position: int, tab: str) -> dict[str, Any]:
    return {
        "url": hit.url,
        "title": hit.title,
        "content": _content(hit),
        "engine": _ENGINE,
        "engines": [_ENGINE],
        "parsed_url": _parts(hit.url),
        "template": "default.html",
        "positions": [position],
        "score": hit.score,
        "category": "general" if tab == "web" else tab,
        "publishedDate": number_formats.iso(_published(hit)) or None,
        "thumbnail": "",
        "img_src": next((media.url for media in hit.media if media.kind == "image"), ""),
        "media": [{"url": media.url, "kind": media.kind, "text": media.text} for media in hit.media],
        "priority": "",
        "snippet": [{"text": text, "marked": marked} for text, marked in hit.snippet],
        "answer": _content(hit)[hit.answer[0] : hit.answer[1]],
        "trail": hit.breadcrumbs,
        "key": f"{hit.key:016x}",
        "cached": "" if hit.flags & PageFlag.NOARCHIVE else f"/cached/{hit.key:016x}",
        "language": hit.language,
        "fetched": hit.fetched,
        "kind": hit.kind,
        "missing": hit.missing,
        "similar": hit.similar,
        "links": [{"title": title, "url": url} for title, url in hit.links],
        "explain": [{"name": name, "value": value} for name, value in hit.reasons],
        **({"document": msgspec.Raw(hit.own_fields.encode("utf-8", "replace"))} if hit.own_fields else {}),
    }


def _published(hit: Hit) -> float:
    """Return the date that a page states as its own; 0 if only the day of its fetch is known."""
    return 0.0 if hit.day == int(hit.fetched // _DAY) else float(hit.day * _DAY)


def _content(hit: Hit) -> str:
    return "".join(text for text, _ in hit.snippet)


def _parts(url: str) -> list[str]:
    """Split a URL as SearXNG does: scheme, host, path, parameters, query, fragment."""
    rest, _, fragment = url.partition("#")
    rest, _, query = rest.partition("?")
    scheme, mark, rest = rest.partition("://")
    host, slash, path = rest.partition("/")
    return [scheme, host, slash + path, "", query, fragment] if mark else ["", "", scheme, "", query, fragment]


def as_csv(page: ResultPage) -> str:
    """Return a result page as CSV; a value that a spreadsheet would evaluate as a formula is quoted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(_COLUMNS)
    if page.showing_for:
        writer.writerow([_without_formula(page.showing_for), "", "", "", _ENGINE, "", "correction"])
    for hit in page.hits:
        host = hit.breadcrumbs[0] if hit.breadcrumbs else ""
        row = (hit.title, hit.url, _content(hit), host, _ENGINE, f"{hit.score:.4f}", "result")
        writer.writerow([_without_formula(value) for value in row])
    return out.getvalue()


def _without_formula(value: str) -> str:
    flat = " ".join(value.split())
    return "'" + flat if flat[:1] in ("=", "+", "-", "@") else flat


def as_rss(page: ResultPage, request: SearchRequest, base: str) -> str:
    """Return a result page as an RSS feed."""
    words = _xml(page.showing_for or page.query.words)
    instead = f" instead of {_xml(page.query.words)}" if page.showing_for else ""
    items = "".join(_item(hit, base) for hit in page.hits)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<rss version="2.0" xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/"><channel>\n'
        f"<title>{words} · Periplus</title><link>{_xml(base + request_url(request))}</link>"
        f"<description>Results for {words}{instead}</description>\n"
        f"<opensearch:totalResults>{page.total}</opensearch:totalResults>"
        f"<opensearch:startIndex>{page.query.start + 1}</opensearch:startIndex>"
        f"<opensearch:itemsPerPage>{page.query.size}</opensearch:itemsPerPage>\n"
        f"{items}</channel></rss>\n"
    )


def _item(hit: Hit, base: str) -> str:
    link = result_link(hit)
    link = base + link if link.startswith("/") else link
    when = number_formats.mail_date(_published(hit))
    date = f"<pubDate>{when}</pubDate>" if when else ""
    return (
        f"<item><title>{_xml(hit.title)}</title><link>{_xml(link)}</link>"
        f"<description>{_xml(_content(hit))}</description>{date}"
        f'<guid isPermaLink="false">{hit.key:016x}</guid></item>\n'
    )


def _xml(text: str) -> str:
    """Escape a text for XML, and replace characters that XML does not allow."""
    clean = "".join(c if c >= " " and not 0xD800 <= ord(c) <= 0xDFFF and c not in "\ufffe\uffff" else " " for c in text)
    return escape(clean, {'"': "&quot;"})
