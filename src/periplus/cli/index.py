"""`periplus index`: build, measure and verify the index of a data folder."""

from pathlib import Path
from typing import Final

import typer

from periplus.cli.building import build as build_all
from periplus.cli.building import say_built
from periplus.cli.console import bar, bytes_as_text, count, note, progress, rows, say, say_json
from periplus.cli.options import AsJson, with_settings
from periplus.errors import CorruptFile
from periplus.files import open_data_folder
from periplus.settings import Settings

__all__ = ["index"]

index: Final = typer.Typer(
    help="Build, measure and verify the index.", rich_markup_mode=None, no_args_is_help=True, add_completion=False
)


@index.command("build")
@with_settings(memory_mb="index.memory_mb")
def build(settings: Settings, as_json: AsJson = False) -> None:
    """Build link graph and index from all pages in the data folder."""
    made = build_all(Path(settings.folder), settings, as_json)
    say_json(made) if as_json else say_built(made)


@index.command("stats")
@with_settings()
def stats(settings: Settings, as_json: AsJson = False) -> None:
    """Show what the index holds, and the bytes that each part takes."""
    from periplus.index import Index

    found = Index.open(_folder(settings), verify=False).statistics()
    if as_json:
        say_json(found)
        return
    say(
        f"{count(found.documents, 'page')} from {count(found.hosts, 'host')}, "
        f"{count(found.segments, 'segment')}, {count(found.terms, 'word')}"
    )
    total = max(1, sum(found.parts.values()))
    parts = sorted(found.parts.items(), key=lambda part: -part[1])
    head = ("part", "bytes", "share", "")
    rows(head, [(name, bytes_as_text(size), f"{size / total:.1%}", bar(size / total)) for name, size in parts])
    say(f"In all {bytes_as_text(found.bytes)}.")


@index.command("check")
@with_settings()
def check(settings: Settings) -> None:
    """Read every byte of the index and verify checksums and invariants."""
    from periplus.index import check_index

    folder = _folder(settings)
    with progress() as report:
        faults = check_index(folder, report)
    for fault in faults:
        note(fault)
    if faults:
        raise CorruptFile(f"The index in {folder} has {len(faults)} faults.", "Make it again: periplus index build.")
    say("The index is whole.")


def _folder(settings: Settings) -> Path:
    return open_data_folder(Path(settings.folder), create=False) / "index"
