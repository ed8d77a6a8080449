"""Verifies an index: checksums, the invariants that matching relies on, the journal and the deletions."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.checksums import FileFault
from periplus.errors import PeriplusError
from periplus.index.builder.feed_dates import feed_log_faults, feed_log_path
from periplus.index.builder.site_blocks import check_blocks
from periplus.index.document_order import is_in_order
from periplus.index.index_manifest import Manifest, SegmentEntry, read_deleted, read_manifest
from periplus.index.live.late_dates import read_late_news
from periplus.index.live.live_journal import journal_path, read_journal, scan_journal
from periplus.index.segment import Segment
from periplus.index.validation.kernels import postings_check
from periplus.index.word_pairs.pair_lists import is_consistent

__all__ = ["check_index", "check_segment", "index_tail_faults"]


def check_index(folder: Path, progress: Callable[[str, int, int], None] = lambda stage, done, total: None) -> list[str]:
    """Read all of an index; return a line for each fault, none if it is intact."""
    manifest = read_manifest(folder)
    faults = _deletion_faults(folder, manifest) + _journal_faults(folder, manifest)
    faults += [f"{fault.path} {fault.reason}." for fault in feed_log_faults(feed_log_path(folder)) if not fault.torn]
    for number, entry in enumerate(manifest.segments):
        progress("checking segments", number, len(manifest.segments))
        faults += check_segment(folder, entry)
    progress("checking segments", len(manifest.segments), len(manifest.segments))
    return faults


def check_segment(folder: Path, entry: SegmentEntry) -> list[str]:
    """Read all of one segment; return a line for each fault."""
    try:
        segment = Segment(folder / entry.name)
        faults = [f"{folder / entry.name}: {fault}" for fault in _find_faults(segment)]
    except PeriplusError as error:
        return [str(error)]
    if segment.documents != entry.documents:
        faults.append(f"{folder / entry.name}: {segment.documents} documents, the manifest says {entry.documents}")
    return faults


def _deletion_faults(folder: Path, manifest: Manifest) -> list[str]:
    try:
        read_deleted(folder, manifest)
        read_late_news(folder, manifest)
        check_blocks(folder)
        return []
    except PeriplusError as error:
        return [str(error)]


def _journal_faults(folder: Path, manifest: Manifest) -> list[str]:
    """Return a line if the file is not a journal. An incomplete last entry is no fault: it was never acknowledged."""
    path = journal_path(folder, manifest.journal)
    try:
        read_journal(path)
        return []
    except FileNotFoundError:
        return []
    except (PeriplusError, OSError) as error:
        return [str(error)]


def _find_faults(segment: Segment) -> list[str]:
    terms, postings = segment.valid_terms(), segment.postings
    ends = [(terms.stream_end, postings.stream), (terms.position_end, postings.positions)]
    invariants = {
        "terms are in order": _is_sorted(terms.blob, terms.start),
        "parts of terms join": all(_ends_match(end, part) for end, part in ends),
        "static ranks are bounded": bool(((segment.column("static") >= 0) & (segment.column("static") <= 1)).all()),
        "documents are in order": is_in_order(segment.order, segment),
        "keys are distinct": len(np.unique(segment.column("key"))) == segment.documents,
    }
    violated = [rule for rule, holds in invariants.items() if not holds]
    if not violated:
        fault = postings_check.verify_postings(postings, terms, segment.documents)
        if fault:
            violated.append(postings_check.FAULTS[fault])
        elif not is_consistent(segment):
            violated.append("word pairs agree with positions")
    return [f"broken: {rule}" for rule in violated]


def _ends_match(ends: npt.NDArray[np.int64], part: npt.NDArray[Any]) -> bool:
    """Return whether ends ascend, and the last is where the data ends."""
    return int(ends[-1] if len(ends) else 0) == len(part) and bool((ends[1:] >= ends[:-1]).all())


def _is_sorted(blob: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]) -> bool:
    raw, bounds = blob.tobytes(), starts.tolist()
    terms = [raw[a:b] for a, b in itertools.pairwise(bounds)]
    return all(a < b for a, b in itertools.pairwise(terms))


def index_tail_faults(folder: Path) -> list[FileFault]:
    """Return the logs of an index whose end was cut short by a crash, where no process is writing."""
    faults = [fault for fault in feed_log_faults(feed_log_path(folder)) if fault.torn]
    for path in sorted(folder.glob("journal-*.log")):
        try:
            if scan_journal(path).end < path.stat().st_size:
                faults.append(FileFault(path, "was cut short", torn=True))
        except (PeriplusError, OSError):
            continue  # reported with the index
    return faults
