"""`periplus keys`: who may publish, report visits, steer the crawl or see the admin page."""

from pathlib import Path
from typing import Annotated, Final

import typer

from periplus.cli.console import rows, say, say_json
from periplus.cli.options import AsJson, with_settings
from periplus.files import open_data_folder
from periplus.settings import Settings

__all__ = ["keys"]

keys: Final = typer.Typer(
    help="Make, list and take back the keys of the HTTP API.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)

_Name = Annotated[str, typer.Argument(help="What the key is called, to know it by.")]


@keys.command("add")
@with_settings()
def add(
    name: _Name,
    role: Annotated[str, typer.Argument(help="What it may do: publish, report, crawl or admin.")],
    settings: Settings,
    as_json: AsJson = False,
) -> None:
    """Make a key and print it, once: only its fingerprint is kept."""
    from periplus.serve import ApiKeys

    secret = ApiKeys(open_data_folder(Path(settings.folder), create=True)).add(name, role)
    if as_json:
        say_json({"name": name, "role": role, "key": secret})
    else:
        say(secret)


@keys.command("list")
@with_settings()
def list_keys(settings: Settings, as_json: AsJson = False) -> None:
    """List the keys, without their secrets."""
    from periplus.serve import ApiKeys

    found = ApiKeys(open_data_folder(Path(settings.folder), create=False)).all()
    if as_json:
        say_json([{"name": key.name, "role": key.role, "made": key.created} for key in found])
    elif found:
        rows(("name", "role"), [(key.name, key.role) for key in found])
    else:
        say("There are no keys. Make one: periplus keys add NAME ROLE")


@keys.command("remove")
@with_settings()
def remove(name: _Name, settings: Settings) -> None:
    """Take a key back; servers notice within a second."""
    from periplus.serve import ApiKeys

    ApiKeys(open_data_folder(Path(settings.folder), create=False)).remove(name)
    say(f"The key '{name}' is no good any more.")
