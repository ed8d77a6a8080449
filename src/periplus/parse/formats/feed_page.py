"""RSS and Atom to a Page that is a list: entries as links with their titles, enclosures as media."""

import html
import re
from email.utils import parsedate_to_datetime
from typing import Final

from periplus.discovery import walk
from periplus.parse.link_collector import Links, absolute
from periplus.parse.page_head import Head
from periplus.parse.text_cleanup import iso_date, one_line, paragraphs
from periplus.records import LIST_KIND, FetchResult, Media, Page
from periplus.settings import ParseSettings

__all__ = ["read_feed_page", "rough_text"]

_MOST_MEDIA: Final = 500
_LONGEST: Final = 4_096
_TAGS: Final = re.compile(r"<[^<>]{0,2000}>")
_ENTRIES: Final = frozenset({"item", "entry"})
_KINDS: Final = frozenset({"audio", "video", "image"})
_ENDINGS: Final = {
    "audio": (".mp3", ".m4a", ".ogg", ".oga", ".opus", ".wav", ".flac"),
    "video": (".mp4", ".m4v", ".webm", ".mov", ".ogv"),
    "image": (".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif"),
}
_WORDS: Final = frozenset(
    {"title", "link", "guid", "id", "description", "summary", "content", "encoded", "subtitle", "author", "name"}
    | {"creator", "pubDate", "published", "updated", "date", "lastBuildDate", "language"}
)


def rough_text(markup: str, most: int) -> str:
    """Give the text of a piece of HTML in one line: tags out, references read."""
    return one_line(html.unescape(_TAGS.sub(" ", markup[: 4 * most])), most)


def read_feed_page(fetched: FetchResult, settings: ParseSettings) -> Page | None:
    """Read a feed of any kind; None when there is no feed in it."""
    feed = _Feed(fetched.request.address.url, settings.max_links)
    walk(fetched.body, feed.start, feed.end, feed.text)
    if not feed.known:
        return None
    head = Head(fetched, fetched.request.address.url)
    about = feed.about
    return Page(
        url=fetched.request.address.url,
        title=rough_text(about.get("title", ""), 300),
        text=paragraphs("\n".join(feed.lines), settings.max_text),
        links=feed.links.taken(head.nofollow),
        description=rough_text(about.get("description", "") or about.get("subtitle", ""), 500),
        language=head.language or about.get("language", "")[:2].lower(),
        kind=LIST_KIND,
        noindex=True,
        nofollow=head.nofollow,
        published=_date(about),
        author=rough_text(about.get("name", "") or about.get("author", ""), 200),
        media=tuple(feed.media.values()),
    )


class _Feed:
    """Gathers the feed's own words and those of each entry while the XML is walked through."""

    def __init__(self, base: str, most: int) -> None:
        self.known = False
        self.about: dict[str, str] = {}
        self.lines: list[str] = []
        self.links = Links(base, most)
        self.media: dict[str, Media] = {}
        self._base = base
        self._most = most
        self._entry: dict[str, str] | None = None
        self._attached: list[tuple[str, str]] = []
        self._names: list[str] = []
        self._current: list[str] = []
        self._length = 0

    def start(self, name: str, attributes: dict[str, str]) -> bool:
        """Begin an element; False when there are entries enough."""
        self.known = self.known or name in {"rss", "feed", "RDF"}
        self._names.append(name)
        if name in _ENTRIES:
            self._entry, self._attached = {}, []
        elif name == "link" and "href" in attributes:
            self._refer(attributes)
        elif name in {"enclosure", "content", "thumbnail"} and attributes.get("url"):
            kind = attributes.get("type", "") or attributes.get("medium", "") or ("image" * (name == "thumbnail"))
            self._attached.append((attributes["url"], kind))
        # A paragraph within an Atom text of type xhtml goes on with the text; any other element begins its own.
        if name in _WORDS:
            self._current, self._length = [], 0
        return self.known and len(self.lines) < self._most

    def _refer(self, attributes: dict[str, str]) -> None:
        where = self._entry if self._entry is not None else self.about
        relation = attributes.get("rel", "alternate")
        if relation == "alternate":
            where.setdefault("link", attributes["href"])
        elif relation == "enclosure":
            self._attached.append((attributes["href"], attributes.get("type", "")))

    def text(self, text: str) -> None:
        """Take a piece of text of the innermost element that matters."""
        if self._length < _LONGEST:
            self._current.append(text)
            self._length += len(text)

    def end(self, name: str) -> None:
        """End an element; at the end of an entry its link is known."""
        if self._names:
            self._names.pop()
        if name in _ENTRIES:
            self._end_entry()
        elif name in _WORDS:
            where = self._entry if self._entry is not None else self.about
            value = "".join(self._current)[:_LONGEST].strip()
            if value and not (self._entry is None and self._names[-1:] == ["image"]):
                where.setdefault(name, value)
            self._current, self._length = [], 0

    def _end_entry(self) -> None:
        entry, self._entry = self._entry or {}, None
        title = rough_text(entry.get("title", ""), 300)
        told = next((entry[key] for key in ("description", "summary", "content", "encoded") if key in entry), "")
        self.links.add(entry.get("link") or entry.get("guid") or entry.get("id"), title)
        line = f"{title}: {rough_text(told, 300)}" if told else title
        if line:
            self.lines.append(line)
        for reference, kind in self._attached[:16]:
            self._attach(reference, kind, title or line)

    def _attach(self, reference: str, kind: str, text: str) -> None:
        url = absolute(reference, self._base)
        sort = kind.partition("/")[0].lower()
        if sort not in _KINDS:
            path = url.partition("?")[0].lower()
            sort = next((known for known, endings in _ENDINGS.items() if path.endswith(endings)), "")
        if url and sort and len(self.media) < _MOST_MEDIA:
            self.media.setdefault(url, Media(url, sort, text))


def _date(about: dict[str, str]) -> str:
    raw = next((about[key] for key in ("pubDate", "lastBuildDate", "published", "updated", "date") if key in about), "")
    if iso := iso_date(raw):
        return iso
    try:
        return parsedate_to_datetime(raw[:64]).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""
