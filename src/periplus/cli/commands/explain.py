"""`periplus explain`: why a page has its rank for some words, or why it is not among the results."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from periplus.cli.console import clean, echo, echo_json
from periplus.cli.console_observer import observe
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.app import Explanation

__all__ = ["explain"]


@with_settings()
def explain(
    url: Annotated[str, typer.Argument(help="URL of the page.")],
    words: Annotated[list[str], typer.Argument(help="The query.")],
    settings: Settings,
    language: Annotated[str, typer.Option("--language", help="Language that the query was restricted to.")] = "",
    safe: Annotated[int, typer.Option("--safe", min=0, max=2, help="Level of safe search of the query.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Explain why a page has its rank for some words, or why it is not among the results."""
    from periplus.app import explain_rank

    query = " ".join(word.strip() for word in words).strip()
    with observe(as_json) as observer:
        explanation = explain_rank(
            Path(settings.folder), settings, url, query, language=language, safe=safe, observer=observer
        )
    echo_json(explanation) if as_json else _print(explanation)


def _print(explanation: "Explanation") -> None:
    echo(f"{clean(explanation.url)} for '{clean(explanation.words)}'")
    echo(clean(explanation.summary))
    if explanation.other:
        echo(f"Instead: {clean(explanation.other)}")
    if explanation.missing and explanation.reason == "ranked":
        echo("Without: " + clean(", ".join(explanation.missing)))
    better = explanation.better
    if better is None:
        for name, value in explanation.parts:
            echo(f"  {value:8.3f}  {clean(name)}")
        return
    echo(f"\n  {'this':>8}  {'better':>8}  {clean(better.title)[:60]}  {clean(better.url)}")
    for name, ours, theirs in better.gaps:
        echo(f"  {ours:8.3f}  {theirs:8.3f}  {clean(name)}")
    echo(f"  {explanation.score:8.3f}  {better.score:8.3f}  score")
    name, ours, theirs = better.gaps[0] if better.gaps else ("", 0.0, 0.0)
    if theirs > ours:
        echo(f"\nThe largest difference: {clean(name)} ({theirs - ours:.3f} less).")
