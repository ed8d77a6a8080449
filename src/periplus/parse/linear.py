"""HTML to a Page without a tree: one pass from tag to tag, for pages that would cost a tree builder too much."""

import html
import re
from collections.abc import Iterator
from typing import Final

from periplus.parse.head import Head
from periplus.parse.links import Links
from periplus.parse.tidy import one_line, paragraphs
from periplus.records import Fetched, Page
from periplus.settings import ParseSettings

__all__ = ["read_linear"]

_TAG: Final = re.compile(r"<(?:!--|(/?[a-zA-Z][^\s/>]{0,40})((?:[^>=]++|=(?:\s*+(?:\"[^\"]*\"|'[^']*'))?)*+)>?)")
_ATTRIBUTE: Final = re.compile(r"(?<![^\s/\"'])([^\s/=\"'>]++)\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_ENDS: Final = {
    name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style", "title", "textarea", "svg")
}
_INLINE: Final = frozenset(
    [
        "a",
        "abbr",
        "b",
        "big",
        "cite",
        "code",
        "em",
        "font",
        "i",
        "mark",
        "nobr",
        "s",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
_READ: Final = frozenset({"a", "area", "base", "html", "link", "meta"})
_MOST_TAGS: Final = 100_000
_LONGEST_ATTRIBUTES: Final = 8_192
_LONGEST_TITLE: Final = 300


def read_linear(text: str, charset: str, fetched: Fetched, settings: ParseSettings) -> Page:
    """Read title, text, links and head of an HTML page, in time linear in its length."""
    reader = _Reader(fetched, settings)
    reader.read(text)
    head = reader.head
    return Page(
        url=fetched.due.address.url,
        title=reader.title,
        text=paragraphs(html.unescape("".join(reader.pieces)), settings.max_text),
        links=reader.links.taken(head.nofollow),
        canonical=head.canonical,
        description=head.description,
        language=head.language,
        charset=charset,
        noindex=head.noindex,
        nofollow=head.nofollow,
        published=head.published,
        feeds=tuple(head.feeds),
    )


class _Reader:
    def __init__(self, fetched: Fetched, settings: ParseSettings) -> None:
        self.head = Head(fetched, fetched.due.address.url)
        self.links = Links(self.head.base, settings.max_links)
        self.pieces: list[str] = []
        self.title = ""
        self._most_text = 4 * settings.max_text
        self._open_link: tuple[str, bool, int] | None = None

    def read(self, text: str) -> None:
        """Go from tag to tag, keeping what is between."""
        length = 0
        for piece, tag, attributes in _steps(text):
            self.pieces.append(piece)
            length += len(piece)
            if length > self._most_text:
                break
            if tag == "title" and not self.title:
                self.title = one_line(html.unescape(attributes), _LONGEST_TITLE)
            elif tag in _READ:
                self._take(tag, attributes)
            elif tag == "/a":
                self._end_link()
            if tag.removeprefix("/") not in _INLINE:
                self.pieces.append("\n")
        self._end_link()
        self.links.add(self.head.refresh)

    def _take(self, tag: str, raw: str) -> None:
        attributes = _attributes(raw)
        if tag in {"a", "area"}:
            self._end_link()
            nofollow = "nofollow" in (attributes.get("rel") or "").lower()
            self._open_link = (attributes.get("href") or "", nofollow, len(self.pieces))
        elif tag == "meta":
            self.head.meta(attributes)
        elif tag == "link":
            self.head.link(attributes)
        elif tag == "base":
            self.head.set_base(attributes.get("href"))
            self.links.rebase(self.head.base)
        else:
            self.head.set_language(attributes.get("lang"))

    def _end_link(self) -> None:
        if self._open_link:
            reference, nofollow, start = self._open_link
            self.links.add(reference, html.unescape(" ".join(self.pieces[start : start + 16])[:1_000]), nofollow)
            self._open_link = None


def _steps(text: str) -> Iterator[tuple[str, str, str]]:
    """Give each stretch of text with the tag that follows it, in lower case, and the tag's attributes.

    What scripts, styles and comments hold is passed over; the attributes of 'title' are its text.
    """
    place = 0
    for _ in range(_MOST_TAGS):
        found = _TAG.search(text, place)
        if found is None:
            yield text[place:], "", ""
            return
        before, place = text[place : found.start()], found.end()
        if found[1] is None:
            end = text.find("-->", place)
            place = end + 3 if end >= 0 else len(text)
            yield before, "", ""
            continue
        tag, attributes = found[1].lower(), found[2][:_LONGEST_ATTRIBUTES]
        if tag in _ENDS:
            end_tag = _ENDS[tag].search(text, place)
            stop = end_tag.start() if end_tag else len(text)
            attributes, place = text[place : min(stop, place + _LONGEST_ATTRIBUTES)], stop
        yield before, tag, attributes


def _attributes(raw: str) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(raw):
        found.setdefault(name.lower(), html.unescape(double or single or bare))
    return found
