"""`periplus why`: what became of a page in a query, and what would change it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from periplus.cli.console import clean, echo, echo_json
from periplus.cli.console_observer import observe
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.app import QueryDiagnosis

__all__ = ["why"]


@with_settings()
def why(
    query: Annotated[str, typer.Argument(help="The query, in quotes if it has several words.")],
    url: Annotated[str, typer.Argument(help="URL of the page that you expected.")],
    settings: Settings,
    language: Annotated[str, typer.Option("--language", help="Language that the query is restricted to.")] = "",
    site: Annotated[str, typer.Option("--site", help="Host that the query is restricted to.")] = "",
    safe: Annotated[int, typer.Option("--safe", min=0, max=2, help="Level of safe search.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Show why a page is not found for a query, or not further up, and what would change that."""
    from periplus.app import diagnose_query
    from periplus.records import Query

    asked = Query(query.strip(), language=language, site=site, safe=safe)
    with observe(as_json) as observer:
        found = diagnose_query(Path(settings.folder), settings, asked, url, observer)
    echo_json(found) if as_json else _print(found)


def _print(found: "QueryDiagnosis") -> None:
    echo(f"{clean(found.url)} for '{clean(found.query)}': {found.reason}")
    echo(clean(found.summary))
    if found.other:
        echo(f"Instead: {clean(found.other)}")
    if found.better is not None:
        echo(f"The next better result: {clean(found.better.url)}")
    for line in found.advice:
        echo(f"- {clean(line)}")
