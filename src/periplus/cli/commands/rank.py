"""`periplus rank`: rank pages by their links, or the nodes of any graph, and show what came of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from periplus.cli.commands.learn import learn, models
from periplus.cli.console import clean, count, progress, rows, say, say_json
from periplus.cli.kernels import compile_kernels
from periplus.cli.options import AsJson, with_settings
from periplus.errors import NothingHere
from periplus.files import lock_folder, open_data_folder, write_atomically
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.graph import Graph
    from periplus.store import PageStore

__all__ = ["rank"]

rank: Final = typer.Typer(
    help="Rank pages by their links, and learn to rank results.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)

rank.command("learn")(learn)
rank.command("models")(models)

_Figures = dict[str, str | float | int]
_Top = Annotated[int, typer.Option("--top", help="How many pages and hosts to show.", min=1, max=1000)]


@rank.command("pagerank")
@with_settings(memory_mb="graph.memory_mb", workers="graph.workers")
def pagerank(
    settings: Settings,
    graph: Annotated[
        Path | None,
        typer.Option(help="Rank this graph instead: lines 'SOURCE TARGET' (.gz, .zst), or .npz.", metavar="FILE"),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Where to draw the ranks, as SVG.", metavar="FILE")] = None,
    top: _Top = 10,
    as_json: AsJson = False,
) -> None:
    """Build the link graph of all pages in the data folder, and show the pages and hosts that rank highest."""
    compile_kernels(as_json)
    if graph is not None:
        _rank_file(graph, plot or Path(f"{graph.name}.pagerank.svg"), top, settings, as_json)
    else:
        _rank_folder(Path(settings.folder), plot, top, settings, as_json)


def _rank_file(path: Path, plot: Path, top: int, settings: Settings, as_json: bool) -> None:
    import numpy as np

    from periplus.graph import plot_ranks, rank_edges

    with progress(as_json) as report:
        made = rank_edges(path, settings.graph, report)
    shares = made.ranks.shares
    best = [(int(node), float(shares[node])) for node in np.argsort(-shares, kind="stable")[:top]]
    write_atomically(plot, plot_ranks(shares, made.ranks.changes).encode())
    if as_json:
        about = {"nodes": made.nodes, "links": made.links, "rounds": made.ranks.rounds, "plot": str(plot)}
        say_json({**about, "top": [{"node": node, "rank": share} for node, share in best]})
        return
    rows(("node", "rank", "times the mean"), [(str(n), f"{r:.3e}", f"{r * made.nodes:,.1f}") for n, r in best])
    say(
        f"{count(made.nodes, 'node')}, {count(made.links, 'link')} in {made.bytes / made.links:.2f} bytes each, "
        f"{count(made.ranks.rounds, 'round')}. Plot: {plot}"
    )


def _rank_folder(folder: Path, plot: Path | None, top: int, settings: Settings, as_json: bool) -> None:
    from periplus.graph import Graph, build_graph, plot_ranks
    from periplus.store import PageStore

    open_data_folder(folder, create=False)
    if not (folder / "store").exists():
        raise NothingHere(
            f"There are no pages in {folder}.", "Begin with: periplus crawl URL, or periplus import FILE."
        )
    with lock_folder(folder, "index"), PageStore.open(folder / "store", settings.store) as store:
        with progress(as_json) as report:
            made = build_graph(store, folder / "graph", settings.graph, report)
        found = Graph.open(folder / "graph")
        pages, hosts = _best_pages(found, store, top), _best_hosts(found, store, top)
    plot = plot or folder / "graph" / "pagerank.svg"
    write_atomically(plot, plot_ranks(found.all_page_ranks, found.changes).encode())
    if as_json:
        say_json({**made._asdict(), "plot": str(plot), "top_pages": pages, "top_hosts": hosts})
        return
    _show(pages, ("page", "rank", "linked by", "by hosts", "spam mass"), made.pages)
    say()
    _show(hosts, ("host", "rank", "pages", "spam mass"), made.hosts)
    say(
        f"\n{count(made.pages, 'page')} of {count(made.hosts, 'host')}, {count(made.links, 'link')}, "
        f"{count(made.rounds, 'round')}; ranks have a mean of 1. Plot: {plot}"
    )
    say("Next: periplus index build, which takes these ranks into the index.")


def _show(best: list[_Figures], head: tuple[str, ...], number: int) -> None:
    def cell(name: str, value: str | float | int) -> str:
        if isinstance(value, str):
            return clean(value)[:80]
        if isinstance(value, int):
            return f"{value:,}"
        return f"{value * number:,.1f}" if name == "rank" else f"{value:.2f}"

    rows(head, [[cell(name, value) for name, value in one.items()] for one in best])


def _best_pages(graph: "Graph", store: "PageStore", top: int) -> list[_Figures]:
    keys = graph.top_pages(top)
    found = graph.signals(keys)
    return [
        {
            "page": _url(store, key),
            "rank": float(found.pagerank[row]),
            "in_links": int(found.in_links[row]),
            "in_hosts": int(found.in_hosts[row]),
            "spam_mass": float(found.spam_mass[row]),
        }
        for row, key in enumerate(keys.tolist())
    ]


def _best_hosts(graph: "Graph", store: "PageStore", top: int) -> list[_Figures]:
    return [
        {"host": _url(store, one.page).split("/")[2], "rank": one.rank, "pages": one.pages, "spam_mass": one.spam_mass}
        for one in graph.top_hosts(top)
    ]


def _url(store: "PageStore", key: int) -> str:
    """Give the URL of a page, or its key as one where the store has been changed meanwhile."""
    visit = store.find(key)
    return f"key://{key:016x}/" if visit is None else visit.url
