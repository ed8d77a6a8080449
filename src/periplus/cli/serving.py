"""Join what a server works with: the searcher, the keys, and what may be done beside searching."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.serve import Actions, Opened, Publication, Published

__all__ = ["actions_of", "open_all"]


def open_all(folder: Path, settings: Settings, may_be_empty: bool = False) -> "Opened":
    """Open all that one process serves with; it is called in each of them."""
    from periplus.records import Query
    from periplus.search import Searcher
    from periplus.serve import Keys, Opened

    searcher = Searcher.open(folder, settings, may_be_empty=may_be_empty)
    # Compiled kernels are loaded by the first search: better ours, now, than somebody's.
    threading.Thread(target=searcher.search, args=(Query("first"),), daemon=True).start()
    keys = Keys(folder)
    keys.keep_secret()
    return Opened(searcher, actions_of(folder, searcher, settings), keys)


def actions_of(folder: Path, searcher: Any, settings: Settings) -> "Actions":
    """Give what a server of this data folder can do beside searching."""
    from periplus.crawl import CrawlControl, take_visits
    from periplus.errors import BadInput
    from periplus.search import Inbox, page_to_publish
    from periplus.serve import Actions, Published

    inbox = Inbox(folder)

    def publish(given: "Publication") -> "Published":
        visit = page_to_publish(
            given.title,
            given.content,
            given.url,
            given.description,
            given.author,
            given.date,
            given.tags,
            given.language,
        )
        inbox.put(visit)
        return Published(f"{visit.key:016x}", visit.url)

    def forget(name: str) -> None:
        key = int(name, 16)
        known = inbox.find(key) or searcher.cached(key)
        if known is None:
            raise BadInput("There is no such page.", "Give the id that publishing it gave.")
        inbox.forget(known.url)

    return Actions(publish, forget, lambda seen: take_visits(folder, seen), CrawlControl(folder, settings))
