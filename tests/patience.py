"""Patience: a search ends after half a second, which on a busy machine the compiling of a kernel alone may take."""

from pathlib import Path
from typing import Any

import msgspec

from periplus.search import Searcher
from periplus.serve.search_executor import SearchExecutor
from periplus.settings import ServeSettings, Settings

SECONDS = 60.0


def be_patient() -> None:
    """Allow searches a minute, and as long to wait for their turn, except where a test sets a limit."""
    begin_executor, begin_searcher = SearchExecutor.__init__, Searcher.__init__

    def patient_executor(
        executor: SearchExecutor, searcher: Any, settings: ServeSettings, *more: Any, **named: Any
    ) -> None:
        if settings.deadline == ServeSettings().deadline:
            settings = msgspec.structs.replace(settings, deadline=SECONDS)
        begin_executor(executor, searcher, settings, *more, **named)

    def patient_searcher(searcher: Searcher, folder: Path, settings: Settings, today: float | None = None) -> None:
        if settings.search.budget_ms == Settings().search.budget_ms:
            search = msgspec.structs.replace(settings.search, budget_ms=1000 * SECONDS)
            settings = msgspec.structs.replace(settings, search=search)
        begin_searcher(searcher, folder, settings, today)

    SearchExecutor.__init__ = patient_executor  # type: ignore[method-assign]
    Searcher.__init__ = patient_searcher  # type: ignore[method-assign]
