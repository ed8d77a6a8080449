"""Any XML to a Page: what is between the tags, a line for each element that has text of its own."""

from typing import Final

from periplus.discovery import local, walk
from periplus.parse.link_collector import Links
from periplus.parse.page_head import Head
from periplus.parse.text_cleanup import one_line, paragraphs
from periplus.records import LIST_KIND, FetchResult, Page
from periplus.settings import ParseSettings

__all__ = ["read_xml"]

_TITLES: Final = frozenset({"title", "name", "label"})
_LINKS: Final = frozenset({"href", "src", "url", "schemaLocation", "location"})
_LISTS: Final = frozenset({"urlset", "sitemapindex"})


def read_xml(fetched: FetchResult, settings: ParseSettings) -> Page | None:
    """Read an XML file that no other reader takes; None when no element of it could be read."""
    reading = _Reading(fetched.request.address.url, settings)
    walk(fetched.body, reading.start, reading.end, reading.text)
    if not reading.root:
        return None
    head = Head(fetched, fetched.request.address.url)
    is_list = reading.root in _LISTS
    text = paragraphs("\n".join(reading.lines), settings.max_text)
    return Page(
        url=fetched.request.address.url,
        title=reading.title or one_line(text.partition("\n")[0], 200),
        text="" if is_list else text,
        links=reading.links.taken(head.nofollow),
        language=head.language,
        kind=LIST_KIND if is_list else "application/xml",
        noindex=head.noindex or is_list,
        nofollow=head.nofollow,
    )


class _Reading:
    def __init__(self, base: str, settings: ParseSettings) -> None:
        self.root = ""
        self.title = ""
        self.lines: list[str] = []
        self.links = Links(base, settings.max_links)
        self._left = 2 * settings.max_text
        self._current: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> bool:
        """Begin an element: the text before it is a line of its own."""
        self.root = self.root or name
        self._break()
        for key, value in attributes.items():
            if local(key) in _LINKS and not key.startswith("xmlns"):
                self.links.add(value)
        return self._left > 0

    def text(self, text: str) -> None:
        """Take a piece of text."""
        self._left -= len(text)
        self._current.append(text)

    def end(self, name: str) -> None:
        """End an element; the first title there is becomes the page's."""
        line = self._break()
        if line and name in _TITLES and not self.title:
            self.title = one_line(line, 300)
        elif name in {"loc", "link", "url"} and line.startswith("http"):
            self.links.add(line)

    def _break(self) -> str:
        line = "".join(self._current).strip()
        self._current.clear()
        if line:
            self.lines.append(" ".join(line.split()))
        return line
