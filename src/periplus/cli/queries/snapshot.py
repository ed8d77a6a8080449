"""`periplus snapshot`: keep the index as it is, to search it again later."""

import datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from periplus.cli.console import clean, echo, echo_json, format_bytes, format_count
from periplus.cli.console_observer import observe
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

__all__ = ["snapshot"]

snapshot: Final = typer.Typer(
    help="Keep the index as it is, or as it was on a date, to search it again later.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)
_Name = Annotated[str, typer.Argument(help="Name of the snapshot: lower-case letters, digits, dots, hyphens.")]


@snapshot.command("create")
@with_settings()
def create(
    name: _Name,
    settings: Settings,
    as_of: Annotated[
        str, typer.Option("--as-of", help="Build it of the versions that were current on this date.", metavar="DATE")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Keep the index under a name; snapshot=NAME searches it."""
    from periplus.app import create_snapshot

    with observe(as_json) as observer:
        made = create_snapshot(Path(settings.folder), settings, name, as_of, observer=observer)
    if as_json:
        echo_json(made)
        return
    when = f" as of {made.as_of}" if made.as_of else ""
    echo(f"Made {made.name}: {format_count(made.documents, 'page')}{when}. Search it with snapshot={made.name}.")


@snapshot.command("list")
@with_settings()
def list_(settings: Settings, as_json: AsJson = False) -> None:
    """List the snapshots, with what they take on disk alone and together with the index."""
    from periplus.app import snapshot_sizes

    rows = snapshot_sizes(Path(settings.folder))
    if as_json:
        echo_json(rows)
        return
    for row in rows:
        made = datetime.datetime.fromtimestamp(row.snapshot.made, datetime.UTC).strftime("%Y-%m-%d %H:%M")
        when = f", as of {clean(row.snapshot.as_of)}" if row.snapshot.as_of else ""
        size = f"{format_bytes(row.bytes)}, {format_bytes(row.own)} of it alone"
        echo(f"{row.snapshot.name}: {format_count(row.snapshot.documents, 'page')}{when}, made {made}; {size}.")
    if not rows:
        echo("There are no snapshots.")


@snapshot.command("delete")
@with_settings()
def delete(name: _Name, settings: Settings) -> None:
    """Remove a snapshot."""
    from periplus.app import delete_snapshot

    delete_snapshot(Path(settings.folder), name)
    echo(f"Removed {clean(name)}.")
