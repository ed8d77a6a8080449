"""RSS and Atom to a Page that is a list: entries as links with their titles and dates, enclosures as media.

A feed with episodes to hear or watch is a podcast: it is indexed itself, since nothing else may name its files.
"""

import html
import re
from email.utils import parsedate_to_datetime
from typing import Final

from periplus.discovery import Enclosure, Feed, FeedEntry, parse_feed
from periplus.parse.link_collector import LinkCollector, resolve_url
from periplus.parse.media_kinds import media_kind
from periplus.parse.page_head import PageHead
from periplus.parse.text_cleanup import language_code, one_line, paragraphs, parse_iso_date
from periplus.records import LIST_KIND, FetchResult, Media, Page
from periplus.settings import ParseSettings

__all__ = ["parse_feed_page", "strip_markup"]

_MAX_MEDIA: Final = 500
_TAGS: Final = re.compile(r"<[^<>]{0,2000}>")
_MEDIA_SORTS: Final = frozenset({"audio", "video", "image"})
_EPISODE_SORTS: Final = frozenset({"audio", "video"})


def strip_markup(markup: str, limit: int) -> str:
    """Return the text of a piece of HTML in one line: tags removed, character references decoded."""
    return one_line(html.unescape(_TAGS.sub(" ", markup[: 4 * limit])), limit)


def parse_feed_page(result: FetchResult, settings: ParseSettings) -> Page | None:
    """Return the page of a feed of any kind; None if the body is not a feed."""
    feed = parse_feed(result.body, settings.all_links)
    if feed is None:
        return None
    url = result.request.address.url
    head = PageHead(result, url)
    entries = _EntryCollector(url, settings.all_links)
    for entry in feed.entries:
        entries.add(entry)
    is_podcast = any(media.kind in _EPISODE_SORTS for media in entries.media.values())
    links = entries.links.collected(head.nofollow)
    changed = tuple(entries.changed.get(link.url, 0.0) for link in links)
    return Page(
        url=url,
        title=strip_markup(feed.title, 300),
        text=paragraphs("\n".join(entries.lines), settings.max_text),
        links=links,
        description=strip_markup(feed.description, 500),
        language=head.language or language_code(feed.language),
        kind=LIST_KIND,
        noindex=head.noindex or not is_podcast,
        nofollow=head.nofollow,
        published=_feed_date(feed),
        author=strip_markup(feed.author, 200),
        media=tuple(entries.media.values()),
        changed=changed if any(changed) else (),
    )


class _EntryCollector:
    """Collects a line, a link and the media of each entry, and the date of each link."""

    def __init__(self, base: str, max_links: int) -> None:
        self.lines: list[str] = []
        self.links = LinkCollector(base, max_links)
        self.changed: dict[str, float] = {}
        self.media: dict[str, Media] = {}
        self._base = base

    def add(self, entry: FeedEntry) -> None:
        """Add an entry; of several links, which are versions of one page, the first counts."""
        title = strip_markup(entry.title, 300)
        url = self.links.add(entry.links[0], title) if entry.links else ""
        if url:
            self.changed[url] = max(self.changed.get(url, 0.0), entry.changed)
        line = f"{title}: {strip_markup(entry.summary, 300)}" if entry.summary else title
        if line:
            self.lines.append(line)
        for enclosure in entry.enclosures:
            self._add_media(enclosure, title or line)

    def _add_media(self, enclosure: Enclosure, text: str) -> None:
        url = resolve_url(enclosure.url, self._base)
        sort = enclosure.media_type.partition("/")[0].lower()
        if sort not in _MEDIA_SORTS:
            sort = media_kind(url)
        if url and sort and len(self.media) < _MAX_MEDIA:
            self.media.setdefault(url, Media(url, sort, text))


def _feed_date(feed: Feed) -> str:
    """Return the day on which the feed was last changed, in ISO form, or ''."""
    if iso := parse_iso_date(feed.date):
        return iso
    try:
        return parsedate_to_datetime(feed.date[:64]).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""
