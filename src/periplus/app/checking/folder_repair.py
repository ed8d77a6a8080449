"""Repair a data folder: what other files can restore is restored, the rest is named; nothing is deleted.

The order matters: the store first, since graph and index are built from it, the index last. Every step copies what it
replaces to `damaged` before, and leaves the folder such that a repair that was killed can be started again.
"""

import contextlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus.app.checking.damaged_files import DamagedFiles, finish_orphans, pending_orphans
from periplus.app.checking.file_kinds import find_kind
from periplus.app.checking.folder_check import FolderFault, check_data_folder
from periplus.app.observer import SILENT, Observer
from periplus.errors import BadFile, PeriplusError
from periplus.files import DATA_FORMAT, DataFolder, encode_json, lock_folder, write_atomically
from periplus.json_lines import check_json_lines
from periplus.settings import Settings

__all__ = ["FolderRepair", "repair_data_folder"]

_MOVED: Final = (
    "crawl/**/frontier.bin", "crawl/**/frontier.next", "crawl/**/inbox/*.parcel", "crawl/**/inbox/*.mail",
    "crawl/**/outbox/*.mail", "crawl/**/topic.json",
    "crawl/**/heard.json", "crawl/**/quotas.json", "crawl/**/status.json", "crawl/**/seeds.txt", "crawl/control",
    "crawl/**/parsing.journal", "index/fields.json",
    "passive/counts.arrays", "index/blocks.arrays", "inbox/*.new", "inbox/*.indexed", "models/used.json",
    "models/*.json", "models/*.model", "quality/latest.json", "popular/asked.json", "popular/salt-*",
    "popular/marks-*.log", "health/*.json", "store/**/visits.keys", "store/order.bin", "store/**/manifest.json",
    "store/**/kept.arrays",
)  # fmt: skip
"""Files that are begun anew, or restored by whoever opens the folder next."""
_LINES: Final = ("judgements.jsonl", "clicks.jsonl", "quality/history.jsonl")
_URL: Final = re.compile(rb'"(https?://[^"\\\\\x00-\x20]{1,2000})":([0-9.e+]{1,24})')


class FolderRepair(msgspec.Struct, frozen=True):
    """What a repair found and did."""

    faults: tuple[FolderFault, ...]
    """What was wrong; nothing was done if there is none."""
    actions: tuple[str, ...] = ()
    """What was done."""
    unrepaired: tuple[str, ...] = ()
    """What is lost or still wrong, and what can be done about it."""
    refetched: tuple[str, ...] = ()
    """URLs of pages whose copies are lost; the next crawl fetches them again."""


def repair_data_folder(folder: Path, settings: Settings, observer: Observer = SILENT) -> FolderRepair:
    """Find the faults of a data folder and repair them. Raise `FolderInUse` if another process writes to it."""
    check = check_data_folder(folder, (), observer)
    if not check.faults and not pending_orphans(folder):
        return FolderRepair(())
    data = DataFolder(folder)
    with contextlib.ExitStack() as locks:
        locks.enter_context(lock_folder(folder, "index"))
        if data.crawl.is_dir():
            locks.enter_context(lock_folder(data.crawl, "supervisor"))
        repair = _Repair(data, settings, observer, check.faults)
        repair.run()
    rest = [str(fault) for fault in check_data_folder(folder, (), observer).faults if not _is_known(fault)]
    unrepaired = tuple(dict.fromkeys([*repair.unrepaired, *rest]))
    return FolderRepair(check.faults, tuple(repair.actions), unrepaired, tuple(repair.refetched))


def _is_known(fault: FolderFault) -> bool:
    """Return whether a fault is no damage: a file of somebody else."""
    return find_kind(fault.path) is None and not fault.path.startswith("index/seg-")


