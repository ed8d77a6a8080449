"""Verify an index: every checksum, then the invariants that matching relies on; the journal and the dead, too."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.errors import PeriplusError
from periplus.index.index_manifest import Manifest, SegmentEntry, read_dead, read_manifest
from periplus.index.kernels import postings_check
from periplus.index.live.late_dates import read_late
from periplus.index.live.live_journal import journal_path, read_journal
from periplus.index.segment import Segment

__all__ = ["check_index", "segment_faults"]


def check_index(folder: Path, progress: Callable[[str, int, int], None] = lambda stage, done, total: None) -> list[str]:
    """Read all of an index; give a line for each fault found, none if it is sound."""
    manifest = read_manifest(folder)
    faults = _dead_faults(folder, manifest) + _journal_faults(folder, manifest)
    for number, entry in enumerate(manifest.segments):
        progress("checking segments", number, len(manifest.segments))
        faults += segment_faults(folder, entry)
    progress("checking segments", len(manifest.segments), len(manifest.segments))
    return faults


def segment_faults(folder: Path, entry: SegmentEntry) -> list[str]:
    """Read all of one segment; give a line for each fault."""
    try:
        segment = Segment(folder / entry.name)
        faults = [f"{folder / entry.name}: {fault}" for fault in _faults(segment)]
    except PeriplusError as error:
        return [str(error)]
    if segment.documents != entry.documents:
        faults.append(f"{folder / entry.name}: {segment.documents} documents, the manifest says {entry.documents}")
    return faults


def _dead_faults(folder: Path, manifest: Manifest) -> list[str]:
    try:
        read_dead(folder, manifest)
        read_late(folder, manifest)
        return []
    except PeriplusError as error:
        return [str(error)]


def _journal_faults(folder: Path, manifest: Manifest) -> list[str]:
    """A torn tail is no fault: it was never acknowledged. A file that is no journal is one."""
    path = journal_path(folder, manifest.journal)
    try:
        read_journal(path)
        return []
    except FileNotFoundError:
        return []
    except (PeriplusError, OSError) as error:
        return [str(error)]


def _faults(segment: Segment) -> list[str]:
    terms, lists = segment.terms(), segment.postings
    ends = [(terms.stream_end, lists.stream), (terms.position_end, lists.positions)]
    rules = {
        "terms are in order": _sorted_terms(terms.blob, terms.start),
        "parts of terms join": all(_ends_with(end, part) for end, part in ends),
        "static ranks are bounded": bool(((segment.column("static") >= 0) & (segment.column("static") <= 1)).all()),
        "keys are distinct": len(np.unique(segment.column("key"))) == segment.documents,
    }
    broken = [rule for rule, holds in rules.items() if not holds]
    fault = 0 if broken else postings_check.verify_postings(lists, terms, segment.documents)
    return [f"broken: {rule}" for rule in [*broken, *([postings_check.FAULTS[fault]] if fault else [])]]


def _ends_with(ends: npt.NDArray[np.int64], part: npt.NDArray[Any]) -> bool:
    """Say whether ends never go back, and the last is where the data ends."""
    return int(ends[-1] if len(ends) else 0) == len(part) and bool((ends[1:] >= ends[:-1]).all())


def _sorted_terms(blob: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]) -> bool:
    raw, bounds = blob.tobytes(), starts.tolist()
    terms = [raw[a:b] for a, b in itertools.pairwise(bounds)]
    return all(a < b for a, b in itertools.pairwise(terms))
