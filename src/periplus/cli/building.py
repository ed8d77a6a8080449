"""Join store, graph and index: what `index build`, `import`, `up` and `demo` all do."""

from pathlib import Path
from typing import TYPE_CHECKING

from periplus.cli.commands.delete import take_out
from periplus.cli.console import bytes_as_text, count, note, progress, say
from periplus.cli.kernels import compile_kernels
from periplus.errors import NothingHere
from periplus.files import lock_folder, open_data_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.index import IndexStatistics

__all__ = ["build", "say_built", "say_indexed"]


def build(folder: Path, settings: Settings, quiet: bool = False) -> "IndexStatistics":
    """Make graph and index of all pages in the data folder; readers see the new ones once they are whole."""
    from periplus.graph import Graph, build_graph, learn_synonyms
    from periplus.index import Index, build_index
    from periplus.publish import DeletionList, Inbox
    from periplus.signals import update_visit_counts
    from periplus.store import PageStore

    open_data_folder(folder, create=False)
    inbox = Inbox(folder)
    inbox.move_to_store(settings.store)
    if not (folder / "store").exists():
        raise NothingHere(
            f"There are no pages in {folder}.", "Begin with: periplus crawl URL, or periplus import FILE."
        )
    with lock_folder(folder, "index"), PageStore.open(folder / "store", settings.store) as store:
        compile_kernels(quiet)
        with progress(quiet) as report:
            build_graph(store, folder / "graph", settings.graph, report)
            graph = Graph.open(folder / "graph")
            if settings.search.synonym_weight:
                learn_synonyms(graph, folder / "graph")
            visits = DeletionList(folder).apply_to_records(store.records())
            build_index(visits, folder / "index", settings.index, graph, report)
        stored = store.statistics().pages
    take_out(folder, settings)  # what was deleted while we were building
    inbox.requeue_indexed()
    if (folder / "passive").is_dir():
        update_visit_counts(folder, 0)
    made = Index.open(folder / "index", verify=False).statistics()
    if stored > made.documents and not quiet:
        note(
            f"Left out {stored - made.documents:,} of {stored:,} stored pages: copies, older versions, pages that "
            "name another address as theirs or ask not to be indexed."
        )
    return made


def say_indexed(made: "IndexStatistics") -> None:
    """Say what a build made."""
    say(f"Indexed {count(made.documents, 'page')} from {count(made.hosts, 'host')}: {bytes_as_text(made.bytes)}.")


def say_built(made: "IndexStatistics") -> None:
    """Say what a build made, and what to do with it."""
    say_indexed(made)
    say("Next: periplus search WORDS, or periplus serve")
