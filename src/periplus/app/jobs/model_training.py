"""Train a ranking model from judgements and clicks, and choose among the trained ones."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from periplus.app.kernel_compilation import compile_kernels
from periplus.app.observer import SILENT, Observer
from periplus.files import DataFolder, lock_folder, open_data_folder
from periplus.settings import EmbeddingSettings, Settings

if TYPE_CHECKING:
    from periplus.rank import ModelCard, Sample

__all__ = ["ModelList", "learn_to_rank", "list_ranking_models", "use_ranking_model"]


class ModelList(NamedTuple):
    """The ranking models of a data folder."""

    cards: "list[ModelCard]"
    used: str
    """The name of the one that ranks, '' for none."""


def learn_to_rank(
    folder: Path, settings: Settings, collections: Sequence[Path] = (), observer: Observer = SILENT
) -> "ModelCard":
    """Train a model from the judgements and clicks of the data folder, and from judged collections.

    It is used from then on if it ranks unseen queries better than the weights do, and no collection that it was not
    trained on worse; otherwise only its card is stored.
    """
    from periplus.rank import save_model, train_model

    compile_kernels(observer)
    data = DataFolder(open_data_folder(folder, create=False))
    samples, sources = _collect_samples(data, settings, collections, observer)
    model = train_model(samples, observer.progress)
    open_data_folder(folder, create=True)
    with lock_folder(data.models, "learn"):
        return save_model(folder, model, tuple(sources))


def list_ranking_models(folder: Path) -> ModelList:
    """Return the cards of all models, and the name of the one that ranks."""
    from periplus.rank import list_models

    return ModelList(*list_models(open_data_folder(folder, create=False)))


def use_ranking_model(folder: Path, name: str) -> None:
    """Rank with this model from now on; '' is the weights alone."""
    from periplus.rank import select_model

    select_model(open_data_folder(folder, create=False), name)


def _collect_samples(
    data: DataFolder, settings: Settings, collections: Sequence[Path], observer: Observer
) -> tuple[list["Sample"], list[str]]:
    """Run the judged queries of the data folder's index, then those of each collection over an index of its own."""
    from periplus.errors import NothingHere
    from periplus.index import Index
    from periplus.rank import Ranker, collect_samples, open_external_signals, read_grades
    from periplus.search import retrieve_relaxed

    # Neither an earlier model nor the clicks that grades are made of may take part in what is learned from.
    plain = msgspec.structs.replace(settings.rank, learned=False)
    samples: list[Sample] = []
    sources: list[str] = []
    if grades := read_grades(data.path):
        try:
            index = Index.open(data.index)
        except NothingHere:
            grades = {}
        else:
            ranker = Ranker(index, plain, _without_encoder(settings), signals=open_external_signals(None, plain))
            source, progress = "this data folder", _stage(observer, "judged queries")
            samples += collect_samples(index, ranker, grades, retrieve_relaxed, progress, source)
            sources.append(source)
    for path in collections:
        samples += _samples_of_collection(path, settings, observer)
        sources.append(path.name)
    return samples, sources


def _without_encoder(settings: Settings) -> EmbeddingSettings:
    """Return the settings of embeddings without the encoder, whose similarities are no feature of the trees."""
    semantic = "off" if settings.embeddings.semantic == "off" else "static"
    return msgspec.structs.replace(settings.embeddings, enabled=False, semantic=semantic)


def _stage(observer: Observer, name: str) -> Callable[[int, int], None]:
    return lambda done, total: observer.progress(name, done, total)


def _samples_of_collection(path: Path, settings: Settings, observer: Observer) -> list["Sample"]:
    """Index a judged collection in a temporary folder and run its queries."""
    from periplus.evaluate import read_collection, read_documents
    from periplus.hashing import fingerprint_text
    from periplus.index import Index, build_index
    from periplus.rank import Ranker, collect_samples
    from periplus.search import retrieve_relaxed

    collection = read_collection(path)
    ids: list[str] = []
    with tempfile.TemporaryDirectory(prefix="periplus-learn-") as temporary:
        build_index(read_documents(collection.documents, ids), Path(temporary), settings.index, None, observer.progress)
        index = Index.open(Path(temporary), verify=False)
        keys = {name: fingerprint_text(str(number)) for number, name in enumerate(ids)}
        grades = {
            collection.queries[query]: {keys[name]: grade for name, grade in judged.items() if name in keys}
            for query, judged in collection.qrels.items()
            if query in collection.queries
        }
        ranker = Ranker(index, msgspec.structs.replace(settings.rank, learned=False), _without_encoder(settings))
        return collect_samples(index, ranker, grades, retrieve_relaxed, _stage(observer, path.name), path.name)
