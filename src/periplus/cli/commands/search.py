"""`periplus search`: search the index from the terminal."""

import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer
from typer.core import TyperCommand

from periplus.cli.console import clean, echo, echo_json, format_count
from periplus.cli.console_observer import observe
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.records import Hit, ResultPage

__all__ = ["QueryCommand", "search"]

_MINUS_WORD: Final = re.compile(r"-(?!-|n\d*$).")


class QueryCommand(TyperCommand):
    """A command in which -land excludes a word, and is not a group of one-letter options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put a space before such words, up to '--': then they are not options; in a query a space means nothing."""
        valued = {name for option in self.params for name in option.opts if not getattr(option, "is_flag", True)}
        end = args.index("--") if "--" in args else len(args)
        before = ["", *args]
        words = [" " + arg if _MINUS_WORD.match(arg) and before[i] not in valued else arg for i, arg in enumerate(args)]
        return super().parse_args(ctx, words[:end] + args[end:])


@with_settings()
def search(
    words: Annotated[list[str], typer.Argument(help="The query, in the query language of the search page.")],
    settings: Settings,
    size: Annotated[int, typer.Option("--size", "-n", min=1, help="Number of results.")] = 10,
    start: Annotated[int, typer.Option("--start", min=0, help="Number of results to skip.")] = 0,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score is composed.")] = False,
    verbatim: Annotated[
        bool, typer.Option("--verbatim", help="Search the query as typed: neither relaxed nor corrected.")
    ] = False,
    enough: Annotated[
        int | None, typer.Option("--enough", min=0, help="As the setting search.enough; 0 searches all pages.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search the index and print the results. A minus sign, as in -land, excludes a word."""
    from periplus.app import result_page_as_json, search_folder
    from periplus.records import Query

    text = " ".join(word.strip() for word in words).strip()
    query = Query(text, start=start, size=size, explain=explain, verbatim=verbatim)
    if enough is not None:
        query = msgspec.structs.replace(query, enough=enough)
    with observe(as_json) as observer:
        page = search_folder(Path(settings.folder), settings, query, observer)
    if as_json:
        echo_json(result_page_as_json(page))
    else:
        _print_results(page)


def _print_results(page: "ResultPage") -> None:
    if page.showing_for:
        echo(f"Showing results for {clean(page.showing_for)}. --verbatim searches for {clean(page.query.words)}.")
    for remark in page.notes:
        echo(clean(remark))
    for number, hit in enumerate(page.hits, page.query.start + 1):
        _print_hit(number, hit)
    about = "at least " if page.unsearched else "" if page.exact else "about "
    partial = ", partial" if page.partial else ""
    results = about + format_count(page.total, "result") if page.hits else "No results"
    echo(f"{results} in {format_count(page.documents, 'page')}, {page.seconds * 1000:.1f} ms{partial}")


def _print_hit(number: int, hit: "Hit") -> None:
    echo(f"{number:>3}. " + typer.style(clean(hit.title or hit.url), bold=True))
    echo("     " + typer.style(clean(hit.url), fg="cyan"))
    if hit.snippet:
        echo("     " + _style_snippet(hit))
    for reason, value in hit.reasons:
        echo(f"       {value:8.3f}  {clean(reason)}")
    echo()


def _style_snippet(hit: "Hit") -> str:
    """Return a snippet with the words of the query in bold, and a sentence that answers it underlined."""
    begin, end = hit.answer
    styled, at = [], 0
    for text, marked in hit.snippet:
        cuts = [0, *(cut - at for cut in hit.answer if 0 < cut - at < len(text)), len(text)]
        for first, last in pairwise(cuts):
            answers = begin <= at + first < end
            part = clean(text[first:last])
            styled.append(
                typer.style(part, bold=marked or None, underline=answers or None) if marked or answers else part
            )
        at += len(text)
    return "".join(styled)
