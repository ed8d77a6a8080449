"""What can be reached on a site: a breadth-first walk with http.client, urllib and lxml, which shares no code with the
crawler.

A page is an HTML document that answers 200. Followed are the references of `a`, `area`, `iframe` and `frame`, the
`link` elements that lead to other documents (canonical, alternate, next, prev and the like), and refreshes: all of the
same host, whatever robots or rel attributes say, so that what the crawler leaves out by rule has to be explained too.
"""

import contextlib
import hashlib
import http.client
import json
import math
import re
import time
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from lxml import etree, html

__all__ = ["SiteTruth", "TruthPage", "address_of", "find_truth"]

_LINKS = re.compile(r"\b(canonical|alternate|next|prev|previous|up|contents|start|index|help|search|copyright)\b")
_REFRESH = re.compile(r"^\s*[\d.]+\s*[;,]\s*(?:url\s*=\s*)?['\"]?([^'\"]+)", re.IGNORECASE)
_VERSION = 2


class TruthPage(NamedTuple):
    """One reachable page."""

    depth: int
    body: str
    """A digest of the body."""
    parent: str


class SiteTruth(NamedTuple):
    """All that can be reached from the start of a site."""

    pages: dict[str, TruthPage]
    """By path and query."""
    others: dict[str, str]
    """What is no page, with the reason: another status or another type."""


def address_of(url: str) -> str:
    """Return path and query of a URL in a form that does not depend on how they are escaped."""
    parts = urlsplit(url)
    return unquote(parts.path or "/") + (f"?{unquote(parts.query)}" if parts.query else "")


def find_truth(name: str, port: int, start: str, cache: Path, seconds: float = 0.0) -> SiteTruth | None:
    """Return what can be reached from `start` on the host `name`, from the cache if it was walked before.

    After so many seconds (0: whatever it takes) the walk ends with None; the next call goes on where it was.
    """
    file = cache / f"truth-{name}-{_VERSION}.json"
    walk = _Walk(name, port, start)
    if file.is_file():
        walk.load(json.loads(file.read_text("utf-8")))
    if walk.queue:
        until = time.monotonic() + seconds if seconds else math.inf
        while walk.queue and time.monotonic() < until:
            walk.visit()
        temporary = file.with_suffix(".new")
        temporary.write_text(json.dumps(walk.dump()), "utf-8")
        temporary.replace(file)
    walk.connection.close()
    return None if walk.queue else SiteTruth(walk.pages, walk.others)


class _Walk:
    """A walk that can be interrupted."""

    def __init__(self, name: str, port: int, start: str) -> None:
        self.name = name
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.pages: dict[str, TruthPage] = {}
        self.others: dict[str, str] = {}
        self.queue: deque[tuple[str, int, str]] = deque()
        self._seen: set[str] = set()
        self._add(f"http://{name}{start}", 0, "")

    def load(self, stored: dict[str, Any]) -> None:
        """Restore what `dump` returned."""
        self.pages = {path: TruthPage(*row) for path, row in stored["pages"].items()}
        self.others = stored["others"]
        self.queue = deque((url, depth, parent) for url, depth, parent in stored["queue"])
        self._seen = {*self.pages, *self.others, *(address_of(url) for url, _, _ in self.queue)}

    def dump(self) -> dict[str, Any]:
        """Return the state of the walk."""
        return {"pages": self.pages, "others": self.others, "queue": list(self.queue)}

    def visit(self) -> None:
        """Fetch the next URL, and queue what it leads to."""
        url, depth, parent = self.queue.popleft()
        path, parts = address_of(url), urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self.connection.request("GET", _escaped(target), headers={"Host": self.name})
        response = self.connection.getresponse()
        body, kind = response.read(), response.headers.get_content_type()
        location = response.headers.get("Location", "")
        if response.status in (301, 302, 303, 307, 308) and location:
            self.others[path] = "redirect"
            self._add(urljoin(url, location), depth, parent)
        elif response.status != 200:
            self.others[path] = str(response.status)
        elif kind not in ("text/html", "application/xhtml+xml"):
            self.others[path] = kind
        else:
            self.pages[path] = TruthPage(depth, hashlib.sha1(body, usedforsecurity=False).hexdigest(), parent)
            for base, reference in _references(body):
                with contextlib.suppress(ValueError):
                    self._add(urljoin(urljoin(url, base), reference.strip()), depth + 1, path)

    def _add(self, target: str, depth: int, parent: str) -> None:
        url = urldefrag(target)[0]
        parts = urlsplit(url)
        if parts.scheme == "http" and parts.netloc == self.name and (path := address_of(url)) not in self._seen:
            self._seen.add(path)
            self.queue.append((url, depth, parent))


def _escaped(target: str) -> str:
    return "".join(
        char if " " < char < "\x7f" else "".join(f"%{byte:02X}" for byte in char.encode()) for char in target
    )


def _references(body: bytes) -> list[tuple[str, str]]:
    """Return the references of a page, each with the base that the page states ('' if none)."""
    if not body.strip():
        return []
    try:
        tree = html.document_fromstring(body)
    except (etree.ParserError, ValueError):
        return []
    bases = tree.xpath("//base/@href")
    base = str(bases[0]) if bases else ""
    found = [str(value) for value in tree.xpath("//a/@href | //area/@href | //iframe/@src | //frame/@src")]
    links = tree.xpath("//link[@href][@rel]")
    found += [link.get("href") for link in links if _LINKS.search(link.get("rel").lower())]
    pragmas = [meta for meta in tree.xpath("//meta[@content]") if meta.get("http-equiv", "").lower() == "refresh"]
    found += [match[1] for meta in pragmas if (match := _REFRESH.match(meta.get("content")))]
    return [(base, reference) for reference in found]
