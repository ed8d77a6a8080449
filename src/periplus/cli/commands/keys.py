"""`periplus keys`: who may read collections, publish, report visits, control the crawl or see the admin page."""

from pathlib import Path
from typing import Annotated, Final

import typer

from periplus.cli.console import echo, echo_json, print_table
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

__all__ = ["keys"]

keys: Final = typer.Typer(
    help="Create, list and revoke the keys of the HTTP API.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)

_Name = Annotated[str, typer.Argument(help="Name of the key.")]


@keys.command("add")
@with_settings()
def add(
    name: _Name,
    role: Annotated[str, typer.Argument(help="What it permits: read, publish, manage, report, crawl, judge or admin.")],
    settings: Settings,
    collections: Annotated[
        str,
        typer.Option(
            "--collections",
            help="Limit it to collections, separated by commas; a name may end with a star.",
            metavar="NAMES",
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Create a key and print it, once: only its fingerprint is stored."""
    from periplus.app import add_api_key

    names = [part.strip() for part in collections.split(",") if part.strip()]
    secret = add_api_key(Path(settings.folder), name, role, names)
    if as_json:
        echo_json({"name": name, "role": role, "collections": names, "key": secret})
    else:
        echo(secret)


@keys.command("list")
@with_settings()
def list_keys(settings: Settings, as_json: AsJson = False) -> None:
    """List the keys, without their secrets."""
    from periplus.app import api_keys

    listed = api_keys(Path(settings.folder)).all()
    if as_json:
        echo_json(
            [
                {"name": key.name, "role": key.role, "made": key.created, "collections": key.collections}
                for key in listed
            ]
        )
    elif listed:
        print_table(
            ("name", "role", "collections"), [(key.name, key.role, " ".join(key.collections)) for key in listed]
        )
    else:
        echo("There are no keys. To create one: periplus keys add NAME ROLE")


@keys.command("remove")
@with_settings()
def remove(name: _Name, settings: Settings) -> None:
    """Revoke a key; servers notice within a second."""
    from periplus.app import remove_api_key

    remove_api_key(Path(settings.folder), name)
    echo(f"The key '{name}' is revoked.")
