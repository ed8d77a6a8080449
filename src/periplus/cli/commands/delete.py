"""`periplus index delete`: take pages out of the index for good, and let them in again."""

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from periplus.cli.console import count, note, say, say_json
from periplus.cli.options import AsJson, with_settings
from periplus.errors import BadInput, DataError, FolderInUse, NothingHere
from periplus.files import lock_folder, open_data_folder
from periplus.settings import Settings

__all__ = ["delete", "take_out"]

_PATIENCE: Final = 10.0
"""Seconds to wait for the index; whoever keeps it for longer looks at the list himself."""


@with_settings()
def delete(
    settings: Settings,
    urls: Annotated[list[str] | None, typer.Argument(help="URLs of the pages; none to list those deleted.")] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Let these pages be found again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take pages out of the index for good: no build, crawl or publication brings them back, until --undo does.

    What the page store has of them stays there.
    """
    from periplus.publish import DeletionList

    folder = open_data_folder(Path(settings.folder), create=False)
    if not (folder / "store").exists() and not (folder / "index").exists():
        raise NothingHere(
            f"There are no pages in {folder}.", "Begin with: periplus crawl URL, or periplus import FILE."
        )
    deleted = DeletionList(folder)
    if not urls:
        if undo:
            raise BadInput("Nothing says which pages.", "Give the URLs of those to be found again.")
        _show(deleted.pages(), as_json)
        return
    changed = deleted.remove(urls) if undo else deleted.add(urls)
    done = _let_in(folder, settings, changed) if undo else take_out(folder, settings)
    if as_json:
        say_json({"pages": changed, "undone" if undo else "deleted": len(changed), "now": done})
        return
    say(f"{'Let in again' if undo else 'Deleted'}: {count(len(changed), 'page')}.")
    if changed and not done:
        note(
            "They can be found after the next periplus index build."
            if undo
            else "The index is in use; whoever holds it takes them out."
        )


def _show(pages: dict[str, float], as_json: bool) -> None:
    if as_json:
        say_json(pages)
        return
    for url in sorted(pages):
        say(url)
    note(f"{count(len(pages), 'page')} deleted.")


def take_out(folder: Path, settings: Settings) -> bool:
    """Take what is deleted out of the index, unless somebody holds it for long; say whether it is done."""
    from periplus.index import LiveIndex
    from periplus.publish import DeletionList

    deleted = DeletionList(folder)
    if not deleted.pages() or not (folder / "index" / "manifest.json").exists():
        return True
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            with (
                lock_folder(folder, "index"),
                LiveIndex(folder / "index", settings.index, background=False) as live,
            ):
                deleted.apply_to_index(live)
            return True
        except FolderInUse:
            if time.monotonic() > until:
                return False
            time.sleep(0.1)


def _let_in(folder: Path, settings: Settings, urls: Sequence[str]) -> bool:
    """Index pages again as they were last seen; say whether that is done."""
    from periplus.graph import Graph
    from periplus.index import LiveIndex
    from periplus.store import PageStore
    from periplus.url import parse_address

    graph = None
    with contextlib.suppress(DataError):
        graph = Graph.open(folder / "graph")
    try:
        with (
            PageStore.open(folder / "store", settings.store) as store,
            lock_folder(folder, "index"),
            LiveIndex(folder / "index", settings.index, graph, background=False) as live,
        ):
            for url in urls:
                visit = store.find(parse_address(url).key)
                if visit is not None:
                    live.add(visit)
    except (FolderInUse, NothingHere):
        return False
    return True
