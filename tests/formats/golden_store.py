"""The page store, the data folder's stamp and the array file, as golden files."""

from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import numpy as np

from formats.golden_files import GoldenFormat, plain
from periplus.arrays import ArrayFile, write_arrays
from periplus.files import open_data_folder
from periplus.records import LIST_KIND, FetchRecord, FetchRequest, FetchResult, Form, Link, Media, Outcome, Page
from periplus.settings import StoreSettings
from periplus.store import PageStore, key_index, shard_folder
from periplus.url import parse_address

DAY = 1_699_000_000.0

WORDS = (
    (
        "http://harbour.test/",
        "The harbour",
        "Ships lie in the old harbour. The lighthouse keeper writes a log of tides.",
    ),
    ("http://harbour.test/tides", "Tides", "High tide at dusk, low tide at dawn; the tide table of the old harbour."),
    ("http://light.test/", "The lighthouse", "A lighthouse on the cliff, and a keeper who lights it at dusk."),
    ("http://light.test/fog", "Fog", "Fog over the harbour; a bell on the buoy and a horn on the cliff."),
    ("http://chart.test/", "Sea charts", "Charts of the coast: shoals, buoys and the lighthouse on the cliff."),
)


def page_of(number: int) -> Page:
    """Return a page with every field filled in."""
    url, title, text = WORDS[number]
    others = [WORDS[(number + step) % len(WORDS)] for step in (1, 2)]
    return Page(
        url,
        title=title,
        headings=(title, "Notes"),
        emphasis=("harbour",),
        text=text,
        links=(*(Link(to, name) for to, name, _ in others), Link("http://away.test/x", "away", True, True)),
        canonical=url if number else "http://harbour.test/index",
        description=f"About {title.lower()}.",
        language="en",
        charset="utf-8",
        published="2023-11-01",
        feeds=("http://harbour.test/feed.xml",) if number < 2 else (),
        images=(Link(f"{url}picture.png", title),),
        author="A. Keeper",
        main=(0, len(text)),
        preview=text[:20],
        facts=(("og:title", title),),
        media=(Media(f"{url}film.mp4", "video", title),),
        service="openapi" if number == 4 else "",
        flags=1,
        reasons=("A made-up reason.",),
        forms=(Form("http://harbour.test/find", "q", (("lang", "en"),), (("area", ("sea", "land")),)),)
        if number == 0
        else (),
    )


def fetched_page(number: int, when: float = DAY) -> tuple[FetchRecord, FetchResult]:
    """Return a visit as a crawl makes it, and its response."""
    page = page_of(number)
    place = parse_address(page.url)
    body = f"<title>{page.title}</title><p>{page.text}".encode()
    headers = (("content-type", "text/html"), ("etag", f'"{number}"'), ("content-encoding", "gzip"))
    fetched = FetchResult(FetchRequest(place, 1), Outcome.OK, when, 200, headers, body, 0.25, "192.0.2.7")
    visit = FetchRecord(
        page.url,
        place.key,
        Outcome.OK,
        when,
        200,
        depth=1,
        elapsed=0.25,
        content=1234 + number,
        etag=f'"{number}"',
        modified="Wed, 01 Nov 2023 00:00:00 GMT",
        page=page,
        bytes=len(body),
        simhash=77 + number,
    )
    return visit, fetched


def feed_visit() -> FetchRecord:
    """Return a feed that names a page."""
    page = Page(
        "http://harbour.test/feed.xml",
        links=(Link("http://harbour.test/tides", "Tides"),),
        kind=LIST_KIND,
        changed=(DAY,),
    )
    return FetchRecord(page.url, parse_address(page.url).key, Outcome.OK, DAY, 200, page=page)


def other_visits() -> list[FetchRecord]:
    """Return visits that brought no page: one of each outcome."""
    made = []
    for number, outcome in enumerate(Outcome):
        if outcome is not Outcome.OK:
            place = parse_address(f"http://other.test/{outcome.value}")
            location = "http://harbour.test/" if outcome is Outcome.REDIRECT else ""
            made.append(
                FetchRecord(place.url, place.key, outcome, DAY + number, 300 + number, 2, location, 0.5, hops=1)
            )
    return made


def fill_store(folder: Path, settings: StoreSettings, numbers: range) -> None:
    """Write pages, a feed, failures and a second visit; trim what rotation left behind."""
    with PageStore.open(folder, settings, write=True) as store:
        for number in numbers:
            store.append(*fetched_page(number))
            store.flush()
        store.append(feed_visit())
        for visit in other_visits():
            store.append(visit)
        store.append(*fetched_page(numbers[0], DAY + 86_400))
        store.commit()
        store.apply_retention(keep_bytes=1)


