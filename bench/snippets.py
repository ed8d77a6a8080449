"""Snippets of documentation: do they show navigation? Pages of many generators, through the real pipeline.

.venv/bin/python bench/snippets.py [--pages 200] [--show 12]

Documentation is that of Debian's packages (doc_packages.py), or in DOCS_FOLDER. Pages of every generator
are imported, indexed and searched, by their titles and by words of their content. A snippet shows navigation if a
word or a run of three words in it is in an element that the generator makes for navigation, and nowhere in its content
(see generators.py); it shows other boilerplate if three words in it are on the page, but in neither the content nor
what resiliparse and trafilatura extract. The last line is `navigation N of M`; N must be 0.
"""

import argparse
import random
import re
import sys
import tempfile
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import periplus
from doc_packages import docs_folder
from generators import DocumentationPage, read_pages
from maincontent import all_text, peers
from periplus.records import Hit
from record import save

WORD = re.compile(r"[^\W_]+")
Grams = set[tuple[str, ...]]
PEERS = peers()
_PER_GENERATOR = 25


def grams(text: str, size: int) -> Grams:
    words = WORD.findall(text.lower())
    return set(zip(*(words[number:] for number in range(size)), strict=False))


class Judge:
    """What is content and what is navigation on one page."""

    def __init__(self, page: DocumentationPage) -> None:
        self.page = page
        self._peers: list[Grams] | None = None

    def navigation(self, snippet: str) -> Grams:
        """Return words and runs of three words of a snippet that only the navigation has."""
        shown: Grams = set()
        for size in (1, 3):
            outside = set().union(*(grams(text, size) for text in self.page.navigation))
            shown |= (self._pieces(snippet, size) & outside) - grams(self.page.content, size)
        return shown

    def boilerplate(self, snippet: str) -> Grams:
        """Return runs of three words that neither the content has nor what a peer extracts."""
        # Blocks that are next to each other only because something between them was left out are not on the page.
        rest = self._pieces(snippet, 3) & grams(all_text(self.page.markup), 3) - grams(self.page.content, 3)
        if rest and self._peers is None:
            self._peers = [grams(extract(self.page.markup), 3) for extract in PEERS.values()]
        return rest.difference(*(self._peers or ()))

    def _pieces(self, snippet: str, size: int) -> Grams:
        return set().union(*(grams(piece, size) for piece in snippet.split("…")))


def write_warc(path: Path, pages: dict[str, DocumentationPage]) -> None:
    """Write pages as responses of a web server."""
    with path.open("wb") as file:
        for url, page in pages.items():
            body = page.markup.encode()
            http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + body
            head = (
                f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-05-01T00:00:00Z\r\n"
                f"WARC-Record-ID: <urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, url)}>\r\n"
                f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
            )
            file.write(head.encode() + http + b"\r\n\r\n")


def queries_of(page: DocumentationPage, seed: int) -> list[str]:
    """Return the title of a page, and words of its content."""
    title = re.search(r"(?is)<title[^>]*>(.*?)</title>", page.markup)
    words = [word for word in dict.fromkeys(WORD.findall(page.content)) if len(word) > 4 and word.isalpha()]
    chosen = random.Random(seed).sample(words, min(3, len(words)))
    return [query for query in (re.sub(r"\W+", " ", title[1]) if title else "", " ".join(chosen)) if query.strip()]


def text_of(hit: Hit) -> str:
    return "".join(text for text, _ in hit.snippet)


def main(count: int, show: int) -> int:
    folder = docs_folder()
    pages = list(read_pages(folder, _PER_GENERATOR))
    if not pages:
        print(f"{folder} has no documentation of a known generator. Set DOCS_FOLDER to a folder of HTML documentation.")
        return 0
    by_url = {f"http://{p.generator}.docs.test/{p.path.relative_to(folder).as_posix()}": p for p in pages}
    asked = random.Random(13).sample(sorted(by_url), min(count, len(by_url)))
    snippets, shown, other, sample = 0, [], [], []
    with tempfile.TemporaryDirectory() as home, periplus.open(Path(home) / "data") as engine:
        write_warc(Path(home) / "docs.warc", by_url)
        engine.import_([Path(home) / "docs.warc"])
        began = time.perf_counter()
        engine.build()
        seconds = time.perf_counter() - began
        judges = {url: Judge(page) for url, page in by_url.items()}
        for number, url in enumerate(asked):
            for query in queries_of(by_url[url], number):
                for hit in engine.search(query).hits:
                    if hit.url not in judges:
                        continue
                    snippets += 1
                    text, judge = text_of(hit), judges[hit.url]
                    if pairs := judge.navigation(text):
                        shown.append((hit.url, query, text, sorted(pairs)))
                    elif runs := judge.boilerplate(text):
                        other.append((hit.url, query, text, sorted(runs)))
                    if hit.url == url:
                        sample.append((judge.page.generator, query, text))
    for title, faults in (("navigation", shown), ("other boilerplate", other)):
        for url, query, text, evidence in faults[:show]:
            print(f"{title}: {url}\n  [{query}] {text}\n  {evidence[:4]}")
    print("\nsample")
    for generator, query, text in random.Random(5).sample(sample, min(show, len(sample))):
        print(f"  {generator}: [{query}] {text}")
    generators = sorted({page.generator for page in pages})
    figures = {
        "pages indexed": len(pages),
        "pages asked for": len(asked),
        "generators": generators,
        "snippets": snippets,
        "with navigation": len(shown),
        "with other boilerplate": len(other),
        "build seconds": seconds,
        "sample": random.Random(5).sample(sample, min(20, len(sample))),
    }
    save("snippets", figures)
    print(f"\n{len(pages)} pages of {len(generators)} generators, {len(asked)} asked for, {snippets} snippets")
    print(f"other boilerplate {len(other)} of {snippets}")
    print(f"navigation {len(shown)} of {snippets}")
    return 1 if shown else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--show", type=int, default=12)
    arguments = parser.parse_args()
    sys.exit(main(arguments.pages, arguments.show))