class _Repair:
    """One repair: the faults that it begins with, and what it has done."""

    def __init__(self, data: DataFolder, settings: Settings, observer: Observer, faults: Iterable[FolderFault]) -> None:
        self._data, self._settings, self._observer = data, settings, observer
        self._aside = DamagedFiles(data.path)
        self._patterns: dict[str, list[str]] = {}
        for fault in faults:
            kind = find_kind(fault.path)
            if kind is not None:
                self._patterns.setdefault(kind.pattern, []).append(fault.path)
            elif fault.path.startswith("index/seg-"):
                self._patterns.setdefault("index/segment", []).append(fault.path)
        self.actions: list[str] = []
        self.unrepaired: list[str] = []
        self.refetched: list[str] = []
        self._rebuild = False

    def run(self) -> None:
        """Repair everything that can be repaired."""
        steps: tuple[Callable[[], None], ...] = (
            self._repair_stamp, self._repair_small_files, self._repair_lines, self._repair_deletions,
            self._repair_topology, self._repair_store, self._import_orphans, self._repair_index,
        )  # fmt: skip
        for step in steps:
            try:
                step()
            except PeriplusError as error:
                self.unrepaired.append(str(error))

    def _paths(self, *patterns: str) -> list[Path]:
        names = dict.fromkeys(name for pattern in patterns for name in self._patterns.get(pattern, ()))
        return [self._data.path / name for name in names]

    def _repair_stamp(self) -> None:
        if self._paths("periplus.json"):
            path = self._data.path / "periplus.json"
            self._aside.move(path)
            write_atomically(path, encode_json({"format": DATA_FORMAT}))
            self.actions.append("Wrote periplus.json again.")

    def _repair_small_files(self) -> None:
        """Move files aside that are begun anew."""
        for pattern in _MOVED:
            for path in self._paths(pattern):
                self._aside.move(path)
                kind = find_kind(path.relative_to(self._data.path).as_posix())
                self.actions.append(f"Moved {path} aside: {kind.meaning if kind else ''}.")
        if spilled := self._paths("crawl/**/spill/*.spill", "crawl/**/originals/*.urls", "crawl/**/seen/*.keys"):
            for path in spilled:
                # A snapshot without the files that it names is not complete.
                for snapshot in ("frontier.bin", "frontier.next"):
                    self._aside.move(path.parent.parent / snapshot)
                self._aside.move(path)
            self.actions.append("Moved the snapshot of the crawl aside: it goes on from the stored pages.")
        for path in self._paths("inbox/*.new", "inbox/*.indexed"):
            self.unrepaired.append(f"A published page is lost: {path.name}. Publish it again.")
        if self._paths("store/order.bin"):
            self._rebuild = True

    def _repair_lines(self) -> None:
        """Rewrite logs without their damaged lines."""
        for path in self._paths(*_LINES):
            self._aside.copy(path)
            lines = [line for line in path.read_bytes().split(b"\n")[:-1] if line]
            intact = [lines for lines in check_json_lines(path, 2) if not lines.fault]
            kept = _select_lines(path, {line.number for line in intact})
            write_atomically(path, b"".join(line + b"\n" for line in kept))
            self.actions.append(f"Left out {max(0, len(lines) - len(kept))} damaged lines of {path}.")
        from periplus.signals import check_visit_log

        for path in self._paths("passive/visits-*.log"):
            self._aside.copy(path)
            damaged = {int(fault.reason.split()[-1]) for fault in check_visit_log(path) if not fault.torn}
            # Lines keep their places: readers know their position in the log.
            data = path.read_bytes()
            kept = [b"\n" * len(line) if number in damaged else line for number, line in _numbered(data)]
            write_atomically(path, b"".join(line + b"\n" for line in kept))
            self.actions.append(f"Left out {len(damaged)} damaged lines of {path}.")

    def _repair_deletions(self) -> None:
        """Restore the list of deleted pages, as far as it can be read; a page of it must not appear again."""
        path = self._data.path / "deleted.json"
        if not self._paths("deleted.json"):
            return
        data = path.read_bytes()
        pages = {url.decode(): float(when) for url, when in _URL.findall(data) if _is_number(when)}
        self._aside.move(path)
        write_atomically(path, encode_json({"format": 2, "pages": pages}))
        self.actions.append(f"Restored {len(pages)} pages of {path}.")
        self.unrepaired.append(f"One page of {path} may be misspelt or missing: compare it with the copy in 'damaged'.")

    def _repair_topology(self) -> None:
        if self._paths("crawl/**/shards.json"):
            from periplus.crawl import restore_topology

            self._aside.move(self._data.crawl / "shards.json")
            topology = restore_topology(self._data.path)
            self.actions.append(f"Restored the shards of the crawl: {len(topology.shards)}.")

    def _repair_store(self) -> None:
        """Repair logs and WARC files, restore the manifest and what is left of lost pages."""
        if not any(pattern.startswith("store/") for pattern in self._patterns):
            return
        from periplus.store import PageStore, repair_store_files, shard_folders

        for folder in (self._data.store, *shard_folders(self._data.store).values()):
            repair = repair_store_files(folder, self._aside.keep_bytes, self._keep_orphans)
            self.unrepaired += repair.unrepaired
            self.refetched += repair.lost_responses
            if repair.lost_frames:
                self._rebuild = True
                self.actions.append(f"Removed {repair.lost_frames} damaged parts of the fetch log in {folder}.")
            with PageStore.open(folder, self._settings.store, write=True):
                self.actions.append(f"Restored the manifest of {folder}.")
        if self.refetched:
            self._fetch_again()

    def _keep_orphans(self, orphans: list[tuple[Path, int]]) -> None:
        from periplus.store import read_orphans

        for suffix in sorted({path.suffix for path, _ in orphans}):
            records = read_orphans([(path, offset) for path, offset in orphans if path.suffix == suffix])
            self._aside.keep_orphans(records, suffix)

    def _import_orphans(self) -> None:
        """Import the responses whose fetch records were lost, now or in a repair that was killed."""
        from periplus.app.jobs.page_import import import_files

        for path in pending_orphans(self._data.path):
            with contextlib.suppress(BadFile):  # none of them has a page
                counts = import_files(self._data.path, self._settings, [path], self._observer)
                pages = sum(count.pages for count in counts)
                self.actions.append(f"Restored {pages} pages from their responses.")
            self._rebuild = True
            finish_orphans(path)

    def _fetch_again(self) -> None:
        """Report the pages whose copies are lost as changed: the next crawl fetches them."""
        from periplus.records import VisitReport
        from periplus.signals import append_visit_reports

        urls = list(dict.fromkeys(self.refetched))
        self.refetched = urls
        append_visit_reports(self._data.path, [VisitReport(url, 1, "lost") for url in urls])
        self.actions.append(f"Queued {len(urls)} pages, whose copies are lost, to be fetched again.")

    def _repair_index(self) -> None:
        """Repair or build graph, index and vectors."""
        graph = [pattern for pattern in self._patterns if pattern.startswith("graph/")]
        index = [pattern for pattern in self._patterns if pattern.startswith("index/")]
        for path in self._paths(*graph):
            self._aside.move(path)
        for path in self._paths(*index):
            self._aside.copy(path)
        if not (graph or index or self._rebuild) or not self._data.store.is_dir():
            if graph or index:
                self.unrepaired.append("There are no stored pages to build graph and index from.")
            return
        from periplus.app.checking.index_restoration import restore_graph, restore_index

        if (graph or self._rebuild) and self._data.graph.is_dir():
            restore_graph(self._data, self._settings, self._observer)
            self.actions.append("Built the link graph again.")
        if (index or self._rebuild) and self._data.index.is_dir():
            self.actions += restore_index(self._data, self._settings, self._observer, rebuild=self._rebuild)


def _numbered(data: bytes) -> Iterable[tuple[int, bytes]]:
    return enumerate(data.split(b"\n")[:-1], 1)


def _select_lines(path: Path, numbers: set[int]) -> list[bytes]:
    return [line for number, line in _numbered(path.read_bytes()) if number in numbers and line]


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
