"""Restore graph, index and vectors from the page store. The caller holds the lock of the index."""

import contextlib

from periplus.app.kernel_compilation import compile_kernels
from periplus.app.observer import Observer
from periplus.errors import DataError, NothingHere
from periplus.files import DataFolder
from periplus.settings import Settings

__all__ = ["restore_graph", "restore_index"]


def restore_graph(data: DataFolder, settings: Settings, observer: Observer) -> None:
    """Build the link graph again from all stored pages."""
    from periplus.graph import Graph, build_graph, learn_synonyms
    from periplus.store import PageStore

    with PageStore.open(data.store, settings.store) as store:
        build_graph(store, data.graph, settings.graph, observer.progress)
    if settings.search.synonym_weight:
        learn_synonyms(Graph.open(data.graph), data.graph)


def restore_index(data: DataFolder, settings: Settings, observer: Observer, *, rebuild: bool) -> list[str]:
    """Restore damaged segments, the journal and vectors, or all of the index; return what was done."""
    from periplus.embeddings import remove_damaged_vectors
    from periplus.graph import Graph
    from periplus.index import build_index, repair_feed_log, repair_index
    from periplus.publish import DeletionList, Inbox
    from periplus.store import PageStore

    compile_kernels(observer)
    inbox = Inbox(data.path)
    actions = []
    repair_feed_log(data.index)
    with contextlib.suppress(NothingHere), contextlib.ExitStack() as stack:
        inbox.move_to_store(settings.store)
        store = stack.enter_context(PageStore.open(data.store, settings.store))
        graph = None
        with contextlib.suppress(DataError):
            graph = Graph.open(data.graph)
        records = DeletionList(data.path).apply_to_records(store.records())
        if rebuild:
            build_index(records, data.index, settings.index, graph, observer.progress)
            actions.append("Built the index again.")
        else:
            repair = repair_index(records, data.index, settings.index, graph, observer.progress)
            actions.append(f"{repair.intact} segments had no faults; {repair.restored} pages indexed again.")
        inbox.requeue_indexed()
    if remove_damaged_vectors(data.index, observer.progress):
        actions.append("Removed damaged vectors. To compute them again: periplus index embed.")
    return actions
