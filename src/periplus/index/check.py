"""Verify an index: every checksum, then the invariants that matching relies on."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.errors import PeriplusError
from periplus.index.manifest import Manifest, read_dead, read_manifest
from periplus.index.segment import Segment
from periplus.kernels import invert

__all__ = ["check_index"]


def check_index(folder: Path, progress: Callable[[str, int, int], None] = lambda stage, done, total: None) -> list[str]:
    """Read all of an index; give a line for each fault found, none if it is sound."""
    manifest = read_manifest(folder)
    faults = _dead_faults(folder, manifest)
    for number, entry in enumerate(manifest.segments):
        progress("checking segments", number, len(manifest.segments))
        try:
            segment = Segment(folder / entry.name)
        except PeriplusError as error:
            faults.append(str(error))
            continue
        faults += [f"{folder / entry.name}: {fault}" for fault in _faults(segment)]
        if segment.documents != entry.documents:
            faults.append(f"{folder / entry.name}: {segment.documents} documents, the manifest says {entry.documents}")
    progress("checking segments", len(manifest.segments), len(manifest.segments))
    return faults


def _dead_faults(folder: Path, manifest: Manifest) -> list[str]:
    try:
        read_dead(folder, manifest)
        return []
    except PeriplusError as error:
        return [str(error)]


def _faults(segment: Segment) -> list[str]:
    lexicon, postings = segment.files["lexicon"], segment.files["postings"]
    entry_owner = np.repeat(np.arange(len(postings["block"])), _steps(postings["block_posting"]))
    rules = {
        "terms are in order": _sorted_terms(lexicon["term_blob"], lexicon["term_start"]),
        "term entries join": _joins(lexicon["term_block"], len(postings["block"])),
        "postings join": _joins(postings["block_posting"], len(postings["offset"])),
        "positions join": _joins(postings["block_position"], len(postings["positions"])),
        "blocks exist": bool((postings["block"] < len(segment.live)).all()),
        "blocks of a term ascend": _ascend_within(postings["block"], lexicon["term_block"]),
        "offsets fit": bool((postings["offset"] < invert.BLOCK).all()),
        "impacts are positive": bool((postings["impact"] > 0).all()),
        "documents exist": bool(
            (
                postings["block"][entry_owner].astype(np.int64) * invert.BLOCK + postings["offset"] < segment.documents
            ).all()
        ),
        "block maxima are maxima": _maxima(postings["impact"], postings["block_posting"], postings["block_max"]),
        "frequencies agree": _frequencies(lexicon, postings),
        "static ranks are bounded": bool(((segment.column("static") >= 0) & (segment.column("static") <= 1)).all()),
        "keys are distinct": len(np.unique(segment.column("key"))) == segment.documents,
    }
    return [f"broken: {rule}" for rule, holds in rules.items() if not holds]


def _steps(starts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    wide = starts.astype(np.int64)
    return wide[1:] - wide[:-1]


def _joins(starts: npt.NDArray[Any], end: int) -> bool:
    """Runs begin at 0, never go back, and end where the data does."""
    return len(starts) > 0 and int(starts[0]) == 0 and int(starts[-1]) == end and bool((_steps(starts) >= 0).all())


def _sorted_terms(blob: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]) -> bool:
    raw, bounds = blob.tobytes(), starts.tolist()
    terms = [raw[a:b] for a, b in itertools.pairwise(bounds)]
    return all(a < b for a, b in itertools.pairwise(terms))


def _ascend_within(values: npt.NDArray[Any], starts: npt.NDArray[np.int64]) -> bool:
    rising = _steps(values) > 0
    first = np.zeros(len(values), np.bool_)
    first[starts[:-1][starts[:-1] < len(values)]] = True
    return bool((rising | first[1:]).all())


def _maxima(impact: npt.NDArray[np.uint8], starts: npt.NDArray[Any], maxima: npt.NDArray[np.uint8]) -> bool:
    if len(maxima) == 0:
        return True
    return bool((np.maximum.reduceat(impact, starts[:-1].astype(np.int64)) == maxima).all())


def _frequencies(lexicon: Any, postings: Any) -> bool:
    starts = postings["block_posting"].astype(np.int64)[lexicon["term_block"]]
    return bool((np.diff(starts) == lexicon["frequency"]).all())
