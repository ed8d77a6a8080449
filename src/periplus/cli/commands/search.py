"""`periplus search`: ask the index from the terminal."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand

from periplus.cli.console import clean, count, say, say_json
from periplus.cli.kernels import compile_kernels
from periplus.cli.options import AsJson, with_settings
from periplus.errors import BadInput
from periplus.files import open_data_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.records import Hit, ResultPage

__all__ = ["MinusWords", "print_results", "search"]

_MINUS_WORD: Final = re.compile(r"-(?!-|n\d*$).")


class MinusWords(TyperCommand):
    """A command to which -land is a word to leave out, and not a row of one-letter options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put a space before such words, up to '--': it ends their being options, and means nothing in a query."""
        valued = {name for option in self.params for name in option.opts if not getattr(option, "is_flag", True)}
        end = args.index("--") if "--" in args else len(args)
        before = ["", *args]
        words = [" " + arg if _MINUS_WORD.match(arg) and before[i] not in valued else arg for i, arg in enumerate(args)]
        return super().parse_args(ctx, words[:end] + args[end:])


@with_settings()
def search(
    words: Annotated[list[str], typer.Argument(help="What to look for; the query language works here too.")],
    settings: Settings,
    size: Annotated[int, typer.Option("--size", "-n", min=1, help="How many results.")] = 10,
    start: Annotated[int, typer.Option("--start", min=0, help="How many results to pass over.")] = 0,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each score is made of.")] = False,
    as_json: AsJson = False,
) -> None:
    """Search the index and print the results. Words with a minus before them, such as -land, are left out."""
    query = " ".join(word.strip() for word in words).strip()
    if not query:
        raise BadInput("There are no words to look for.", "For example: periplus search lighthouse.")
    from periplus.records import Query
    from periplus.search import Searcher

    searcher = Searcher.open(open_data_folder(Path(settings.folder), create=False), settings)
    compile_kernels(as_json)
    page = searcher.search(Query(query, start=start, size=size, explain=explain))
    if as_json:
        from periplus.serve import as_json as shape

        say_json(shape(page))
    else:
        print_results(page)


def print_results(page: "ResultPage", most: int | None = None) -> None:
    """Print a result page for people."""
    for remark in page.notes:
        say(clean(remark))
    for number, hit in enumerate(page.hits[:most], page.query.start + 1):
        _print_hit(number, hit)
    about = "" if page.exact else "about "
    cut = ", partial" if page.partial else ""
    found = about + count(page.total, "result") if page.hits else "No results"
    say(f"{found} in {count(page.documents, 'page')}, {page.seconds * 1000:.1f} ms{cut}")


def _print_hit(number: int, hit: "Hit") -> None:
    say(f"{number:>3}. " + typer.style(clean(hit.title or hit.url), bold=True))
    say("     " + typer.style(clean(hit.url), fg="cyan"))
    snippet = "".join(typer.style(clean(text), bold=True) if marked else clean(text) for text, marked in hit.snippet)
    if snippet:
        say("     " + snippet)
    for reason, value in hit.reasons:
        say(f"       {value:8.3f}  {clean(reason)}")
    say()
