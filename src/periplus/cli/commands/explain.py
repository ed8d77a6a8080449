"""`periplus explain`: why a page ranks where it does for some words, or why it is not there."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from periplus.cli.console import clean, say, say_json
from periplus.cli.kernels import compile_kernels
from periplus.cli.options import AsJson, with_settings
from periplus.errors import BadInput
from periplus.files import open_data_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.evaluate import Explanation

__all__ = ["explain"]


@with_settings()
def explain(
    url: Annotated[str, typer.Argument(help="The page.")],
    words: Annotated[list[str], typer.Argument(help="What was looked for.")],
    settings: Settings,
    language: Annotated[str, typer.Option("--language", help="Only pages in this language were asked for.")] = "",
    safe: Annotated[int, typer.Option("--safe", min=0, max=2, help="How strict safe search was.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Say why a page ranks where it does for some words, or why it is not among the results."""
    from periplus.evaluate import explain as look

    query = " ".join(word.strip() for word in words).strip()
    if not query:
        raise BadInput("There are no words to look for.", "For example: periplus explain https://example.org/ tides.")
    folder = open_data_folder(Path(settings.folder), create=False)
    compile_kernels(as_json)
    found = look(folder, settings, url, query, language=language, safe=safe)
    if as_json:
        say_json(found)
    else:
        _print(found)


def _print(found: "Explanation") -> None:
    say(f"{clean(found.url)} for '{clean(found.words)}'")
    say(clean(found.told))
    if found.other:
        say(f"Instead: {clean(found.other)}")
    if found.missing and found.reason == "ranked":
        say("Without: " + clean(", ".join(found.missing)))
    for name, value in found.parts if found.rival is None else ():
        say(f"  {value:8.3f}  {clean(name)}")
    if found.rival is not None:
        say(f"\n  {'this':>8}  {'better':>8}  {clean(found.rival.title)[:60]}  {clean(found.rival.url)}")
        for name, ours, theirs in found.rival.gaps:
            say(f"  {ours:8.3f}  {theirs:8.3f}  {clean(name)}")
        say(f"  {found.score:8.3f}  {found.rival.score:8.3f}  score")
        name, ours, theirs = found.rival.gaps[0] if found.rival.gaps else ("", 0.0, 0.0)
        if theirs > ours:
            say(f"\nIt lacks most in: {clean(name)} ({theirs - ours:.3f} less).")
