"""Feeds: RSS (any version) and Atom to entries with links, titles, summaries, dates and enclosures."""

from typing import Final, NamedTuple

from periplus.discovery.dates import parse_timestamp
from periplus.discovery.xml_walker import bounded_body, walk

__all__ = ["FEED_ROOTS", "Enclosure", "Feed", "FeedEntry", "parse_feed"]

FEED_ROOTS: Final = frozenset({"rss", "feed", "RDF"})
"""Root elements of feeds."""
_MAX_ENTRIES: Final = 10_000
_MAX_ENTRY_LINKS: Final = 16
_MAX_ENCLOSURES: Final = 16
_MAX_TEXT: Final = 4_096
_ENTRY_NAMES: Final = frozenset({"item", "entry"})
_ENTRY_DATES: Final = frozenset({"pubDate", "date", "published", "updated", "modified"})
_FEED_DATES: Final = ("pubDate", "lastBuildDate", "published", "updated", "date")
_SUMMARIES: Final = ("description", "summary", "content", "encoded")
"""Elements that hold an entry's text, the one that is used first."""
_OWN_NAMES: Final = frozenset({"image", "textInput", "textinput"})
"""Elements of a channel whose title, link and name are not the channel's."""
_TEXT_NAMES: Final = frozenset(
    {"title", "link", "guid", "id", "subtitle", "author", "name", "creator", "language"}
    | {*_ENTRY_DATES, *_FEED_DATES, *_SUMMARIES}
)


class Enclosure(NamedTuple):
    """A file that an entry refers to: an episode, a picture, a film."""

    url: str
    media_type: str
    """MIME type or medium ('image') as declared, '' if it is not."""


class FeedEntry(NamedTuple):
    """One entry of a feed, as written: URLs may be relative, texts may hold HTML."""

    links: tuple[str, ...] = ()
    title: str = ""
    summary: str = ""
    changed: float = 0.0
    """Latest date of the entry, in seconds since 1970, 0.0 if it has none."""
    enclosures: tuple[Enclosure, ...] = ()


class Feed(NamedTuple):
    """A feed, as written."""

    entries: tuple[FeedEntry, ...] = ()
    title: str = ""
    description: str = ""
    author: str = ""
    language: str = ""
    date: str = ""
    problem: str = ""
    """Why not all of it was read; '' if all was."""

    def dated_links(self, limit: int = _MAX_ENTRIES) -> dict[str, float]:
        """Return up to `limit` links of the entries in their order, each with the date of its latest change."""
        dates: dict[str, float] = {}
        for entry in self.entries:
            for link in entry.links:
                if link in dates or len(dates) < limit:
                    dates[link] = max(dates.get(link, 0.0), entry.changed)
        return dates


def parse_feed(body: bytes, max_entries: int = _MAX_ENTRIES) -> Feed | None:
    """Return up to `max_entries` entries of a feed and what it says about itself; None if the root is not a feed's."""
    plain, problem = bounded_body(body)
    builder = _FeedBuilder(max_entries)
    problem = walk(plain, builder.start, builder.end, builder.add_text) or problem
    return builder.build(problem) if builder.is_feed else None


