"""The state of the optional embeddings: extra, model and vectors."""

from pathlib import Path
from typing import NamedTuple

from periplus.embeddings.embedding_progress import describe_progress, read_progress
from periplus.embeddings.embedding_searcher import vector_coverage
from periplus.embeddings.models.model_files import find_model, missing_packages
from periplus.errors import DataError, NothingHere
from periplus.index import Index
from periplus.settings import EmbeddingSettings

__all__ = ["EmbeddingStatus", "embedding_status"]


class EmbeddingStatus(NamedTuple):
    """One line on the state, and what to do next."""

    usable: bool
    """Whether embeddings can take part in ranking."""
    state: str
    advice: str
    documents: int = 0
    covered: int = 0


def embedding_status(folder: Path, settings: EmbeddingSettings) -> EmbeddingStatus:
    """Return the status of the extra, the model and the vectors of the index `folder`."""
    if missing := missing_packages():
        return EmbeddingStatus(
            False, f"Not installed: {', '.join(missing)}", "Install the extra 'semantic'; see periplus doctor."
        )
    try:
        model = find_model(settings)
    except NothingHere as error:
        return EmbeddingStatus(False, "No model", error.hint)
    except DataError as error:
        return EmbeddingStatus(False, error.message.rstrip("."), "To fetch it again: periplus embeddings fetch.")
    try:
        index = Index.open(folder, verify=False)
        coverage, of_any = vector_coverage(index, model.name), vector_coverage(index)
    except NothingHere:
        return EmbeddingStatus(False, "There is a model but no index", "To build one: periplus index build.")
    except DataError as error:
        return EmbeddingStatus(False, error.message.rstrip("."), error.hint)
    state = f"{coverage.covered:,} of {coverage.documents:,} pages have vectors ({coverage.passages:,} passages)"
    if of_any.covered > coverage.covered:
        state += f"; {of_any.covered - coverage.covered:,} have vectors of another model"
    if left := describe_progress(read_progress(folder)):
        state += f"; {left}"
    if not coverage.complete:
        advice = "To embed the others: periplus index embed."
    else:
        advice = "" if settings.semantic == "auto" else "To use them: --set embeddings.semantic=auto."
    return EmbeddingStatus(coverage.covered > 0, state, advice, coverage.documents, coverage.covered)
