"""The one writer of a store: WARC record first, visit second, manifest last."""

import contextlib
import time
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import CorruptFile
from periplus.files import disk_errors, lock_folder
from periplus.records import LIST_KIND, FetchRecord, FetchResult, Outcome
from periplus.settings import StoreSettings
from periplus.store.append_file import AppendFile
from periplus.store.log_frames import FILE_HEADER, MAX_PAYLOAD, encode_visit, pack_frame
from periplus.store.store_manifest import (
    Manifest,
    Part,
    log_files,
    log_name,
    new_manifest,
    number_of,
    read_manifest,
    warc_files,
    warc_name,
    write_manifest,
)
from periplus.store.store_recovery import recover
from periplus.store.warc.warc_reader import MAX_BODY
from periplus.store.warc.warc_writer import info_record, pack_record, response_record, revisit_record

__all__ = ["Writer"]

_BATCH_BYTES: Final = 256 << 10
"""Visits are gathered up to this many bytes: single small frames compress badly."""
_WARC_BYTES: Final = 4 << 20
_MAX_VISIT: Final = MAX_PAYLOAD // 4


class Writer:
    """Appends visits and responses. Every method leaves the store usable when the disk fails: call it again later."""

    def __init__(self, folder: Path, settings: StoreSettings) -> None:
        self.folder = folder
        self.settings = settings
        self._held = contextlib.ExitStack()
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._held.enter_context(lock_folder(folder, "pages"))
        try:
            self._open(recover(folder, self._manifest_or_new()))
        except BaseException:
            self._held.close()
            raise

    def _manifest_or_new(self) -> Manifest:
        found = read_manifest(self.folder)
        if found is None:
            if warc_files(self.folder) and not log_files(self.folder):
                raise CorruptFile(f"{self.folder} has WARC files but no visit log.", "Restore the logs.")
            found = new_manifest()
            write_manifest(self.folder, found)
        return found

    def _open(self, manifest: Manifest) -> None:
        self._durable = manifest
        self.rotations = 0
        """WARC files filled since the store was opened."""
        self._visits, self._pages = manifest.visits, manifest.pages
        self._batch: list[bytes] = []
        self._batch_bytes = self._batch_pages = 0
        self._changed = True
        # Files that were filled before; the last one of each kind is open below.
        self._old_logs, self._old_warcs = list(manifest.logs), list(manifest.warcs)
        self._log = self._open_log(self._old_logs.pop() if self._old_logs else Part(log_name(0), 0))
        self._warc: AppendFile | None = None
        if self._old_warcs and self._old_warcs[-1].name.endswith(self._suffix()):
            part = self._old_warcs.pop()
            self._warc = self._keep(AppendFile(self.folder / part.name, part.length))
        self.commit()

    def _suffix(self) -> str:
        return ".gz" if self.settings.compression == "gzip" else ".zst"

    def _keep(self, file: AppendFile) -> AppendFile:
        self._held.callback(file.close)
        return file

    def _open_log(self, part: Part) -> AppendFile:
        log = self._keep(AppendFile(self.folder / part.name, part.length))
        if part.length == 0:
            log.add(FILE_HEADER)
        return log

    @property
    def visits(self) -> int:
        """Visits taken so far, durable or not."""
        return self._visits

    @property
    def durable(self) -> Manifest:
        """What is durable."""
        return self._durable

    def append(self, visit: FetchRecord, fetched: FetchResult | None) -> FetchRecord:
        """Take one visit. When this raises, the visit was not taken."""
        self._make_room()
        if fetched is not None and fetched.outcome is Outcome.OK and 0 < len(fetched.body) <= MAX_BODY:
            packed = pack_record(response_record(fetched), self.settings.compression, self.settings.level)
            warc = self._warc or self._new_warc()
            visit = msgspec.structs.replace(visit, warc=warc.path.name, warc_offset=warc.add(packed))
        elif fetched is not None and fetched.outcome is Outcome.NOT_MODIFIED and _is_web(fetched):
            packed = pack_record(revisit_record(fetched), self.settings.compression, self.settings.level)
            (self._warc or self._new_warc()).add(packed)
        encoded = encode_visit(visit)
        if len(encoded) > _MAX_VISIT:
            # No reader makes such pages; an import may. The visit is kept, its text is not.
            visit = msgspec.structs.replace(visit, page=None)
            encoded = encode_visit(visit)
        self._batch.append(encoded)
        self._batch_bytes += len(encoded)
        self._batch_pages += _is_page(visit)
        self._visits += 1
        self._pages += _is_page(visit)
        self._changed = True
        return visit

    def _make_room(self) -> None:
        if self._batch_bytes >= _BATCH_BYTES:
            self.flush()
        elif self._warc is not None and self._warc.waiting >= _WARC_BYTES:
            self._warc.write()
        # Every file but the last is durable before the next begins, so that recovery looks at the last ones only.
        if self._log.size >= self.settings.rotate_bytes:
            self.commit()
            self._next_log()
        if self._warc is not None and self._warc.size >= self.settings.rotate_bytes:
            self.commit()
            self._old_warcs.append(Part(self._warc.path.name, self._warc.end))
            self.rotations += 1
            self._warc.close()
            self._warc = None

    def _next_log(self) -> None:
        full = self._log
        log = self._open_log(Part(log_name(number_of(full.path.name) + 1), 0))
        self._old_logs.append(Part(full.path.name, full.end, self._visits - self._counted()))
        self._log, self._changed = log, True
        full.close()
        self.commit()

    def _counted(self) -> int:
        return sum(part.visits for part in self._old_logs)

    def _new_warc(self) -> AppendFile:
        number = number_of(self._old_warcs[-1].name) + 1 if self._old_warcs else 0
        name = warc_name(number, self.settings.compression)
        warc = self._keep(AppendFile(self.folder / name))
        warc.add(pack_record(info_record(name, time.time()), self.settings.compression, self.settings.level))
        self._warc = warc
        return warc

    def flush(self) -> None:
        """Hand everything to the operating system, responses before the visits that point to them."""
        if self._warc is not None:
            self._warc.write()
        if self._batch:
            number, end = self._reach()
            self._log.add(pack_frame(self._batch, self._batch_pages, number, end, self.settings.level))
            self._batch = []
            self._batch_bytes = self._batch_pages = 0
        self._log.write()

    def _reach(self) -> tuple[int, int]:
        if self._warc is not None:
            return number_of(self._warc.path.name), self._warc.end
        return (number_of(self._old_warcs[-1].name), self._old_warcs[-1].length) if self._old_warcs else (0, 0)

    def commit(self) -> int:
        """Make everything durable; give the number of visits that are."""
        if not self._changed:
            return self._visits
        self.flush()
        if self._warc is not None:
            self._warc.sync()
        self._log.sync()
        logs = (*self._old_logs, Part(self._log.path.name, self._log.end, self._visits - self._counted()))
        warcs = tuple(self._old_warcs)
        if self._warc is not None:
            warcs += (Part(self._warc.path.name, self._warc.end),)
        manifest = Manifest(id=self._durable.id, visits=self._visits, pages=self._pages, logs=logs, warcs=warcs)
        write_manifest(self.folder, manifest)
        self._durable, self._changed = manifest, False
        return self._visits

    def full_warcs(self) -> list[str]:
        """Name the WARC files that nothing more is written to; the last of all is never among them."""
        names = [part.name for part in self._old_warcs]
        return names if self._warc is not None else names[:-1]

    def forget_warcs(self, names: list[str]) -> None:
        """Remove full WARC files: first from the manifest, then from the disk."""
        self._old_warcs = [part for part in self._old_warcs if part.name not in names]
        self._changed = True
        self.commit()
        for name in names:
            with disk_errors(self.folder / name):
                (self.folder / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Commit, then let go of files and lock, also when the commit fails."""
        try:
            self.commit()
        finally:
            self._held.close()


def _is_web(fetched: FetchResult) -> bool:
    """Say whether there was a response that a revisit record could keep the headers of."""
    return fetched.request.address.scheme in ("http", "https")


def _is_page(visit: FetchRecord) -> bool:
    """Say whether a visit brought something to read: a sitemap or a feed is only a list of links."""
    return visit.page is not None and visit.page.kind != LIST_KIND
