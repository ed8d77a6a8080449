"""The page store: appending and committing, rotation, recovery, retention."""

import random
from pathlib import Path

import msgspec
from operation import MarkWriter, Operation, expect

from periplus.settings import StoreSettings
from periplus.store import PageStore
from store.store_samples import make_record, make_result

_RECORDS, _BATCH = 12, 3
_SMALL = StoreSettings(rotate_bytes=65_536)


def response_body(number: int) -> bytes:
    """Return a body that does not compress, so that files are filled."""
    return b"<p>" + random.Random(number).randbytes(9_000)


def append_records(store: PageStore, start: int, stop: int) -> None:
    """Append records with bodies."""
    for number in range(start, stop):
        store.append(make_record(number), make_result(number, response_body(number)))


def check_store(folder: Path, settings: StoreSettings, least: int, most: int, bodies: bool = True) -> None:
    """Raise `Wrong` unless the store has the first records of the series, at least and at most so many, then append."""
    with PageStore.open(folder, settings) as store:
        records = list(store.records())
    _compare(records, least, most)
    with PageStore.open(folder, settings, write=True) as store:
        records = list(store.records())
        _compare(records, least, most)
        for number, record in enumerate(records if bodies else ()):
            expect(store.read_response(record).body == response_body(number), f"record {number} has another body")
        append_records(store, len(records), len(records) + 1)
        expect(store.commit() == len(records) + 1, "the commit after recovery has another number of records")
    with PageStore.open(folder, settings) as store:
        again = list(store.records())
        _compare(again, len(records) + 1, len(records) + 1)
        expect(store.read_response(again[-1]).body == response_body(len(records)), "the last record has another body")
        expect(store.find(again[-1].key) == again[-1], "the last record is not found by its key")


def _compare(records: list, least: int, most: int) -> None:  # type: ignore[type-arg]
    expect(least <= len(records) <= most, f"{len(records)} records, not {least} to {most}")
    for number, record in enumerate(records):
        plain = msgspec.structs.replace(record, warc="", warc_offset=0)
        expect(plain == make_record(number), f"record {number} has another content")


class StoreCommit(Operation):
    """Records and responses appended and committed, over several files."""

    name = "store: append and commit"
    settings = _SMALL

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)

    def run(self, folder: Path, marks: MarkWriter) -> None:
        with PageStore.open(folder / "store", self.settings, write=True) as store:
            start = len(list(store.records()))
            for number in range(start, _RECORDS, _BATCH):
                stop = min(number + _BATCH, _RECORDS)
                marks.begin(str(stop))
                append_records(store, number, stop)
                store.commit()
                marks.done(str(stop))

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        least, most = max(map(int, done), default=0), max(map(int, begun), default=0)
        if least or (folder / "store" / "manifest.json").exists():
            check_store(folder / "store", self.settings, least, most)


class GzipCommit(StoreCommit):
    """The same with gzip."""

    name = "store: append and commit (gzip)"
    settings = StoreSettings(rotate_bytes=65_536, warc="gzip")


class StoreRecovery(StoreCommit):
    """A store that a crash has left with torn tails, opened for writing: power fails during the recovery."""

    name = "store: recovery"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        store = PageStore.open(folder / "store", self.settings, write=True)
        append_records(store, 0, _BATCH)
        store.commit()
        append_records(store, _BATCH, 2 * _BATCH)
        store.flush()
        for path in [*(folder / "store").glob("pages-*"), *(folder / "store").glob("visits-*.log")]:
            with path.open("ab") as file:
                file.write(b"\xff" * 700)

    def run(self, folder: Path, marks: MarkWriter) -> None:
        marks.begin(str(2 * _BATCH))
        marks.done(str(_BATCH))
        PageStore.open(folder / "store", self.settings, write=True).close()
        marks.done(str(2 * _BATCH))

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        super().check(folder, done or [str(_BATCH)], begun or [str(2 * _BATCH)])


class StoreRetention(Operation):
    """Old responses removed: records stay, and responses that are kept stay readable."""

    name = "store: retention"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        with PageStore.open(folder / "store", _SMALL, write=True) as store:
            append_records(store, 0, 18)
            store.append(make_record(0), make_result(0, response_body(0)))

    def run(self, folder: Path, marks: MarkWriter) -> None:
        with PageStore.open(folder / "store", _SMALL, write=True) as store:
            marks.begin("trim")
            store.apply_retention(keep_bytes=70_000)
            marks.done("trim")

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        for write in (False, True):
            with PageStore.open(folder / "store", _SMALL, write=write) as store:
                records = list(store.records())
                expect(len(records) == 19, f"{len(records)} records, not 19")
                for number in range(1, 18):
                    body = store.read_response(records[number]).body
                    expect(body == response_body(number), f"record {number} has another body")
                if write:
                    store.apply_retention(keep_bytes=70_000)
                    store.append(make_record(30), make_result(30, response_body(30)))
                    store.commit()


OPERATIONS: tuple[Operation, ...] = (StoreCommit(), GzipCommit(), StoreRecovery(), StoreRetention())
