"""Build the link graph and the index of all pages in a data folder."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from periplus.app.disk_estimates import require_index_room
from periplus.app.jobs.deletion_jobs import apply_deletions
from periplus.app.jobs.field_declarations import apply_fields
from periplus.app.jobs.index_queue import queue_for_index
from periplus.app.kernel_compilation import compile_kernels
from periplus.app.new_folder import no_pages_error
from periplus.app.observer import SILENT, Observer
from periplus.files import DataFolder, open_data_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.index import IndexStatistics

__all__ = ["build_graph_and_index"]


def build_graph_and_index(
    folder: Path, settings: Settings, observer: Observer = SILENT, wait: float = 0.0
) -> "IndexStatistics":
    """Build graph and index from the page store; readers see the new ones once they are complete.

    wait: how many seconds to queue for the index if another process writes to it, such as the publisher of a server,
    which hands it over; then raise `FolderInUse`. What is published during the build is indexed after it.
    """
    from periplus.graph import Graph, build_graph, learn_synonyms
    from periplus.index import Index, build_index
    from periplus.publish import DeletionList, Inbox
    from periplus.signals import update_visit_counts
    from periplus.store import PageStore

    data = DataFolder(open_data_folder(folder, create=False))
    inbox = Inbox(folder)
    if not data.store.exists() and not inbox.statistics().indexed:
        raise no_pages_error(folder)
    compile_kernels(observer)
    with contextlib.ExitStack() as stack:
        stack.enter_context(queue_for_index(folder, wait, "index build", observer))
        inbox.move_to_store(settings.store)
        apply_fields(folder, settings.fields)
        store = stack.enter_context(PageStore.open(data.store, settings.store))
        require_index_room(folder, settings)
        build_graph(store, data.graph, settings.graph, observer.progress)
        graph = Graph.open(data.graph)
        if settings.search.synonym_weight:
            learn_synonyms(graph, data.graph)
        records = DeletionList(folder).apply_to_records(store.records())
        build_index(records, data.index, settings.index, graph, observer.progress)
        stored = store.statistics().pages
        inbox.requeue_indexed()
    apply_deletions(folder, settings)  # what was deleted during the build
    update_visit_counts(folder, 0)
    statistics = Index.open(data.index, verify=False).statistics()
    if stored > statistics.documents:
        observer.message(
            f"Left out {stored - statistics.documents:,} of {stored:,} stored pages: duplicates, older versions, and "
            "pages that declare another URL as canonical or are marked noindex."
        )
    return statistics
