"""Damage to every kind of file, by flipped bits and cuts: `periplus check` has to report it, no answer may change.

.venv/bin/python bench/file_damage.py [--flips 200] [--cuts 20] [--seed 1] [--only PATTERN]

The files are those that the golden formats write (tests/formats), so that every kind is there, and a folder of imported
pages that is searched. What readers return for the damaged file is compared with what they return for the intact one.
`damage_every_file_kind` returns a row for each kind of file; bench/faults.py reports them. Ends with 1 if damage was
not noticed or changed an answer silently.
"""

import argparse
import contextlib
import json
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import msgspec
import zstandard

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from formats.golden_files import GoldenFormat, files_of, fixed_world  # noqa: E402
from formats.golden_formats import FORMATS  # noqa: E402
from periplus.app import (  # noqa: E402
    FILE_KINDS,
    FileKind,
    build_graph_and_index,
    check_data_folder,
    delete_pages,
    import_files,
)
from periplus.app.checking.file_kinds import find_kind  # noqa: E402
from periplus.errors import CorruptFile, PeriplusError  # noqa: E402
from periplus.records import FetchRecord, FetchRequest, FetchResult, Outcome, Query  # noqa: E402
from periplus.search import Searcher  # noqa: E402
from periplus.settings import Settings  # noqa: E402
from periplus.store import PageStore  # noqa: E402
from periplus.url import parse_address  # noqa: E402

APPENDED = (
    "index/journal-*.log",
    "index/feeds.log",
    "index/meaning/embedded.log",
    "store/order.bin",
    "passive/visits-*.log",
    "popular/marks-*.log",
    "judgements.jsonl",
    "clicks.jsonl",
    "changes*.jsonl",
    "quality/history.jsonl",
)
"""Logs whose length nothing else records: cut between two records, they are as they were before the last one."""
LEAVES_OUT = (
    *APPENDED,
    "passive/counts.arrays",
    "popular/*",
    "quality/*",
    "inbox/*",
    "crawl/*.json",
    "crawl/shard-*/*.json",
    "crawl/seeds.txt",
    "crawl/shard-*/seeds.txt",
    "crawl/control",
    "models/used.json",
    "store/visits.keys",
    "index/blocks.arrays",
    "health/*",
)
"""Files of which readers leave out what is damaged, or all of it: it is logged and reported, never used."""
SECONDS = 30
"""A reader that needs longer hangs."""


QUERIES = ("harbour", "tide fog", '"light house"', "link:harbour.test", "site:harbour.test keeper", "lamp*")


def write_searched_folder(folder: Path) -> None:
    """Write a data folder with pages of two sites, imported from a WARC file, their graph, index and a deletion."""
    settings = Settings(folder=str(folder))
    source = folder.with_name("source")
    with PageStore.open(source, settings.store, write=True) as store:
        for number in range(30):
            address = parse_address(f"http://{_host(number)}.test/{number}")
            headers = (("content-type", "text/html"),)
            result = FetchResult(FetchRequest(address), Outcome.OK, 1e9 + number, 200, headers, _page(number))
            store.append(FetchRecord(address.url, address.key, Outcome.OK, 1e9 + number, 200), result)
    import_files(folder, settings, sorted(source.glob("*.warc.zst")))
    build_graph_and_index(folder, settings)
    delete_pages(folder, settings, ["http://harbour.test/4"])
    shutil.rmtree(source)


def _host(number: int) -> str:
    return "harbour" if number % 3 else "light"


def _page(number: int) -> bytes:
    menu = "".join(f"<li><a href='http://{_host(to)}.test/{to}'>Office of harbour {to}</a></li>" for to in range(6))
    text = f"<p>The tide of day {number} brought fog to the harbour; keeper {number % 5} of the pier lit the lamp.</p>"
    title = f"<title>Page {number} of the light house</title>"
    return (
        f"<html><head>{title}</head><body><ul>{menu}</ul>{text * 3}<p>All rights reserved.</p></body></html>".encode()
    )


def read_searched_folder(folder: Path) -> Any:
    """Return the results of fixed queries, and the copies of all pages."""
    settings = Settings(folder=str(folder))
    with PageStore.open(folder / "store", settings.store) as store:
        stored = [record for record in store.records() if record.page is not None]
        copies = [[record.url, store.read_response(record).body.hex()] for record in stored if record.warc]
    searcher = Searcher.open(folder, settings)
    answers = [
        [[hit.url, hit.title, round(hit.score, 6)] for hit in searcher.search(Query(words, size=50)).hits]
        for words in QUERIES
    ]
    notes = [note for words in QUERIES for note in searcher.search(Query(words)).notes if "damaged" in note]
    if notes:
        raise CorruptFile(notes[0])
    return {"copies": copies, "answers": answers, "records": [[record.url, record.key] for record in stored]}


SEARCHED = GoldenFormat("searched", write_searched_folder, read_searched_folder)


class DamageRow(msgspec.Struct):
    """What damage to one kind of file did."""

    kind: str
    flips: int = 0
    cuts: int = 0
    reported: int = 0
    """By `periplus check`."""
    missed: int = 0
    """Flips and cuts that it did not report, though they are not those of `earlier` and `redundant`."""
    earlier: int = 0
    """Cuts between two records of a log: an earlier state of it."""
    redundant: int = 0
    """Flips in a compressed file that decompresses, checksums included, to the same bytes as before."""
    errors: int = 0
    """Readings that raised an error of Periplus."""
    same: int = 0
    left_out: int = 0
    """Readings without the damaged part, as documented for this kind, while `periplus check` reports it."""
    silent: int = 0
    """Readings with another result and no error."""
    tracebacks: int = 0
    """Readings or checks that raised anything else."""
    hangs: int = 0
    examples: list[str] = []