def write_store(folder: Path) -> None:
    """Write a store of one shard, with WARC files that were let go."""
    fill_store(folder / "store", StoreSettings(rotate_bytes=900), range(5))
    with PageStore.open(folder / "store", StoreSettings()) as store, mock.patch.object(key_index, "_SAVE_AT", 1):
        store.find(parse_address(WORDS[0][0]).key)


def write_sharded_store(folder: Path) -> None:
    """Write a store of two shards, compressed by gzip, and the order in which they are read."""
    fill_store(shard_folder(folder / "store", 0), StoreSettings(warc="gzip"), range(3))
    fill_store(shard_folder(folder / "store", 1), StoreSettings(warc="gzip"), range(3, 5))
    with PageStore.open(folder / "store", StoreSettings()) as store:
        list(store.records())


def write_dictionary_store(folder: Path) -> None:
    """Write a store whose second WARC file has a dictionary, with records of requests and of an error."""
    settings = StoreSettings(dictionary_kb=1, requests=True, errors=True)
    sent = (("Host", "harbour.test"), ("User-Agent", "PeriplusBot/0.1"))
    with PageStore.open(folder / "store", settings, write=True) as store:
        for number in range(80):
            visit, fetched = fetched_page(number % 5, DAY + number)
            store.append(visit, msgspec.structs.replace(fetched, sent=sent))
        gone = parse_address("http://other.test/gone")
        error = FetchResult(FetchRequest(gone), Outcome.GONE, DAY, 404, (("content-type", "text/plain"),), sent=sent)
        record = FetchRecord(gone.url, gone.key, Outcome.GONE, DAY, 404)
        store.append(record, msgspec.structs.replace(error, raw=b"It is gone."))


def read_store(folder: Path) -> Any:
    """Return all visits, the newest of each page and the responses that are kept."""
    with PageStore.open(folder / "store", StoreSettings()) as store:
        visits = list(store.records())
        newest = {url: store.find(parse_address(url).key) for url, _, _ in WORDS}
        kept = [store.read_response(visit) for visit in newest.values() if visit and store.has_response(visit)]
        last = store.find_latest(parse_address("http://other.test/gone").key)
        return {
            "visits": plain([_without_offset(visit) for visit in visits]),
            "newest": {url: visit.when if visit else None for url, visit in newest.items()},
            "responses": [[page.url, page.status, plain(page.headers), page.body.decode()] for page in kept],
            "last": last.outcome.value if last else None,
            "pages": store.statistics().pages,
        }


def _without_offset(visit: FetchRecord) -> dict[str, Any]:
    return {name: value for name, value in plain(visit).items() if name != "warc_offset"}


def write_stamp(folder: Path) -> None:
    """Write the stamp of a data folder."""
    open_data_folder(folder / "data", create=True)


def read_stamp(folder: Path) -> Any:
    """Open a data folder."""
    return open_data_folder(folder / "data", create=False).name


def write_array_file(folder: Path) -> None:
    """Write an array of each type."""
    kinds = ("|u1", "|i1", "|b1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f4", "<f8")
    arrays = {kind[1:]: np.arange(6).astype(kind).reshape(2, 3) for kind in kinds}
    write_arrays(folder / "some.arrays", "some", {**arrays, "none": np.zeros(0, np.int64)}, {"note": 7}, format=1)


def read_array_file(folder: Path) -> Any:
    """Read every array, checked."""
    file = ArrayFile(folder / "some.arrays", "some", format=1)
    file.check()
    return {"notes": file.notes, **{name: plain(file[name]) for name in file.sizes()}}


FORMATS = (
    GoldenFormat("data-folder", write_stamp, read_stamp),
    GoldenFormat("arrays", write_array_file, read_array_file),
    GoldenFormat(
        "store",
        write_store,
        read_store,
        tolerant=("store/visits.keys",),
        rebuilt=("store/visits.keys",),
        unnumbered=("*.zst",),
        unread=("store/pages-*",),
    ),
    GoldenFormat(
        "store-dictionary",
        write_dictionary_store,
        read_store,
        tolerant=("store/visits.keys",),
        unnumbered=("*.zst",),
        unread=("store/pages-*", "store/dictionary.zst"),
    ),
    GoldenFormat("store-shards", write_sharded_store, read_store, tolerant=("*/visits.keys",), unnumbered=("*.gz",)),
)
