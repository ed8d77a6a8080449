"""`periplus index`: build, measure, verify, repair and export the index of a data folder."""

import contextlib
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer

from periplus.cli.building import build as build_all
from periplus.cli.building import say_built
from periplus.cli.commands.delete import delete
from periplus.cli.console import bar, bytes_as_text, count, note, progress, rows, say, say_json
from periplus.cli.kernels import compile_kernels
from periplus.cli.options import AsJson, with_settings
from periplus.errors import CorruptFile, DataError, NothingHere
from periplus.files import open_data_folder
from periplus.settings import Settings

__all__ = ["index"]

index: Final = typer.Typer(
    help="Build, measure, verify, repair and export the index.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)


@index.command("build")
@with_settings(memory_mb="index.memory_mb", workers="index.workers")
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
        + (f", {count(found.dead, 'dead page')}" if found.dead else "")
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
        if (folder / "meaning").is_dir():
            from periplus.embeddings import check_vectors

            faults += check_vectors(folder, report)
    for fault in faults:
        note(fault)
    if faults:
        raise CorruptFile(
            f"The index in {folder} has {count(len(faults), 'fault')}.", "Put it right: periplus index repair."
        )
    say("The index is whole.")


@index.command("repair")
@with_settings(memory_mb="index.memory_mb")
def repair(settings: Settings, as_json: AsJson = False) -> None:
    """Find damaged segments and index their pages again from the page store; what is whole stays.

    Damaged vectors are removed, for `periplus index embed` to make again.
    """
    from periplus.embeddings import drop_damaged
    from periplus.index import repair_index

    folder = _folder(settings)
    if not folder.is_dir():
        raise NothingHere(f"There is no index in {folder}.", "Make one: periplus crawl URL, then periplus index build.")
    compile_kernels(as_json)
    with contextlib.ExitStack() as stack:
        report = stack.enter_context(progress(as_json))
        visits, graph = _pages(folder.parent, settings, stack)
        done = repair_index(visits, folder, settings.index, graph, report)
        vectors = tuple(drop_damaged(folder, report))
    if as_json:
        say_json(msgspec.structs.replace(done, faults=done.faults + vectors))
        return
    for fault in done.faults + vectors:
        note(fault)
    if not done.faults + vectors:
        say("The index is whole; nothing to repair.")
        return
    if done.faults:
        say(f"Kept {count(done.kept, 'segment')}, indexed {count(done.restored, 'page')} again.")
    if vectors:
        say("Removed the damaged vectors. Make them again: periplus index embed.")
    if done.missing:
        say(f"{count(done.missing, 'page')} could not be restored: the page store does not have them.")


def _pages(folder: Path, settings: Settings, stack: contextlib.ExitStack) -> tuple[Any, Any]:
    """Give all visits and the link graph of a data folder, None for what is not there."""
    from periplus.graph import Graph
    from periplus.publish import DeletionList
    from periplus.store import PageStore

    visits = graph = None
    with contextlib.suppress(NothingHere):
        store = stack.enter_context(PageStore.open(folder / "store", settings.store))
        visits = DeletionList(folder).apply_to_records(store.records())
    with contextlib.suppress(DataError):
        graph = Graph.open(folder / "graph")
    return visits, graph


@index.command("export")
@with_settings()
def export(
    settings: Settings,
    file: Annotated[
        Path, typer.Argument(help="Where to: .jsonl for lines of JSON, .jsonl.zst compressed, .arrays for arrays.")
    ],
    as_json: AsJson = False,
) -> None:
    """Write each term with its frequency and highest impact, after a line of statistics."""
    from periplus.index import Index, export_index

    about = export_index(Index.open(_folder(settings), verify=False), file)
    if as_json:
        say_json(about)
        return
    size = bytes_as_text(file.stat().st_size)
    say(f"Wrote {count(about.terms, 'term')} of {count(about.documents, 'page')} to {file}: {size}.")


index.command("delete")(delete)


def _folder(settings: Settings) -> Path:
    return open_data_folder(Path(settings.folder), create=False) / "index"
