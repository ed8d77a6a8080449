"""Pages that people hand in, from the moment they are acknowledged until they are in the store and the index.

    inbox/<nanoseconds>-<key>.new       acknowledged: on disk, whole
    inbox/<nanoseconds>-<key>.indexed   can be found; waits for its place in the page store

Each file is magic "PERIPAGE", version u32, xxh3 of what follows u64, msgpack of a visit. Files of earlier versions
begin with the same sum in 16 hexadecimal digits.

Any process may put pages in; one at a time takes them out: whoever holds the index. A page is put into the store when
nobody else writes to it, and only then leaves the inbox, so that an index built anew has it too.
"""

import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import BadInput, FolderInUse, Overloaded
from periplus.files import check_format, disk_errors, write_atomically
from periplus.hashing import fingerprint
from periplus.publish.deletions import DeletionList
from periplus.records import FetchRecord, Outcome, Page
from periplus.settings import StoreSettings
from periplus.store import PageStore
from periplus.url import parse_address

__all__ = ["Inbox", "make_published_record"]

_FOLDER: Final = "inbox"
_MOST: Final = 10_000
"""Pages that may wait; with more, nobody seems to take them."""
_PREFIX: Final = struct.Struct("<8sIQ")
_MAGIC: Final = b"PERIPAGE"
_VERSION: Final = 1
_MARK: Final = 16
_MOST_TEXT: Final = 500_000


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
    """Make a visit of a page that was handed in; raise `BadUrl` for an address that is none.

    Without an address it gets one in a name space that nobody can own, made of its content.
    """
    content = f"{title}\n{text}".encode("utf-8", "replace")
    place = parse_address(url) if url else parse_address(f"https://published.invalid/{fingerprint(content):016x}")
    page = Page(
        url=place.url,
        title=title[:1000],
        emphasis=tuple(tags),
        text=text[:_MOST_TEXT],
        description=description[:2000],
        language=language[:2].lower(),
        kind="text/plain",
        published=date[:40],
        author=author[:200],
    )
    return FetchRecord(
        place.url, place.key, Outcome.OK, time.time(), 200, content=fingerprint(content), page=page, bytes=len(content)
    )


class Inbox:
    """The inbox of a data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / _FOLDER
        self._store = folder / "store"
        self.deletions = DeletionList(folder)
        """Pages that are not to be found, whoever hands them in."""

    def add_record(self, visit: FetchRecord) -> None:
        """Take a page, or one that is gone; once this returns it survives a power cut. Raise `Overloaded` when full."""
        if visit.outcome is Outcome.OK and self.deletions.contains(visit.key):
            raise BadInput(f"{visit.url} was deleted here.", "Take that back first: periplus index delete --undo URL.")
        with disk_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            if len(os.listdir(self._folder)) >= _MOST:
                raise Overloaded("More published pages wait than the inbox holds.", "Try again later.")
        body = msgspec.msgpack.encode(visit)
        name = f"{time.time_ns():020d}-{visit.key:016x}.new"
        write_atomically(self._folder / name, _PREFIX.pack(_MAGIC, _VERSION, fingerprint(body)) + body)

    def withdraw_page(self, url: str) -> None:
        """Take a page back, by its URL in canonical form."""
        place = parse_address(url)
        self.add_record(FetchRecord(place.url, place.key, Outcome.GONE, time.time(), 410))

    def find_record(self, key: int) -> FetchRecord | None:
        """Give the last that was handed in under a key, if it still waits."""
        found = [path for path in self._paths(".new", ".indexed") if path.stem.endswith(f"{key:016x}")]
        return _read(found[-1]) if found else None

    def _paths(self, *states: str) -> list[Path]:
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return []
        return [self._folder / name for name in names if name.endswith(states) and not name.startswith(".")]

    def has_pending(self) -> bool:
        """Say whether there is something that cannot be found yet."""
        return bool(self._paths(".new"))

    def pending_records(self) -> Iterator[tuple[Path, FetchRecord]]:
        """Give what cannot be found yet, the oldest first; each is `done` once it is in the index."""
        for path in self._paths(".new"):
            visit = _read(path)
            if visit is None:
                path.rename(path.with_suffix(".damaged"))
            else:
                yield path, visit

    def mark_indexed(self, path: Path) -> None:
        """Take note that a page can be found."""
        path.rename(path.with_suffix(".indexed"))

    def requeue_indexed(self) -> None:
        """Let all that is not in the store be indexed again: the index was made anew from the store."""
        for path in self._paths(".indexed"):
            path.rename(path.with_suffix(".new"))

    def move_to_store(self, settings: StoreSettings) -> bool:
        """Put what can be found into the page store; say whether nothing is left. Not now if the store is in use."""
        paths = self._paths(".indexed")
        if not paths:
            return True
        try:
            with PageStore.open(self._store, settings, write=True) as store:
                for path in paths:
                    visit = _read(path)
                    if visit is not None:
                        store.append(visit, None)
                store.commit()
        except FolderInUse:
            return False
        for path in paths:
            path.unlink(missing_ok=True)
        return True


def _read(path: Path) -> FetchRecord | None:
    """Read a page; None for a file that is damaged or gone. Raise `NewerFormat` for one of a later version."""
    try:
        raw = path.read_bytes()
        if raw.startswith(_MAGIC):
            _, version, mark = _PREFIX.unpack_from(raw)
            check_format(path, version, _VERSION)
            body = raw[_PREFIX.size :]
        else:  # before files had a number
            mark, body = int(raw[:_MARK], 16), raw[_MARK:]
        return msgspec.msgpack.decode(body, type=FetchRecord) if fingerprint(body) == mark else None
    except (OSError, ValueError, struct.error, msgspec.MsgspecError):
        return None
