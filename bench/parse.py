"""Reading HTML: ours beside Lexbor (selectolax), resiliparse and lxml, all doing the same job, on one core.

.venv/bin/python bench/parse.py [--corpus FOLDER] [--rounds N] [--most BYTES] [--whole]

The job: the title, every heading, every link with its text, and the visible text, as Python strings. FOLDER holds HTML
files (a Debian package of documentation, unpacked, will do); without it the pages are those of the fake web. Times are
processor times, the best of some rounds, rounds taking turns, so that a busy machine is the same for all.

--whole measures only `parse`, which does far more (canonical links, main content, facts, media, flags), and its stages.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from lxml import html as lxml_html
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree
from selectolax.lexbor import LexborHTMLParser

from periplus.fakeweb import FakeWeb, FakeWebPlan
from periplus.parse import link_collector, parse
from periplus.parse.charset.decoding import decode_to_utf8
from periplus.parse.html.flat_page import RowKind, parse_flat_page
from periplus.parse.html.html_parser import parse_markup
from periplus.records import FetchRecord, FetchRequest, FetchResult, Outcome
from periplus.settings import ParseSettings
from periplus.store.log_frames import RecordBatch
from periplus.url import canonical, parse_address
from record import save

Found = tuple[str, list[str], list[tuple[str, str]], str]
HEADINGS = "h1,h2,h3,h4,h5,h6"
UNSEEN = ["script", "style", "noscript", "template"]


def ours(page: bytes) -> Found:
    flat = parse_flat_page(page)
    links = list(zip(flat.values(RowKind.LINK, 0), flat.texts(RowKind.LINK), strict=True))
    return "".join(flat.values(RowKind.TITLE, 0)), flat.texts(RowKind.HEADING), links, flat.text


def lexbor(page: bytes) -> Found:
    tree = LexborHTMLParser(page)
    title = tree.css_first("title")
    headings = [node.text() for node in tree.css(HEADINGS)]
    links = [(node.attributes["href"] or "", node.text()) for node in tree.css("a[href]")]
    tree.strip_tags(UNSEEN)
    return title.text() if title else "", headings, links, tree.body.text() if tree.body else ""


def resiliparse(page: bytes) -> Found:
    tree = HTMLTree.parse_from_bytes(page)
    body = tree.body
    headings = [node.text for node in body.query_selector_all(HEADINGS)] if body else []
    links = [(node["href"], node.text) for node in body.query_selector_all("a[href]")] if body else []
    return tree.title or "", headings, links, extract_plain_text(tree, preserve_formatting=False, noscript=False)


def lxml(page: bytes) -> Found:
    tree = lxml_html.document_fromstring(page)
    title = tree.findtext(".//title") or ""
    headings = [node.text_content() for node in tree.iter("h1", "h2", "h3", "h4", "h5", "h6")]
    links = [(node.get("href"), node.text_content()) for node in tree.iter("a") if node.get("href") is not None]
    for node in list(tree.iter(*UNSEEN)):
        node.drop_tree()
    body = tree.find("body")
    return title, headings, links, body.text_content() if body is not None else ""


PARSERS: dict[str, Callable[[bytes], Found]] = {
    "periplus": ours,
    "lexbor": lexbor,
    "resiliparse": resiliparse,
    "lxml": lxml,
}

HOSTILE: dict[str, bytes] = {
    "50,000 options": b"<select>" + b"<option>choice" * 50_000,
    "50,000 nested divs": b"<div>" * 50_000 + b"deep",
    "5 MB attribute": b"<a href='" + b"x" * 5_000_000 + b"'>link</a>",
    "1 M unclosed tags": b"<b>" * 1_000_000,
}


def read_corpus(folder: Path | None, most: int) -> tuple[str, dict[str, bytes]]:
    """Return the name and the pages of the corpus by their URLs, up to `most` bytes, taken evenly."""
    if folder is None:
        return "the fake web", fake_pages()
    paths = sorted(path for path in folder.rglob("*.htm*") if path.is_file() and not path.is_symlink())
    total = sum(path.stat().st_size for path in paths)
    step = max(1, -(-total // most))
    pages = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths[::step]}
    return folder.name, {f"http://docs.example/{path}": page for path, page in pages.items()}


def fake_pages() -> dict[str, bytes]:
    web = FakeWeb(FakeWebPlan(seed=7, hosts=20, pages=600))
    places = [parse_address(page.url) for page in web.truth().pages]
    return {place.url: web.response(place.host, place.path).body for place in places}


def speed(pages: list[bytes], rounds: int) -> dict[str, float]:
    """Return megabytes a second of each reader."""
    size = sum(map(len, pages)) / 1e6
    best = dict.fromkeys(PARSERS, float("inf"))
    for _ in range(rounds):
        for name, read in PARSERS.items():
            began = time.process_time()
            for page in pages:
                read(page)
            best[name] = min(best[name], time.process_time() - began)
    return {name: size / seconds for name, seconds in best.items()}


def hostile(limit: float) -> dict[str, dict[str, float | None]]:
    """Return milliseconds a megabyte on each hostile page; None where a reader fails or exceeds `limit` s."""
    rows: dict[str, dict[str, float | None]] = {}
    for what, page in HOSTILE.items():
        rows[what] = {}
        for name, read in PARSERS.items():
            rows[what][name] = _patiently(read, page, limit)
    return rows


def _patiently(read: Callable[[bytes], Found], page: bytes, limit: float) -> float | None:
    """Try a tenth of the page first: what takes a hundredth of the limit there may take all of it here."""
    try:
        began = time.process_time()
        read(page[: len(page) // 10])
        if (time.process_time() - began) * 100 > limit:
            return None
        best = float("inf")
        for _ in range(3):
            began = time.process_time()
            read(page)
            best = min(best, time.process_time() - began)
            if best > 1.0:
                break
    except Exception:  # lxml refuses what is too deep or too long for it
        return None
    return best * 1e9 / len(page)


def fetched(url: str, page: bytes) -> FetchResult:
    return FetchResult(FetchRequest(parse_address(url)), Outcome.OK, 0.0, 200, (("content-type", "text/html"),), page)


def digest(pages: dict[str, bytes]) -> dict[str, float]:
    """Return the compressed size of the records of these pages in the store, a frame each."""
    kept = 0
    for url, page in pages.items():
        given = fetched(url, page)
        read, place = parse(given, ParseSettings()), given.request.address
        batch = RecordBatch()
        batch.add(FetchRecord(place.url, place.key, Outcome.OK, 0.0, 200, page=read))
        kept += len(batch.pack(1, 0, 0, 3))
    raw = sum(map(len, pages.values()))
    return {"html": raw, "visits": kept, "ratio": kept / raw}


def whole(pages: dict[str, bytes], rounds: int) -> dict[str, float]:
    """Return megabytes a second of `parse`, and milliseconds a megabyte of its stages, without cached links."""
    given, settings = [fetched(url, page) for url, page in pages.items()], ParseSettings()
    raw = sum(map(len, pages.values())) / 1e6
    stages: dict[str, Callable[[FetchResult], Any]] = {
        "decode": lambda one: decode_to_utf8(one.body, one.header("content-type")),
        "read the markup": lambda one: parse_flat_page(one.body),
        "page with links": lambda one: parse_markup(one, settings),
        "all of it": lambda one: parse(one, settings),
    }
    best = dict.fromkeys(stages, float("inf"))
    for _ in range(rounds):
        for name, stage in stages.items():
            forget()
            began = time.process_time()
            for one in given:
                stage(one)
            best[name] = min(best[name], time.process_time() - began)
    print(
        "whole parse, ms/MB up to each stage: " + ", ".join(f"{name} {best[name] * 1e3 / raw:.1f}" for name in stages)
    )
    return {"mb_s": raw / best["all of it"]} | {name: best[name] * 1e3 / raw for name in stages}


def forget() -> None:
    """Forget the addresses that links have led to."""
    link_collector._folder_cache.cache_clear()
    canonical._recent.clear()


def main(arguments: list[str]) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--corpus", type=Path)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--most", type=int, default=12_000_000)
    options.add_argument("--limit", type=float, default=20.0)
    options.add_argument("--whole", action="store_true")
    given = options.parse_args(arguments)
    name, corpus = read_corpus(given.corpus, given.most)
    pages = list(corpus.values())
    for read in PARSERS.values():
        read(pages[0])
    print(f"{len(pages):,} pages of {name}, {sum(map(len, pages)) / 1e6:.1f} MB")
    if given.whole:
        print(f"{whole(corpus, given.rounds)['mb_s']:.1f} MB/s whole parse")
        return
    rates = speed(pages, given.rounds)
    for reader, rate in rates.items():
        print(f"  {reader:<12}{rate:>8.1f} MB/s")
    print(f"{'hostile pages, ms/MB':<22}" + "".join(f"{reader:>14}" for reader in PARSERS))
    awful = hostile(given.limit)
    for what, row in awful.items():
        print(f"  {what:<20}" + "".join(f"{'-' if ms is None else f'{ms:,.1f}':>14}" for ms in row.values()))
    print(f"  (- refused, or would take more than {given.limit:.0f} s)")
    kept = digest(corpus)
    print(
        f"digest: {kept['visits'] / 1e6:.2f} MB of visits for {kept['html'] / 1e6:.2f} MB of HTML, {kept['ratio']:.1%}"
    )
    all_of_it = whole(corpus, given.rounds)
    print(f"whole parse: {all_of_it['mb_s']:.1f} MB/s")
    ratio = rates["periplus"] / rates["lexbor"]
    figures: dict[str, Any] = {"corpus": name, "pages": len(pages), "mb_s": rates, "hostile_ms_mb": awful}
    save("parse", figures | {"digest": kept, "whole": all_of_it, "ratio": ratio})
    print(f"{ratio:.2f}x lexbor MB/s")


if __name__ == "__main__":
    main(sys.argv[1:])
