"""`periplus rules`: rule files that block, raise and lower pages, for whoever uses them or for everybody."""

import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from periplus.cli.console import echo, echo_json
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

__all__ = ["rules"]

rules: Final = typer.Typer(
    help="Import uBlacklist lists, Goggles files and lines such as 'block example.com'.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)


@rules.command("add")
@with_settings()
def add(
    file: Annotated[str, typer.Argument(help="A file of rules; - is the standard input.")],
    settings: Settings,
    everybody: Annotated[bool, typer.Option("--everybody", help="Apply them to all searches on this server.")] = False,
    name: Annotated[str, typer.Option(help="Name of the rules, where the file has none.")] = "",
    as_json: AsJson = False,
) -> None:
    """Import a file of rules and print its id; searches use it with rules=ID."""
    from periplus.app import add_rules

    added = add_rules(Path(settings.folder), sys.stdin.read() if file == "-" else Path(file), name, everybody=everybody)
    described: dict[str, Any] = {"id": added.id, "rules": len(added.rules), "ignored": added.ignored_count}
    if as_json:
        echo_json({**described, "ignored_lines": [{"line": line, "reason": reason} for line, reason in added.ignored]})
        return
    echo(f"{added.id}  {len(added.rules):,} rules")
    for line, reason in added.ignored[:10]:
        echo(f"  line {line} is ignored: {reason}")
    if added.ignored_count > 10:
        echo(f"  {added.ignored_count - 10:,} further lines are ignored.")


@rules.command("show")
@with_settings()
def show(
    rule_set: Annotated[str, typer.Argument(help="Id of the rules.")],
    settings: Settings,
) -> None:
    """Print the text of rules."""
    from periplus.app import find_rules

    echo(find_rules(Path(settings.folder), rule_set).source.text.rstrip("\n"))


@rules.command("everybody")
@with_settings()
def everybody(
    settings: Settings,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of the rules; those given are all that count.")] = None,
    none: Annotated[bool, typer.Option("--none", help="Let none count.")] = False,
) -> None:
    """Show or set which rules count for all searches on this server; it notices within a second."""
    from periplus.app import set_server_rules

    for identifier in set_server_rules(Path(settings.folder), () if none else ids or None):
        echo(identifier)
