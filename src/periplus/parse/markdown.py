"""Markdown to a Page: headings, links, images and emphasis by their marks, the rest as text."""

import re
from typing import Final

from periplus.parse.charsets import decode
from periplus.parse.head import Head
from periplus.parse.links import Links, absolute
from periplus.parse.tidy import iso_date, one_line, paragraphs
from periplus.records import Fetched, Link, Media, Page
from periplus.settings import ParseSettings

__all__ = ["read_markdown"]

_ATX: Final = re.compile(r" {0,3}#{1,6}[ \t]+(?=\S)")
_UNDERLINE: Final = re.compile(r" {0,3}(?:={3,}|-{3,})\s*\Z")
_FENCE: Final = re.compile(r" {0,3}(?:```|~~~)")
_LINK: Final = re.compile(r"(!?)\[([^\[\]\n]{0,500})\]\(\s{0,8}<?([^\s()<>]{1,2000})>?(?:\s[^()\n]{0,300})?\)")
_LINKED_IMAGE: Final = re.compile(r"\[(!\[[^\[\]\n]{0,500}\]\([^\s()]{1,2000}\))\]\(([^\s()]{1,2000})\)")
_DEFINITION: Final = re.compile(r" {0,3}\[([^\[\]\n]{1,200})\]:\s{0,8}<?([^\s<>]{1,2000})>?")
_REFERENCE: Final = re.compile(r"\[([^\[\]\n]{1,300})\]\[([^\[\]\n]{0,200})\]")
_BARE: Final = re.compile(r"<?(https?://[^\s<>\"')\]]{1,1000})>?")
_STRONG: Final = re.compile(r"(\*\*|__)(?=\S)([^*_\n]{1,100})(?<=\S)\1")
_MARKS: Final = re.compile(r"^\s{0,12}(?:[-*+>]|\d{1,9}[.)])\s+|(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|`+")
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>\n]{0,500}>")
_PROPERTY: Final = re.compile(r"(\w{2,20}):\s*[\"']?([^\n]{1,300}?)[\"']?\s*\Z")
_MOST_MEDIA: Final = 100
_MOST_HEADINGS: Final = 64
_MOST_DEFINITIONS: Final = 5_000


class _Notes:
    """What is gathered on the way through the lines."""

    def __init__(self, base: str, most: int, nofollow: bool) -> None:
        self.base = base
        self.links = Links(base, most)
        self.nofollow = nofollow
        self.images: dict[str, str] = {}
        self.emphasis: dict[str, None] = {}
        self.headings: list[str] = []
        self.lines: list[str] = []
        self.targets: dict[str, str] = {}


def read_markdown(fetched: Fetched, settings: ParseSettings) -> Page:
    """Read a Markdown file, with or without front matter."""
    raw, charset = decode(fetched.body[: 4 * settings.max_text + 4], fetched.header("content-type"), markup=False)
    head = Head(fetched, fetched.due.address.url)
    lines = raw.replace("\r\n", "\n").split("\n")
    about, first = _front_matter(lines)
    notes = _Notes(fetched.due.address.url, settings.max_links, head.nofollow)
    for line in lines[first:]:
        if (found := _DEFINITION.match(line)) and len(notes.targets) < _MOST_DEFINITIONS:
            notes.targets[found[1].lower()] = found[2]
    _read_lines(lines[first:], notes)
    text = paragraphs("\n".join(notes.lines), settings.max_text)
    title = about.get("title") or (notes.headings[0] if notes.headings else text.partition("\n")[0])
    return Page(
        url=fetched.due.address.url,
        title=one_line(title, 300),
        headings=tuple(notes.headings),
        emphasis=tuple(notes.emphasis),
        text=text,
        links=notes.links.taken(head.nofollow),
        description=one_line(about.get("description", ""), 500),
        language=head.language,
        charset=charset,
        kind="text/markdown",
        noindex=head.noindex,
        nofollow=head.nofollow,
        published=iso_date(about.get("date", "")),
        author=one_line(about.get("author", ""), 200),
        images=tuple(Link(url, alt) for url, alt in notes.images.items()),
        media=tuple(Media(url, "image", alt) for url, alt in notes.images.items()),
    )


def _front_matter(lines: list[str]) -> tuple[dict[str, str], int]:
    """Read 'key: value' lines between two lines of dashes at the very top."""
    if not lines or lines[0].rstrip() != "---":
        return {}, 0
    about: dict[str, str] = {}
    for number, line in enumerate(lines[1:200], 1):
        if line.rstrip() in {"---", "..."}:
            return about, number + 1
        if found := _PROPERTY.match(line):
            about.setdefault(found[1].lower(), found[2])
    return {}, 0


def _read_lines(lines: list[str], notes: _Notes) -> None:
    fenced = False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            notes.lines.append(line)
        elif _UNDERLINE.match(line):
            if notes.lines and notes.lines[-1].strip() and "=" in line:
                _head(notes.lines[-1], notes)
        elif not _DEFINITION.match(line):
            _read_line(line, notes)


def _read_line(line: str, notes: _Notes) -> None:
    found = _ATX.match(line)
    for strong in _STRONG.finditer(line[:10_000]):
        if len(notes.emphasis) < 200:
            notes.emphasis[one_line(strong[2], 100)] = None
    shown = _plain(line[found.end() :].rstrip(" \t#") if found else line, notes)
    notes.lines.append(shown)
    if found:
        _head(shown, notes)


def _head(text: str, notes: _Notes) -> None:
    heading = one_line(text, 300)
    if heading and len(notes.headings) < _MOST_HEADINGS:
        notes.headings.append(heading)


def _plain(line: str, notes: _Notes) -> str:
    """Take the links out of a line, and give what it shows."""

    def linked_image(found: re.Match[str]) -> str:
        alt = _LINK.sub(link, found[1])
        notes.links.add(found[2], alt)
        return alt

    def link(found: re.Match[str]) -> str:
        if found[1]:
            url = absolute(found[3], notes.base)
            if url and len(notes.images) < _MOST_MEDIA:
                notes.images.setdefault(url, one_line(found[2], 300))
        else:
            notes.links.add(found[3], found[2])
        return found[2]

    def reference(found: re.Match[str]) -> str:
        notes.links.add(notes.targets.get((found[2] or found[1]).lower()), found[1])
        return found[1]

    if "[" in line:
        line = _REFERENCE.sub(reference, _LINK.sub(link, _LINKED_IMAGE.sub(linked_image, line)))
    if "http" in line:
        for bare in _BARE.findall(line):
            notes.links.add(bare.rstrip(".,;:"))
    if "<" in line:
        line = _TAG.sub(" ", line)
    return _MARKS.sub("", line)
