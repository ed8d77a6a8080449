"""How far embedding is, in `index/meaning/progress.json`: for people who ask another process than the one at work."""

import time
from pathlib import Path
from typing import Final

import msgspec

from periplus.embeddings.vector_file import FOLDER
from periplus.errors import DataError
from periplus.files import decode_json, encode_json, read_file, write_atomically

__all__ = ["PROGRESS_NAME", "EmbeddingProgress", "describe_progress", "read_progress", "write_progress"]

PROGRESS_NAME: Final = "progress.json"
_FORMAT: Final = 1
_STALE_SECONDS: Final = 120.0
"""A run that has reported nothing for so long was ended."""


class EmbeddingProgress(msgspec.Struct, frozen=True):
    """The state of the run in progress, or the result of the last one."""

    format: int
    done: int
    """Documents that were looked at, of `total`."""
    total: int
    skipped: int
    """Documents in languages that the model does not support."""
    pending: int
    """Documents that the limit of the run has left without vectors."""
    limit: str
    """That limit in words, '' if there is none."""
    finished: bool
    when: float


def write_progress(
    folder: Path, done: int, total: int, skipped: int, pending: int, limit: str, *, finished: bool
) -> None:
    """Write how far a run over the index `folder` is."""
    progress = EmbeddingProgress(_FORMAT, done, total, skipped, pending, limit, finished, time.time())
    write_atomically(folder / FOLDER / PROGRESS_NAME, encode_json(progress))


def read_progress(folder: Path) -> EmbeddingProgress | None:
    """Return what the last run over the index `folder` reported; None if there was none, or its file is damaged."""
    path = folder / FOLDER / PROGRESS_NAME
    try:
        return decode_json(path, read_file(path), EmbeddingProgress, _FORMAT, "", checksum_since=1)
    except (OSError, DataError):
        return None


def describe_progress(progress: EmbeddingProgress | None) -> str:
    """Return what a run has done and left out as a clause, '' if it has left nothing out and is over."""
    if progress is None:
        return ""
    parts = []
    if not progress.finished and time.time() - progress.when < _STALE_SECONDS:
        parts.append(f"embedding is at {progress.done:,} of {progress.total:,}")
    if progress.skipped:
        parts.append(f"{progress.skipped:,} skipped, in languages that the model does not support")
    if progress.pending:
        parts.append(f"{progress.pending:,} skipped by the limit of {progress.limit or 'the run'}")
    return "; ".join(parts)
