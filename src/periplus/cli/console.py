"""What people see in a terminal: lines, tables, one progress line that updates in place, plain lines elsewhere."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec
import typer

__all__ = [
    "Report",
    "bar",
    "bytes_as_text",
    "clean",
    "count",
    "is_terminal",
    "note",
    "progress",
    "rows",
    "say",
    "say_json",
]

Report = Callable[[str, int, int], None]

_PLAIN_SECONDS: Final = 5.0
"""Without a terminal, a long stage says how far it is this often."""


def say(text: str = "") -> None:
    """Print a line of the answer."""
    typer.echo(text)


def note(text: str) -> None:
    """Print a line about the work, apart from the answer."""
    typer.echo(text, err=True)


def say_json(value: Any) -> None:
    """Print a record, or plain Python values, as one line of JSON."""
    typer.echo(msgspec.json.encode(value).decode())


def is_terminal() -> bool:
    """Say whether a person is watching."""
    return sys.stderr.isatty()


def bytes_as_text(number: float) -> str:
    """Write a number of bytes for people: '14.2 MB'."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:,.0f} {unit}" if unit == "bytes" else f"{number:,.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"


def clean(text: str) -> str:
    """Take control characters out: a page must not be able to steer the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def count(number: int, noun: str) -> str:
    """Write a number with its noun: '1 host', '1,200 hosts'."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def bar(share: float, width: int = 24) -> str:
    """Draw a share between 0 and 1 as a bar of `width` characters."""
    full = round(max(0.0, min(1.0, share)) * width)
    return "█" * full + "·" * (width - full)


def rows(head: Sequence[str], body: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    for row in [head, *body]:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        say("  ".join(cells).rstrip())


@contextlib.contextmanager
def progress(quiet: bool = False) -> Iterator[Report]:
    """Give a function (stage, done, total) that shows how far the work is, on standard error."""
    if quiet:
        yield lambda stage, done, total: None
    elif is_terminal():
        with _live() as report:
            yield report
    else:
        yield _plain()


@contextlib.contextmanager
def _live() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:,.0f}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as shown:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = shown.add_task(stage, total=total or None)
            shown.update(tasks[stage], completed=done, total=total or None)

        yield report


def _plain() -> Report:
    last: dict[str, float] = {}

    def report(stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        ended = total > 0 and done >= total
        if stage in last and not ended and now - last[stage] < _PLAIN_SECONDS:
            return
        if ended and last.get(stage) == float("inf"):
            return
        last[stage] = float("inf") if ended else now
        amount = f" {done:,}" + (f" of {total:,}" if total else "") if done or ended else ""
        note(f"{stage}{amount}")

    return report
