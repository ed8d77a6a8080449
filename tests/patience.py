"""Patience: a server refuses a search that waited half a second, which on a busy machine any search may do."""

from typing import Any

import msgspec

from periplus.serve.search_executor import SearchExecutor
from periplus.settings import ServeSettings

SECONDS = 60.0


def be_patient() -> None:
    """Let searches wait a minute for their turn, except where a test says how long."""
    begin = SearchExecutor.__init__

    def patient(executor: SearchExecutor, searcher: Any, settings: ServeSettings, *more: Any, **named: Any) -> None:
        if settings.deadline == ServeSettings().deadline:
            settings = msgspec.structs.replace(settings, deadline=SECONDS)
        begin(executor, searcher, settings, *more, **named)

    SearchExecutor.__init__ = patient  # type: ignore[method-assign]