class _FeedBuilder:
    """Collects the texts of the feed and of its entries while the XML is walked."""

    def __init__(self, max_entries: int) -> None:
        self.is_feed = False
        self._max_entries = max_entries
        self._path: list[str] = []
        self._channel: dict[str, str] = {}
        self._entries: list[FeedEntry] = []
        self._entry: _EntryBuilder | None = None
        self._text: list[str] = []
        self._length = 0
        self._is_permalink = False

    def start(self, name: str, attributes: dict[str, str]) -> bool:
        if not self._path:
            self.is_feed = name in FEED_ROOTS
        parent = self._path[-1] if self._path else ""
        self._path.append(name)
        if name in _ENTRY_NAMES:
            self._entry = _EntryBuilder(name, attributes.get("rdf:about", ""))
        elif self._entry is not None and attributes:
            self._entry.add_attributes(name, parent, attributes)
            self._is_permalink = attributes.get("isPermaLink", "true") == "true"
        else:
            self._is_permalink = True
        # An element within the markup of an Atom text continues that text; any other text begins anew.
        if name in _TEXT_NAMES:
            self._text, self._length = [], 0
        return self.is_feed and len(self._entries) < self._max_entries

    def add_text(self, text: str) -> None:
        if self._length < _MAX_TEXT:
            self._text.append(text)
            self._length += len(text)

    def end(self, name: str) -> None:
        self._path.pop()
        if name in _ENTRY_NAMES:
            self._end_entry()
        elif name in _TEXT_NAMES:
            text = "".join(self._text)[:_MAX_TEXT].strip()
            parent = self._path[-1] if self._path else ""
            if text and self._entry is not None:
                self._entry.add_text(name, parent, text, self._is_permalink)
            elif text and parent not in _OWN_NAMES:
                self._channel.setdefault(name, text)
            self._text, self._length = [], 0

    def _end_entry(self) -> None:
        if self._entry is not None:
            self._entries.append(self._entry.build())
            self._entry = None

    def build(self, problem: str) -> Feed:
        """Return the feed. The links of an entry that breaks off count, as do all before it."""
        if self._entry is not None and self._entry.links:
            self._end_entry()
        channel = self._channel
        return Feed(
            tuple(self._entries),
            channel.get("title", ""),
            channel.get("description", "") or channel.get("subtitle", ""),
            channel.get("name", "") or channel.get("author", ""),
            channel.get("language", ""),
            next((channel[key] for key in _FEED_DATES if key in channel), ""),
            problem,
        )


class _EntryBuilder:
    """Collects the parts of one entry."""

    def __init__(self, name: str, resource: str) -> None:
        self.links: list[str] = []
        self._name = name
        self._identifiers = [resource]
        self._texts: dict[str, str] = {}
        self._changed = 0.0
        self._enclosures: list[Enclosure] = []

    def add_attributes(self, name: str, parent: str, attributes: dict[str, str]) -> None:
        """Add a link or an enclosure that an element has in its attributes."""
        if name == "link" and "href" in attributes:
            relation = attributes.get("rel", "alternate")
            if relation == "enclosure":
                self._enclosures.append(Enclosure(attributes["href"], attributes.get("type", "")))
            elif relation == "alternate" and parent == self._name and (self._name == "entry" or not self.links):
                self._add_link(attributes["href"].strip())
        elif name in {"enclosure", "content", "thumbnail"} and attributes.get("url"):
            declared = attributes.get("type", "") or attributes.get("medium", "")
            self._enclosures.append(Enclosure(attributes["url"], declared or ("image" * (name == "thumbnail"))))

    def add_text(self, name: str, parent: str, text: str, is_permalink: bool) -> None:
        """Add the text of an element; links, identifiers and dates count only directly in the entry."""
        if parent == self._name:
            if name == "link":
                self._add_link(text)
            elif name in _ENTRY_DATES:
                self._changed = max(self._changed, parse_timestamp(text))
            elif name == "id" or (name == "guid" and is_permalink):
                self._identifiers.append(text)
        self._texts.setdefault(name, text)

    def _add_link(self, link: str) -> None:
        if link and len(self.links) < _MAX_ENTRY_LINKS:
            self.links.append(link)

    def build(self) -> FeedEntry:
        """Return the entry; without a link, an identifier that is a URL stands for it."""
        fallback = next((text for text in self._identifiers if text.startswith(("http://", "https://"))), "")
        links = self.links or ([fallback] if fallback else [])
        return FeedEntry(
            tuple(links),
            self._texts.get("title", ""),
            next((self._texts[key] for key in _SUMMARIES if key in self._texts), ""),
            self._changed,
            tuple(self._enclosures[:_MAX_ENCLOSURES]),
        )
