"""`periplus store`: what the stored pages take, and letting go of old responses."""

from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from periplus.cli.console import bytes_as_text, count, say, say_json
from periplus.cli.options import AsJson, with_settings
from periplus.errors import BadInput, NothingHere
from periplus.files import open_data_folder
from periplus.settings import Settings

__all__ = ["store"]

store: Final = typer.Typer(
    help="Measure the stored pages, and let go of old responses.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)


@store.command("stats")
@with_settings()
def stats(settings: Settings, as_json: AsJson = False) -> None:
    """Show how many pages are stored, and what they take."""
    from periplus.store import PageStore

    with PageStore.open(_folder(settings), settings.store) as pages:
        found = pages.statistics()
    if as_json:
        sizes = found._asdict()
        say_json({"visits": sizes.pop("records"), **sizes})
        return
    say(f"{count(found.pages, 'page')} in {count(found.records, 'fetch record')}, {count(found.files, 'file')}.")
    say(f"Responses take {bytes_as_text(found.warc_bytes)}, what was read of them {bytes_as_text(found.log_bytes)}.")


@store.command("trim")
@with_settings(keep_days="store.keep_days", keep_bytes="store.keep_bytes")
def trim(
    settings: Settings,
    everything: Annotated[
        bool, typer.Option("--all", help="Let go of the newest responses of pages too, not only of older ones.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Let go of old responses. What was read of every page stays, so that an index can be built at any time."""
    from periplus.store import PageStore, shard_folders

    limits = settings.store
    if not limits.keep_days and not limits.keep_bytes:
        raise BadInput("Nothing says what is too old or too much.", "Give --keep-days or --keep-bytes.")
    folder = _folder(settings)
    parts = [folder, *shard_folders(folder).values()]
    done = []
    for part in parts:
        with PageStore.open(part, msgspec.structs.replace(limits, keep_days=0.0, keep_bytes=0), write=True) as pages:
            done.append(pages.apply_retention(limits.keep_bytes // len(parts), limits.keep_days, everything))
    files, freed, relocated = (sum(column) for column in zip(*done, strict=True))
    if as_json:
        say_json({"files": files, "freed": freed, "carried": relocated})
        return
    say(
        f"Removed {count(files, 'file')} and freed {bytes_as_text(max(0, freed))}; "
        f"{count(relocated, 'response')} moved to a newer file."
    )


def _folder(settings: Settings) -> Path:
    folder = open_data_folder(Path(settings.folder), create=False) / "store"
    if not folder.is_dir():
        raise NothingHere(f"There are no pages in {settings.folder}.", "Crawl or import some first.")
    return folder
