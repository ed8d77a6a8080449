"""The `periplus` command itself: the list of commands, and the one place where errors become a line and a number."""

import copy
import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from periplus import __version__
from periplus.cli.capacity_command import plan
from periplus.cli.cluster_command import cluster
from periplus.cli.commands.crawl import crawl
from periplus.cli.commands.demo import demo
from periplus.cli.commands.doctor import check, doctor, repair
from periplus.cli.commands.embeddings import embed, embeddings, meaning
from periplus.cli.commands.evaluate import evaluate
from periplus.cli.commands.explain import explain
from periplus.cli.commands.import_ import import_pages
from periplus.cli.commands.index import index
from periplus.cli.commands.keys import keys
from periplus.cli.commands.rank import learn, rank
from periplus.cli.commands.search import QueryCommand, search
from periplus.cli.commands.serve import serve
from periplus.cli.commands.store import store
from periplus.cli.commands.up import up
from periplus.cli.commands.web import web
from periplus.cli.queries.collection_command import collection
from periplus.cli.queries.mcp import mcp
from periplus.cli.queries.rules_command import rules
from periplus.cli.queries.snapshot import snapshot
from periplus.cli.queries.why import why
from periplus.cli.site_command import site
from periplus.errors import PeriplusError
from periplus.files import disk_failure

__all__ = ["app", "main"]

FAILURE: Final = 1
USAGE_ERROR: Final = 2
INTERRUPTED: Final = 130

_MAX_MESSAGE: Final = 300
"""Most characters of an unexpected error that are shown without --debug."""

app: Final = typer.Typer(
    name="periplus",
    help="A complete web search engine: crawl, index, search, serve.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    no_args_is_help=True,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"periplus {__version__}")
        raise typer.Exit


@app.callback()
def _periplus(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """A complete web search engine: crawl, index, search, serve."""


app.command("demo")(demo)
app.command("web")(web)
app.command("up")(up)
app.command("crawl")(crawl)
app.command("import")(import_pages)
index.command("embed")(embed)
app.add_typer(index, name="index")
app.add_typer(embeddings, name="embeddings")
app.add_typer(meaning, name="meaning", hidden=True)
app.add_typer(store, name="store")
app.add_typer(rank, name="rank")
app.command("learn")(learn)
app.command("search", cls=QueryCommand)(search)
app.command("serve")(serve)
app.command("mcp")(mcp)
app.add_typer(cluster, name="cluster")
app.add_typer(site, name="site")
app.add_typer(keys, name="keys")
app.add_typer(collection, name="collection")
app.add_typer(rules, name="rules")
app.command("explain", cls=QueryCommand)(explain)
app.command("why")(why)
app.add_typer(snapshot, name="snapshot")
app.add_typer(evaluate, name="evaluate")
app.command("check")(check)
app.command("repair")(repair)
app.command("doctor")(doctor)
app.command("plan")(plan)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Every error becomes one line on standard error."""
    if arguments is not None:
        return _run(list(arguments))
    try:
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:  # while the line was written
        code = INTERRUPTED
    # Everything is done: one more Ctrl-C would kill the process on its way out, or print a traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


def _run(arguments: list[str]) -> int:
    debug = "--debug" in arguments
    # Pages, queries, keys and logs are for the owner only, whatever the shell allows.
    os.umask(os.umask(0o077) | 0o077)
    try:
        code = _with_one_command(arguments)(args=arguments, prog_name="periplus", standalone_mode=False)
    except typer.TyperException as error:
        return _usage_error(error)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("stopped.", debug=False, code=INTERRUPTED)
    except PeriplusError as error:
        return _fail(str(error), debug)
    except OSError as error:
        return _fail(_describe(error), debug)
    except Exception as error:
        message = " ".join(str(error).split())[:_MAX_MESSAGE]
        return _fail(f"unexpected {type(error).__name__}: {message}. Report it with the output of `--debug`.", debug)
    if code == INTERRUPTED:
        return _fail("stopped.", debug=False, code=INTERRUPTED)
    return code if isinstance(code, int) else 0


def _with_one_command(arguments: list[str]) -> typer.Typer:
    """Return the application with the command alone that the arguments begin with, or with all if they do not.

    Typer reads the parameters of all commands that it has, which takes longer than most commands are waited for.
    """
    name = arguments[0] if arguments else ""
    commands = [command for command in app.registered_commands if command.name == name]
    groups = [group for group in app.registered_groups if group.name == name]
    if not commands and not groups:
        return app
    smaller = copy.copy(app)
    smaller.registered_commands, smaller.registered_groups = commands, groups
    return smaller


def _fail(message: str, debug: bool, code: int = FAILURE) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    line = " ".join(message.split())
    typer.echo(f"periplus: {line}", err=True)
    return code


def _describe(error: OSError) -> str:
    if error.filename is None:
        return f"the operating system reported: {error.strerror or error}."
    return str(disk_failure(error.filename, error))


def _usage_error(error: typer.TyperException) -> int:
    message = getattr(error, "message", "") or str(error)
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(message)
        return USAGE_ERROR
    if hasattr(error, "format_message"):
        message = error.format_message()
    command = context.command_path if context is not None else "periplus"
    sentence = message if message.endswith(("?", "!")) else message.rstrip(".") + "."
    return _fail(f"{sentence} See `{command} --help`.", debug=False, code=USAGE_ERROR)
