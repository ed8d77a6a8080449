"""Any XML to a Page: a line for each element that has text of its own; a sitemap becomes a list."""

from itertools import zip_longest
from typing import Final

from periplus.discovery import SITEMAP_ROOTS, local_name, parse_sitemap, walk
from periplus.parse.link_collector import LinkCollector
from periplus.parse.page_head import PageHead
from periplus.parse.text_cleanup import one_line, paragraphs
from periplus.records import LIST_KIND, FetchResult, Page
from periplus.settings import ParseSettings

__all__ = ["parse_xml"]

_TITLES: Final = frozenset({"title", "name", "label"})
_LINKS: Final = frozenset({"href", "src", "url", "schemaLocation", "location"})


def parse_xml(result: FetchResult, settings: ParseSettings) -> Page | None:
    """Return the page of XML that has no parser of its own; None if no element of it can be read."""
    url = result.request.address.url
    collector = _LineCollector(url, settings)
    walk(result.body, collector.start, collector.end, collector.add_text)
    if not collector.root:
        return None
    head = PageHead(result, url)
    if collector.root in SITEMAP_ROOTS:
        return _sitemap_page(result, settings, head)
    text = paragraphs("\n".join(collector.lines), settings.max_text)
    return Page(
        url=url,
        title=collector.title or one_line(text.partition("\n")[0], 200),
        text=text,
        links=collector.links.collected(head.nofollow),
        language=head.language,
        kind="application/xml",
        noindex=head.noindex,
        nofollow=head.nofollow,
    )


def _sitemap_page(result: FetchResult, settings: ParseSettings, head: PageHead) -> Page:
    """Return the page of a sitemap: its links, and when the page behind each was changed."""
    sitemap = parse_sitemap(result.body)
    collector = LinkCollector(result.request.address.url, settings.all_links)
    dates: dict[str, float] = {}
    for reference, date in zip_longest(sitemap.pages, sitemap.changed, fillvalue=0.0):
        dates[collector.add(str(reference))] = float(date)
    for reference in sitemap.sitemaps:
        collector.add(reference)
    links = collector.collected(head.nofollow)
    changed = tuple(dates.get(link.url, 0.0) for link in links)
    return Page(
        url=result.request.address.url,
        title=one_line(links[0].url if links else "", 200),
        links=links,
        language=head.language,
        kind=LIST_KIND,
        noindex=True,
        nofollow=head.nofollow,
        changed=changed if any(changed) else (),
    )


class _LineCollector:
    """Collects a line for each element with text of its own, and the links in attributes and texts."""

    def __init__(self, base: str, settings: ParseSettings) -> None:
        self.root = ""
        self.title = ""
        self.lines: list[str] = []
        self.links = LinkCollector(base, settings.all_links)
        self._remaining = 2 * settings.max_text
        self._text: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> bool:
        """Begin an element: the text before it is a line of its own. A sitemap is not walked here."""
        self.root = self.root or name
        self._end_line()
        for key, value in attributes.items():
            if local_name(key) in _LINKS and not key.startswith("xmlns"):
                self.links.add(value)
        return self._remaining > 0 and self.root not in SITEMAP_ROOTS

    def add_text(self, text: str) -> None:
        self._remaining -= len(text)
        self._text.append(text)

    def end(self, name: str) -> None:
        """End an element; the first title becomes the page's."""
        line = self._end_line()
        if line and name in _TITLES and not self.title:
            self.title = one_line(line, 300)
        elif name in {"loc", "link", "url"} and line.startswith("http"):
            self.links.add(line)

    def _end_line(self) -> str:
        line = "".join(self._text).strip()
        self._text.clear()
        if line:
            self.lines.append(" ".join(line.split()))
        return line
