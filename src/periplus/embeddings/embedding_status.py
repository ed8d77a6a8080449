"""What ranking by meaning has, and what it lacks: for people."""

from pathlib import Path
from typing import NamedTuple

from periplus.embeddings.embedding_searcher import vector_coverage
from periplus.embeddings.model_files import find_model, missing_packages
from periplus.errors import DataError, NothingHere
from periplus.index import Index
from periplus.settings import EmbeddingSettings

__all__ = ["EmbeddingStatus", "embedding_status"]


class EmbeddingStatus(NamedTuple):
    """The state of things in a line, and what to do next."""

    usable: bool
    """Whether queries can be ranked by meaning."""
    state: str
    advice: str
    documents: int = 0
    covered: int = 0


def embedding_status(folder: Path, settings: EmbeddingSettings) -> EmbeddingStatus:
    """Look at the extra, the model and the vectors of the index `folder`."""
    if missing := missing_packages():
        return EmbeddingStatus(
            False, f"Not installed: {', '.join(missing)}", "Install the extra 'semantic'; periplus doctor says how."
        )
    try:
        find_model(settings)
    except NothingHere:
        return EmbeddingStatus(False, "No model", "Bring it: periplus embeddings fetch.")
    except DataError as error:
        return EmbeddingStatus(False, error.message.rstrip("."), "Bring it again: periplus embeddings fetch.")
    try:
        found = vector_coverage(Index.open(folder, verify=False))
    except NothingHere:
        return EmbeddingStatus(False, "The model is here, but no index", "Make one: periplus index build.")
    except DataError as error:
        return EmbeddingStatus(False, error.message.rstrip("."), error.hint)
    state = f"{found.covered:,} of {found.documents:,} pages have vectors ({found.passages:,} passages)"
    if not found.whole:
        advice = "More: periplus index embed."
    else:
        advice = "" if settings.enabled else "Use them: --set embeddings.enabled=true."
    return EmbeddingStatus(found.covered > 0, state, advice, found.documents, found.covered)
