"""Published pages, from their acknowledgement until they are in the store and the index.

    inbox/<nanoseconds>-<key>.new       acknowledged: durable on disk
    inbox/<nanoseconds>-<key>.indexed   indexed, but not yet in the page store

Each file is magic "PERIPAGE", version u32, xxh3 of the rest u64, msgpack of a fetch record. Files of earlier
versions begin with the same checksum in 16 hexadecimal digits.

Any process may add pages; only the one that holds the index removes them. A page is moved to the store when no other
process writes to it, and only then leaves the inbox, so that an index that is built again has it, too.
"""

import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import BadInput, FolderInUse, Overloaded
from periplus.files import check_format, disk_errors, make_folder, write_atomically
from periplus.hashing import fingerprint
from periplus.publish.deletions import DeletionList
from periplus.records import FetchRecord, Outcome, Page
from periplus.settings import StoreSettings
from periplus.store import PageStore
from periplus.url import parse_address

__all__ = ["Inbox", "make_published_record"]

_FOLDER: Final = "inbox"
_MOST: Final = 10_000
"""Pages that may be pending; with more, no process seems to index them."""
_PREFIX: Final = struct.Struct("<8sIQ")
_MAGIC: Final = b"PERIPAGE"
_VERSION: Final = 1
_OLD_CHECKSUM_DIGITS: Final = 16
_MAX_TEXT: Final = 500_000
_MAX_TAG: Final = 40


def make_published_record(
    title: str,
    text: str,
    url: str = "",
    description: str = "",
    author: str = "",
    date: str = "",
    tags: tuple[str, ...] = (),
    language: str = "",
) -> FetchRecord:
    """Return the fetch record of a published page; raise `BadUrl` for an invalid URL.

    Without a URL it gets one in a reserved name space, derived from its content.
    """
    content = f"{title}\n{text}".encode("utf-8", "replace")
    address = parse_address(url) if url else parse_address(f"https://published.invalid/{fingerprint(content):016x}")
    page = Page(
        url=address.url,
        title=title[:1000],
        emphasis=tuple(tags),
        text=text[:_MAX_TEXT],
        description=description[:2000],
        language=language.strip()[:_MAX_TAG].lower(),
        kind="text/plain",
        published=date[:40],
        author=author[:200],
    )
    return FetchRecord(
        address.url,
        address.key,
        Outcome.OK,
        time.time(),
        200,
        content=fingerprint(content),
        page=page,
        bytes=len(content),
    )


class Inbox:
    """The inbox of a data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / _FOLDER
        self._store = folder / "store"
        self.deletions = DeletionList(folder)
        """Pages that must not be indexed, whoever publishes them."""

    def add_record(self, record: FetchRecord) -> None:
        """Add a page, or the deletion of one; it is durable when this returns. Raise `Overloaded` if it is full."""
        if record.outcome is Outcome.OK and self.deletions.contains(record.key):
            raise BadInput(f"{record.url} was deleted.", "Undo the deletion first: periplus index delete --undo URL.")
        with disk_errors(self._folder):
            make_folder(self._folder)
            if len(os.listdir(self._folder)) >= _MOST:
                raise Overloaded("Too many published pages are waiting to be indexed.", "Try again later.")
        body = msgspec.msgpack.encode(record)
        name = f"{time.time_ns():020d}-{record.key:016x}.new"
        write_atomically(self._folder / name, _PREFIX.pack(_MAGIC, _VERSION, fingerprint(body)) + body)

    def withdraw_page(self, url: str) -> None:
        """Withdraw a page, by its URL in canonical form."""
        address = parse_address(url)
        self.add_record(FetchRecord(address.url, address.key, Outcome.GONE, time.time(), 410))

    def find_record(self, key: int) -> FetchRecord | None:
        """Return the latest record with a key, if it is still in the inbox."""
        paths = [path for path in self._paths(".new", ".indexed") if path.stem.endswith(f"{key:016x}")]
        return _read(paths[-1]) if paths else None

    def _paths(self, *states: str) -> list[Path]:
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return []
        return [self._folder / name for name in names if name.endswith(states) and not name.startswith(".")]

    def has_pending(self) -> bool:
        """Return whether there are pages that are not indexed yet."""
        return bool(self._paths(".new"))

    def pending_records(self) -> Iterator[tuple[Path, FetchRecord]]:
        """Yield what is not indexed yet, the oldest first; call `mark_indexed` once each is in the index."""
        for path in self._paths(".new"):
            record = _read(path)
            if record is None:
                path.rename(path.with_suffix(".damaged"))
            else:
                yield path, record

    def mark_indexed(self, path: Path) -> None:
        """Mark a page as indexed."""
        path.rename(path.with_suffix(".indexed"))

    def requeue_indexed(self) -> None:
        """Mark all pages that are not in the store as pending again: the index was rebuilt from the store."""
        for path in self._paths(".indexed"):
            path.rename(path.with_suffix(".new"))

    def move_to_store(self, settings: StoreSettings) -> bool:
        """Move what is indexed into the page store; return whether nothing is left. False if the store is in use."""
        paths = self._paths(".indexed")
        if not paths:
            return True
        try:
            with PageStore.open(self._store, settings, write=True) as store:
                for path in paths:
                    record = _read(path)
                    if record is not None:
                        store.append(record, None)
                store.commit()
        except FolderInUse:
            return False
        for path in paths:
            path.unlink(missing_ok=True)
        return True


def _read(path: Path) -> FetchRecord | None:
    """Return the record in a file; None if it is damaged or missing. Raise `NewerFormat` for a later version."""
    try:
        raw = path.read_bytes()
        if raw.startswith(_MAGIC):
            _, version, checksum = _PREFIX.unpack_from(raw)
            check_format(path, version, _VERSION)
            body = raw[_PREFIX.size :]
        else:  # written before files had a version
            checksum, body = int(raw[:_OLD_CHECKSUM_DIGITS], 16), raw[_OLD_CHECKSUM_DIGITS:]
        return msgspec.msgpack.decode(body, type=FetchRecord) if fingerprint(body) == checksum else None
    except (OSError, ValueError, struct.error, msgspec.MsgspecError):
        return None