class _Hang(BaseException):
    """A reader did not return in time."""


def damage_every_file_kind(flips: int = 200, cuts: int = 20, seed: int = 1, only: str = "*") -> list[DamageRow]:
    """Damage every file that the golden formats write; return a row for each kind of file."""
    rows: dict[str, DamageRow] = {}
    for form in (*FORMATS.values(), SEARCHED):
        with tempfile.TemporaryDirectory(prefix="periplus-damage-") as scratch:
            whole = Path(scratch) / "whole"
            whole.mkdir()
            with fixed_world():
                form.write(whole)
            (whole / "data").rename(whole.with_name("inner")) if form.name == "data-folder" else None
            whole = whole.with_name("inner") if form.name == "data-folder" else whole
            expected = _read_fixed(form, _copy(whole))
            for name in files_of(whole):
                kind = find_kind(name)
                if kind is None or not fnmatch(kind.pattern, only) or kind.checksum.startswith("none"):
                    continue
                row = rows.setdefault(kind.pattern, DamageRow(kind.pattern))
                share = flips if row.flips == 0 else max(1, flips // 20)
                chance = random.Random(f"{seed} {form.name} {name}")
                _damage_file(form, whole, name, kind, row, share, cuts, expected, chance)
    return [rows[kind.pattern] for kind in FILE_KINDS if kind.pattern in rows]


def _damage_file(
    form: GoldenFormat,
    whole: Path,
    name: str,
    kind: FileKind,
    row: DamageRow,
    flips: int,
    cuts: int,
    expected: Any,
    chance: random.Random,
) -> None:
    data = (whole / name).read_bytes()
    bits = range(8 * len(data))
    for bit in chance.sample(bits, min(flips, len(bits))):
        row.flips += 1
        damaged = data[: bit // 8] + bytes([data[bit // 8] ^ 1 << bit % 8]) + data[bit // 8 + 1 :]
        _try(form, whole, name, damaged, kind, row, expected, f"{name}: bit {bit}")
    for size in chance.sample(range(len(data)), min(cuts, len(data))):
        row.cuts += 1
        _try(form, whole, name, data[:size], kind, row, expected, f"{name}: cut to {size}")


def _try(
    form: GoldenFormat,
    whole: Path,
    name: str,
    damaged: bytes,
    kind: FileKind,
    row: DamageRow,
    expected: Any,
    what: str,
) -> None:
    folder = _copy(whole)
    (folder / name).write_bytes(damaged)
    is_reported = _is_reported(folder, name, kind, row, what)
    is_earlier = not is_reported and "cut" in what and kind.pattern in APPENDED
    row.reported += is_reported
    row.earlier += is_earlier
    is_redundant = not is_reported and name.endswith(".zst") and _is_same_content(whole / name, folder / name)
    row.redundant += is_redundant
    if not is_reported and not is_earlier and not is_redundant:
        row.missed += 1
        row.examples.append(f"missed: {what}")
    answer = _read(form, folder, row, what)
    if answer is None:
        row.errors += 1
    elif answer == expected:
        row.same += 1
    elif is_earlier or (is_reported and any(fnmatch(name, pattern) for pattern in LEAVES_OUT)):
        row.left_out += 1
    else:
        row.silent += 1
        row.examples.append(f"silent: {what}")


def _is_same_content(original: Path, damaged: Path) -> bool:
    """Return whether two files of zstd frames decompress to the same bytes."""
    contents = []
    for path in (original, damaged):
        try:
            with zstandard.ZstdDecompressor().stream_reader(path.read_bytes(), read_across_frames=True) as stream:
                contents.append(stream.read())
        except zstandard.ZstdError:
            return False
    return contents[0] == contents[1]


def _copy(whole: Path) -> Path:
    target = whole.with_name("copy")
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(whole, target)
    return target


def _is_reported(folder: Path, name: str, kind: FileKind, row: DamageRow, what: str) -> bool:
    """Return whether a check of the file's part names the file."""
    try:
        with _time_limit():
            return any(fault.path == name for fault in check_data_folder(folder, (kind.part,)).faults)
    except _Hang:
        row.hangs += 1
    except Exception as error:
        row.tracebacks += 1
        row.examples.append(f"check: {what}: {type(error).__name__}: {error}")
    return False


def _read_fixed(form: GoldenFormat, folder: Path) -> Any:
    """Return what the reader returns, as JSON has it."""
    with fixed_world():
        return json.loads(json.dumps(form.read(folder)))


def _read(form: GoldenFormat, folder: Path, row: DamageRow, what: str) -> Any:
    """Return what the reader returns; None if it raises an error of Periplus."""
    try:
        with _time_limit():
            return _read_fixed(form, folder)
    except PeriplusError:
        return None
    except _Hang:
        row.hangs += 1
    except Exception as error:
        row.tracebacks += 1
        row.examples.append(f"read: {what}: {type(error).__name__}: {error}")
    return None


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise _Hang

    previous = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def main() -> int:
    """Damage every kind of file and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flips", type=int, default=200)
    parser.add_argument("--cuts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="*")
    options = parser.parse_args()
    rows = damage_every_file_kind(options.flips, options.cuts, options.seed, options.only)
    for row in rows:
        figures = {field: getattr(row, field) for field in row.__struct_fields__ if field not in ("kind", "examples")}
        print(f"{row.kind:32}", "  ".join(f"{field} {count}" for field, count in figures.items() if count))
        for example in row.examples[:5]:
            print("   ", example)
    faults = sum(row.missed + row.silent + row.tracebacks + row.hangs for row in rows)
    print(f"{len(rows)} kinds, {sum(row.flips + row.cuts for row in rows)} damaged files, {faults} faults")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
