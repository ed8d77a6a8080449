"""Measure, verify, repair and export the index of a data folder."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from periplus.app.jobs.index_queue import queue_for_index
from periplus.app.kernel_compilation import compile_kernels
from periplus.app.observer import SILENT, Observer
from periplus.errors import DataError, NothingHere
from periplus.files import DataFolder, open_data_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from periplus.graph import Graph
    from periplus.index import CollectionStatistics, IndexRepair, IndexStatistics
    from periplus.records import FetchRecord

__all__ = ["RepairReport", "check_folder", "export_terms", "index_statistics", "repair_folder"]


_LOCK_SECONDS: Final = 60.0
"""How long to wait for another process that writes to the index."""


class RepairReport(NamedTuple):
    """What a repair found and did."""

    segments: "IndexRepair"
    vector_faults: tuple[str, ...]
    """Faults of vectors, which were removed."""


def _open(folder: Path) -> DataFolder:
    return DataFolder(open_data_folder(folder, create=False))


def index_statistics(folder: Path) -> "IndexStatistics":
    """Return what the index contains, and the bytes of each of its parts."""
    from periplus.index import Index

    return Index.open(_open(folder).index, verify=False).statistics()


def check_folder(folder: Path, observer: Observer = SILENT) -> list[str]:
    """Read every byte of the index and of its vectors; return a line for each fault."""
    from periplus.embeddings import check_vectors
    from periplus.index import check_index

    index = _open(folder).index
    return check_index(index, observer.progress) + check_vectors(index, observer.progress)


def repair_folder(folder: Path, settings: Settings, observer: Observer = SILENT) -> RepairReport:
    """Remove damaged segments and index their pages again from the page store; remove damaged vectors."""
    from periplus.embeddings import remove_damaged_vectors
    from periplus.index import repair_index

    data = _open(folder)
    if not data.index.is_dir():
        raise NothingHere(
            f"There is no index in {data.index}.", "Build one: periplus crawl URL, then periplus index build."
        )
    compile_kernels(observer)
    with contextlib.ExitStack() as stack:
        stack.enter_context(queue_for_index(folder, _LOCK_SECONDS, "index repair", observer))
        records, graph = _open_sources(data, settings, stack)
        repair = repair_index(records, data.index, settings.index, graph, observer.progress)
    return RepairReport(repair, tuple(remove_damaged_vectors(data.index, observer.progress)))


def _open_sources(
    data: DataFolder, settings: Settings, stack: contextlib.ExitStack
) -> "tuple[Iterable[FetchRecord] | None, Graph | None]":
    """Return all fetch records and the link graph of a data folder, None for what does not exist."""
    from periplus.graph import Graph
    from periplus.publish import DeletionList
    from periplus.store import PageStore

    records = graph = None
    with contextlib.suppress(NothingHere):
        store = stack.enter_context(PageStore.open(data.store, settings.store))
        records = DeletionList(data.path).apply_to_records(store.records())
    with contextlib.suppress(DataError):
        graph = Graph.open(data.graph)
    return records, graph


def export_terms(folder: Path, file: Path) -> "CollectionStatistics":
    """Write each term with its document frequency and highest impact; return the statistics of the collection."""
    from periplus.index import Index, export_index

    return export_index(Index.open(_open(folder).index, verify=False), file)
