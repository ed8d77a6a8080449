"""Data folders for tests of uploads, and their content."""

import os
from pathlib import Path

from periplus.records import FetchRecord, FetchRequest, FetchResult, Outcome, Page
from periplus.settings import StoreSettings
from periplus.storage import Storage
from periplus.store import PageStore
from periplus.url import parse_address

STORE = StoreSettings()
LOCAL = (".", "health", "status.json", "crawl.log", "keys.json", "visits.keys")


def content(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder that belong to its shard, by relative path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith(LOCAL) for part in path.relative_to(folder).parts)
    }


def write(folder: Path, files: dict[str, bytes]) -> None:
    """Write files, as Periplus does: what is there is replaced by a rename."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.new")
        temporary.write_bytes(data)
        os.replace(temporary, path)


def append(folder: Path, name: str, data: bytes) -> None:
    """Continue a file."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(data)


def object_names(storage: Storage, number: int) -> set[str]:
    """Return the objects of a shard that are in storage, named by its manifest or not."""
    return {entry.name for entry in storage.list_objects(f"shards/{number:02d}/files")}


def add_pages(folder: Path, first: int, count: int, settings: StoreSettings = STORE) -> None:
    """Store pages, as a crawl does."""
    store = PageStore.open(folder / "store", settings, write=True)
    try:
        for number in range(first, first + count):
            address = parse_address(f"https://example.org/{number}")
            body = os.urandom(2000)
            record = FetchRecord(
                url=address.url,
                key=address.key,
                when=1e9 + number,
                outcome=Outcome.OK,
                status=200,
                page=Page(url=address.url, title=f"Page {number}", text="tides " * 50),
            )
            store.append(record, FetchResult(FetchRequest(address), Outcome.OK, record.when, 200, body=body))
    finally:
        store.close()
