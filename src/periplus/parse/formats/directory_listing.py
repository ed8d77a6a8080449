"""Folders of ftp servers and menus of gopher servers: lines to a Page with links."""

import re
from typing import Final
from urllib.parse import quote, unquote

from periplus.parse.charset.decoding import decode
from periplus.parse.link_collector import LinkCollector
from periplus.parse.text_cleanup import one_line, paragraphs
from periplus.records import FetchResult, Page
from periplus.settings import ParseSettings

__all__ = ["parse_ftp_listing", "parse_gopher_menu"]

_UNIX: Final = re.compile(
    r"([bcdlps-])[rwxsStT-]{9}[.+@]?\s+\d+\s+.{1,80}?\s"
    r"(?:[A-Z][a-z]{2}\s+\d{1,2}\s+[\d:]{4,5}|\d{4}-\d\d-\d\d [\d:]{5})\s(.+)"
)
_DOS: Final = re.compile(r"\d\d-\d\d-\d{2,4}\s+\d\d:\d\d(?:AM|PM)?\s+(<DIR>|\d+)\s+(.+)")
_LONGEST_LINE: Final = 1_024
_MOST_LINES: Final = 100_000
_SHOWN: Final = frozenset("01hdP")
"""Menu entries that lead to something to read: texts, menus, pages, documents."""
_PAGE: Final = re.compile(r"/?URL:(https?://\S+)", re.IGNORECASE)


def parse_ftp_listing(fetched: FetchResult, settings: ParseSettings) -> Page:
    """Read the listing of a folder, of a Unix or a DOS server."""
    place = fetched.request.address
    links, names = LinkCollector(place.url, settings.max_links), []
    text, charset = decode(fetched.body, "text/plain", markup=False)
    for line in text.split("\n")[:_MOST_LINES]:
        name, is_folder = _entry(line.rstrip("\r")[:_LONGEST_LINE])
        if name in ("", ".", "..") or "/" in name:
            continue
        names.append(name)
        links.add(f"./{quote(name)}{'/' if is_folder else ''}", name)
    title = unquote(f"{place.host}{place.path}")
    shown = paragraphs("\n".join(names), settings.max_text)
    return Page(place.url, title, text=shown, links=links.collected(), charset=charset, kind="text/ftp-dir-listing")


def _entry(line: str) -> tuple[str, bool]:
    """Give the name in one line of a listing, and whether it is a folder's; '' when there is none."""
    unix = _UNIX.match(line)
    if unix is not None:
        kind, name = unix.groups()
        return (name.partition(" -> ")[0] if kind == "l" else name, kind == "d") if kind in "dl-" else ("", False)
    dos = _DOS.match(line)
    return (dos[2], dos[1] == "<DIR>") if dos is not None else ("", False)


def parse_gopher_menu(fetched: FetchResult, settings: ParseSettings) -> Page:
    """Read a menu: lines of type and name, selector, host and port, with tabs between them."""
    place = fetched.request.address
    links, lines = LinkCollector(place.url, settings.max_links), []
    text, charset = decode(fetched.body, "text/plain", markup=False)
    for line in text.split("\n")[:_MOST_LINES]:
        line = line.rstrip("\r")[:_LONGEST_LINE]
        kind, name, rest = line[:1], line[1:].partition("\t")[0].strip(), line.split("\t")[1:]
        if name:
            lines.append(name)
        if kind in _SHOWN and len(rest) >= 3:
            links.add(_reference(kind, rest[0], rest[1].strip(), rest[2].strip()), name)
    shown = paragraphs("\n".join(lines), settings.max_text)
    title = one_line(next(iter(lines), ""), 200) or unquote(f"{place.host}{place.path}")
    return Page(place.url, title, text=shown, links=links.collected(), charset=charset, kind="application/gopher-menu")


def _reference(kind: str, selector: str, host: str, port: str) -> str:
    """Give the URL of a menu entry, '' when it has none."""
    page = _PAGE.match(selector)
    if page is not None:
        return page[1]
    if not host or not (port.isascii() and port.isdigit()):
        return ""
    shown = f"[{host}]" if ":" in host else host
    return f"gopher://{shown}:{port}/{kind}{quote(selector, safe='/')}"
