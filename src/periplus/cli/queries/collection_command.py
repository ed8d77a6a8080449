"""`periplus collection`: named collections of documents, each with fields of its own, and aliases for them."""

from pathlib import Path
from typing import Annotated, Final

import typer

from periplus.cli.console import clean, echo, echo_json, print_table
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

__all__ = ["collection"]

collection: Final = typer.Typer(
    help="Create, list and delete collections of documents, and let aliases stand for them.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)
_Name = Annotated[str, typer.Argument(help="Name of the collection.")]
_Alias = Annotated[str, typer.Argument(help="Name of the alias.")]


@collection.command("create")
@with_settings()
def create(
    name: _Name,
    settings: Settings,
    field: Annotated[
        list[str] | None,
        typer.Option("--field", help="A field of its documents, such as price:number; may be repeated.", metavar="F"),
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="Anybody may search it, without a key.")] = False,
    as_json: AsJson = False,
) -> None:
    """Create a collection; running servers know it at once."""
    from periplus.app import create_collection

    pairs = [text.partition(":") for text in field or ()]
    fields = {name: {"type": kind or "keyword"} for name, _, kind in pairs}
    made = create_collection(Path(settings.folder), name, fields, public=public)
    if as_json:
        echo_json(made)
    else:
        echo(f"Created {clean(name)}. Send documents to /api/collections/{clean(name)}/documents.")


@collection.command("list")
@with_settings()
def list_(settings: Settings, as_json: AsJson = False) -> None:
    """List the collections, with their fields and aliases."""
    from periplus.app import list_collections

    rows = list_collections(Path(settings.folder))
    if as_json:
        echo_json(rows)
    elif rows:
        texts = [
            (
                row["name"],
                "public" if row["public"] else "private",
                " ".join(f"{name}:{field['type']}" for name, field in row["fields"].items()),
                " ".join(row["aliases"]),
            )
            for row in rows
        ]
        print_table(("name", "readers", "fields", "aliases"), texts)
    else:
        echo("There are no collections. To create one: periplus collection create NAME")


@collection.command("delete")
@with_settings()
def delete(name: _Name, settings: Settings) -> None:
    """Delete a collection with its documents."""
    from periplus.app import delete_collection

    delete_collection(Path(settings.folder), name)
    echo(f"Deleted {clean(name)}.")


@collection.command("alias")
@with_settings()
def alias(name: _Alias, target: _Name, settings: Settings) -> None:
    """Set what an alias stands for, from one request to the next."""
    from periplus.app import change_aliases

    change_aliases(Path(settings.folder), {name: target})
    echo(f"{clean(name)} stands for {clean(target)}.")


@collection.command("unalias")
@with_settings()
def unalias(name: _Alias, settings: Settings) -> None:
    """Remove an alias."""
    from periplus.app import change_aliases

    change_aliases(Path(settings.folder), {}, [name])
    echo(f"Removed the alias {clean(name)}.")
