"""`periplus rank`: rank pages by their links, or the nodes of any graph; train a ranking model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from periplus.cli.console import clean, echo, echo_json, format_count, print_table
from periplus.cli.console_observer import observe
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.app import ChangedResult, FolderRanks, GraphRanks, ModelCard

__all__ = ["learn", "rank"]

rank: Final = typer.Typer(
    help="Rank pages by their links, and learn to rank results.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)

_Top = Annotated[int, typer.Option("--top", help="Number of pages and hosts to show.", min=1, max=1000)]
_WIDTH: Final = 80
_FEATURES_SHOWN: Final = 6
_LEAST_SHARE: Final = 0.02


@rank.command("learn")
@with_settings()
def learn(
    settings: Settings,
    judgements: Annotated[
        list[Path] | None,
        typer.Option(
            "--judgements",
            metavar="FOLDER",
            help="Judged collection to learn from too (docs.jsonl, queries.jsonl, qrels.tsv); may be repeated.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Learn to rank from judgements and clicks of the data folder, and from judged collections.

    The model is used from then on if it ranks unseen queries better than the weights, and no collection that was left
    out worse; otherwise it is refused, and only its card is stored. What changed is printed: the features that count,
    and queries whose first result is another.
    """
    from periplus.app import learn_to_rank

    folder = Path(settings.folder)
    with observe(as_json) as observer:
        card = learn_to_rank(folder, settings, judgements or [], observer)
    echo_json(card) if as_json else _print_card(card)


def _print_card(card: "ModelCard") -> None:
    worse = [source.source for source in card.left_out if source.worse]
    refused = f"Without it, {', '.join(worse)} is ranked worse" if worse else "That is not better by more than chance"
    verdict = "It is used from now on." if card.passed else f"{refused}: it was refused."
    echo(f"{card.trees} trees from {card.queries:,} queries.")
    echo(f"nDCG@10 on unseen queries: {card.after:.4f}, by the weights {card.before:.4f} (p = {card.p:.4f}).")
    for source in card.left_out:
        if not source.judged:
            echo(f"{source.source}, by trees of the others: too few to judge ({source.queries:,} queries).")
            continue
        echo(f"{source.source}, by trees of the others: {source.after:.4f}, by the weights {source.before:.4f}.")
    shares = sorted(card.importance.items(), key=lambda item: -item[1])[:_FEATURES_SHOWN]
    if moved := [f"{name} {share:.0%}" for name, share in shares if share >= _LEAST_SHARE]:
        echo(f"Features that changed the order: {', '.join(moved)}.")
    if card.examples:
        echo("First results that changed, on unseen queries:")
        print_table(("query", "before", "now", "nDCG@10"), [_example_row(change) for change in card.examples])
    echo(f"{verdict} Its card: models/{card.name}.md in the data folder.")


def _example_row(change: "ChangedResult") -> Sequence[str]:
    return (
        clean(change.query)[:_WIDTH],
        clean(change.before)[:_WIDTH],
        clean(change.after)[:_WIDTH],
        f"{change.gain:+.3f}",
    )


@rank.command("models")
@with_settings()
def models(
    settings: Settings,
    use: Annotated[
        str | None,
        typer.Option("--use", metavar="NAME", help="Use this model from now on; 'none' is the weights alone."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the trained models of the data folder, and which one is used."""
    from periplus.app import list_ranking_models, use_ranking_model

    folder = Path(settings.folder)
    if use is not None:
        use_ranking_model(folder, "" if use == "none" else use)
    cards, used = list_ranking_models(folder)
    if as_json:
        echo_json({"used": used, "models": cards})
    elif cards:
        head = ("model", "queries", "weights", "model nDCG@10", "p", "")
        print_table(head, [_card_row(card, used) for card in cards])
    else:
        echo("There are no models yet. To train one: periplus learn")


def _card_row(card: "ModelCard", used: str) -> Sequence[str]:
    state = "used" if card.name == used else "" if card.passed else "refused"
    return card.name, f"{card.queries:,}", f"{card.before:.4f}", f"{card.after:.4f}", f"{card.p:.4f}", state


@rank.command("pagerank")
@with_settings(memory_mb="graph.memory_mb", workers="graph.workers")
def pagerank(
    settings: Settings,
    graph: Annotated[
        Path | None,
        typer.Option(help="Rank this graph instead: lines 'SOURCE TARGET' (.gz, .zst), or .npz.", metavar="FILE"),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="File for a plot of the ranks, as SVG.", metavar="FILE")] = None,
    top: _Top = 10,
    as_json: AsJson = False,
) -> None:
    """Build the link graph of all pages in the data folder, and show the highest ranked pages and hosts."""
    from periplus.app import rank_folder, rank_graph_file

    if graph is not None:
        with observe(as_json) as observer:
            ranks = rank_graph_file(graph, settings, plot, top, observer)
        _print_graph(ranks, as_json)
    else:
        with observe(as_json) as observer:
            folder_ranks = rank_folder(Path(settings.folder), settings, plot, top, observer)
        _print_folder(folder_ranks, as_json)


def _print_graph(ranks: "GraphRanks", as_json: bool) -> None:
    if as_json:
        about = {"nodes": ranks.nodes, "links": ranks.links, "rounds": ranks.rounds, "plot": str(ranks.plot)}
        echo_json({**about, "top": [{"node": node, "rank": share} for node, share in ranks.top]})
        return
    rows = [(str(node), f"{share:.3e}", f"{share * ranks.nodes:,.1f}") for node, share in ranks.top]
    print_table(("node", "rank", "times the mean"), rows)
    echo(
        f"{format_count(ranks.nodes, 'node')}, {format_count(ranks.links, 'link')} in "
        f"{ranks.bytes / ranks.links:.2f} bytes each, {format_count(ranks.rounds, 'round')}. Plot: {ranks.plot}"
    )


def _print_folder(ranks: "FolderRanks", as_json: bool) -> None:
    counts = ranks.graph
    if as_json:
        top = {
            "top_pages": [page._asdict() for page in ranks.pages],
            "top_hosts": [host._asdict() for host in ranks.hosts],
        }
        echo_json({**counts._asdict(), "plot": str(ranks.plot), **top})
        return
    _print_ranks(("page", "rank", "linked by", "by hosts", "spam mass"), ranks.pages, counts.pages)
    echo()
    _print_ranks(("host", "rank", "pages", "spam mass"), ranks.hosts, counts.hosts)
    echo(
        f"\n{format_count(counts.pages, 'page')} of {format_count(counts.hosts, 'host')}, "
        f"{format_count(counts.links, 'link')}, {format_count(counts.rounds, 'round')}; ranks have a mean of 1. "
        f"Plot: {ranks.plot}"
    )
    echo("Next: periplus index build, which puts these ranks into the index.")


def _print_ranks(head: Sequence[str], ranks: Sequence[Any], number: int) -> None:
    """Print pages or hosts; ranks are shares of all, shown as multiples of the mean of `number`."""

    def cell(name: str, value: str | float | int) -> str:
        if isinstance(value, str):
            return clean(value)[:_WIDTH]
        if isinstance(value, int):
            return f"{value:,}"
        return f"{value * number:,.1f}" if name == "rank" else f"{value:.2f}"

    print_table(head, [[cell(name, value) for name, value in row._asdict().items()] for row in ranks])
