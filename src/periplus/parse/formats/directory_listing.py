"""Directories of FTP servers and menus of Gopher servers: lines to a Page with links."""

import re
from typing import Final
from urllib.parse import quote, unquote

from periplus.parse.charset.decoding import decode
from periplus.parse.link_collector import LinkCollector
from periplus.parse.text_cleanup import one_line, paragraphs
from periplus.records import FetchResult, Page
from periplus.settings import ParseSettings

__all__ = ["parse_ftp_listing", "parse_gopher_menu"]

_UNIX_LINE: Final = re.compile(
    r"([bcdlps-])[rwxsStT-]{9}[.+@]?\s+\d+\s+.{1,80}?\s"
    r"(?:[A-Z][a-z]{2}\s+\d{1,2}\s+[\d:]{4,5}|\d{4}-\d\d-\d\d [\d:]{5})\s(.+)"
)
_DOS_LINE: Final = re.compile(r"\d\d-\d\d-\d{2,4}\s+\d\d:\d\d(?:AM|PM)?\s+(<DIR>|\d+)\s+(.+)")
_MAX_LINE: Final = 1_024
_MAX_LINES: Final = 100_000
_FOLLOWED_TYPES: Final = frozenset("01hdP")
"""Types of menu entries that are followed: texts, menus, pages, documents."""
_WEB_PAGE: Final = re.compile(r"/?URL:(https?://\S+)", re.IGNORECASE)


def parse_ftp_listing(result: FetchResult, settings: ParseSettings) -> Page:
    """Return the page of a directory listing, of a Unix or a DOS server."""
    address = result.request.address
    links, names = LinkCollector(address.url, settings.all_links), []
    text, charset = decode(result.body, "text/plain", markup=False)
    for line in text.split("\n")[:_MAX_LINES]:
        name, is_folder = _parse_entry(line.rstrip("\r")[:_MAX_LINE])
        if name in ("", ".", "..") or "/" in name:
            continue
        names.append(name)
        links.add(f"./{quote(name)}{'/' if is_folder else ''}", name)
    title = unquote(f"{address.host}{address.path}")
    shown = paragraphs("\n".join(names), settings.max_text)
    return Page(address.url, title, text=shown, links=links.collected(), charset=charset, kind="text/ftp-dir-listing")


def _parse_entry(line: str) -> tuple[str, bool]:
    """Return the name in a line of a listing, '' if there is none, and whether it is a folder."""
    unix = _UNIX_LINE.match(line)
    if unix is not None:
        kind, name = unix.groups()
        return (name.partition(" -> ")[0] if kind == "l" else name, kind == "d") if kind in "dl-" else ("", False)
    dos = _DOS_LINE.match(line)
    return (dos[2], dos[1] == "<DIR>") if dos is not None else ("", False)


def parse_gopher_menu(result: FetchResult, settings: ParseSettings) -> Page:
    """Return the page of a menu: lines of type and name, selector, host and port, with tabs between them."""
    address = result.request.address
    links, lines = LinkCollector(address.url, settings.all_links), []
    text, charset = decode(result.body, "text/plain", markup=False)
    for line in text.split("\n")[:_MAX_LINES]:
        line = line.rstrip("\r")[:_MAX_LINE]
        kind, name, rest = line[:1], line[1:].partition("\t")[0].strip(), line.split("\t")[1:]
        if name:
            lines.append(name)
        if kind in _FOLLOWED_TYPES and len(rest) >= 3:
            links.add(_entry_url(kind, rest[0], rest[1].strip(), rest[2].strip()), name)
    shown = paragraphs("\n".join(lines), settings.max_text)
    title = one_line(next(iter(lines), ""), 200) or unquote(f"{address.host}{address.path}")
    return Page(
        address.url, title, text=shown, links=links.collected(), charset=charset, kind="application/gopher-menu"
    )


def _entry_url(kind: str, selector: str, host: str, port: str) -> str:
    """Return the URL of a menu entry, or ''."""
    page = _WEB_PAGE.match(selector)
    if page is not None:
        return page[1]
    if not host or not (port.isascii() and port.isdigit()):
        return ""
    shown = f"[{host}]" if ":" in host else host
    return f"gopher://{shown}:{port}/{kind}{quote(selector, safe='/')}"
