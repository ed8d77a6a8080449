"""`periplus rank learn` and `periplus rank models`: make a ranking model of judgements, and say which there are."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from periplus.cli.console import progress, rows, say, say_json
from periplus.cli.kernels import compile_kernels
from periplus.cli.options import AsJson, with_settings
from periplus.files import lock_folder, open_data_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.rank import ModelCard, Sample

__all__ = ["learn", "models"]

_Report = Callable[[str, int, int], None]


@with_settings()
def learn(
    settings: Settings,
    judgements: Annotated[
        list[Path] | None,
        typer.Option(
            "--judgements",
            metavar="FOLDER",
            help="Learn from this judged collection too (docs.jsonl, queries.jsonl, qrels.tsv); may be repeated.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Learn to rank from judgements and clicks of the data folder, and from judged collections.

    The model is used from then on if it is better than the weights on queries it was not made from; if not, it is
    refused, and only its card is kept.
    """
    from periplus.rank import save_model, train_model

    compile_kernels(as_json)
    folder = open_data_folder(Path(settings.folder), create=False)
    with progress(as_json) as report:
        samples, sources = _samples(folder, settings, judgements or [], report)
        learned = train_model(samples, report)
    with lock_folder(open_data_folder(folder, create=True) / "models", "learn"):
        card = save_model(folder, learned, tuple(sources))
    if as_json:
        say_json(card)
    else:
        _say_card(card, folder)


@with_settings()
def models(
    settings: Settings,
    use: Annotated[
        str | None,
        typer.Option("--use", metavar="NAME", help="Use this model from now on; 'none' is the weights alone."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the learned models of the data folder, and say which one ranks."""
    from periplus.rank import list_models, select_model

    folder = open_data_folder(Path(settings.folder), create=False)
    if use is not None:
        select_model(folder, "" if use == "none" else use)
    cards, used = list_models(folder)
    if as_json:
        say_json({"used": used, "models": cards})
        return
    table = []
    for card in cards:
        state = "used" if card.name == used else "" if card.passed else "refused"
        table.append(
            (card.name, f"{card.queries:,}", f"{card.before:.4f}", f"{card.after:.4f}", f"{card.p:.4f}", state)
        )
    if cards:
        rows(("model", "queries", "weights", "model nDCG@10", "p", ""), table)
    else:
        say("There are no models yet: periplus rank learn makes one.")


def _say_card(card: "ModelCard", folder: Path) -> None:
    verdict = "It is used from now on." if card.passed else "That is not better by more than chance: it was refused."
    say(f"{card.trees} trees from {card.queries:,} queries.")
    say(f"nDCG@10 on queries they never saw: {card.after:.4f}, by the weights {card.before:.4f} (p = {card.p:.4f}).")
    say(f"{verdict} Its card: {folder / 'models' / card.name}.md")


def _samples(
    folder: Path, settings: Settings, collections: list[Path], report: _Report
) -> tuple[list["Sample"], list[str]]:
    """Run the judged queries of the data folder's index, then those of each collection over an index of its own."""
    from periplus.errors import NothingHere
    from periplus.index import Index
    from periplus.rank import Ranker, collect_samples, open_external_signals, read_grades

    # Neither an earlier model nor the clicks that grades are made of may take part in what is learned from.
    plain = msgspec.structs.replace(settings.rank, learned=False)
    samples: list[Sample] = []
    sources: list[str] = []
    if grades := read_grades(folder):
        try:
            index = Index.open(folder / "index")
        except NothingHere:
            grades = {}
        else:
            ranker = Ranker(index, plain, signals=open_external_signals(None, plain))
            samples += collect_samples(index, ranker, grades, _stage(report, "judged queries"))
            sources.append("this data folder")
    for path in collections:
        samples += _samples_of(path, settings, report)
        sources.append(path.name)
    return samples, sources


def _stage(report: _Report, name: str) -> Callable[[int, int], None]:
    return lambda done, total: report(name, done, total)


def _samples_of(path: Path, settings: Settings, report: _Report) -> list["Sample"]:
    """Index a judged collection in a temporary folder and run its queries."""
    from periplus.evaluate import read_collection, read_visits
    from periplus.hashing import fingerprint_text
    from periplus.index import Index, build_index
    from periplus.rank import Ranker, collect_samples

    collection = read_collection(path)
    ids: list[str] = []
    with tempfile.TemporaryDirectory(prefix="periplus-learn-") as place:
        build_index(read_visits(collection.documents, ids), Path(place), settings.index, None, report)
        index = Index.open(Path(place), verify=False)
        keys = {name: fingerprint_text(str(number)) for number, name in enumerate(ids)}
        grades = {
            collection.queries[query]: {keys[name]: grade for name, grade in judged.items() if name in keys}
            for query, judged in collection.qrels.items()
            if query in collection.queries
        }
        ranker = Ranker(index, msgspec.structs.replace(settings.rank, learned=False))
        return collect_samples(index, ranker, grades, _stage(report, path.name))
