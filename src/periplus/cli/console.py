"""Text in a terminal: lines, tables, numbers with units."""

import sys
from collections.abc import Sequence
from typing import Any

import msgspec
import typer

__all__ = ["bar", "clean", "echo", "echo_json", "format_bytes", "format_count", "is_terminal", "log", "print_table"]


def echo(text: str = "") -> None:
    """Print a line of the answer, to standard output."""
    typer.echo(text)


def log(text: str) -> None:
    """Print a line about the work, to standard error."""
    typer.echo(text, err=True)


def echo_json(value: Any) -> None:
    """Print a record, or plain Python values, as one line of JSON."""
    typer.echo(msgspec.json.encode(value).decode())


def is_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return sys.stderr.isatty()


def format_bytes(number: float) -> str:
    """Return a number of bytes with its unit: '14.2 MB'."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:,.0f} {unit}" if unit == "bytes" else f"{number:,.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"


def clean(text: str) -> str:
    """Replace control characters by spaces, so that a page cannot control the terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun: '1 host', '1,200 hosts'."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def bar(share: float, width: int = 24) -> str:
    """Return a bar of `width` characters for a share between 0 and 1."""
    full = round(max(0.0, min(1.0, share)) * width)
    return "█" * full + "·" * (width - full)


def print_table(head: Sequence[str], body: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    for row in [head, *body]:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        echo("  ".join(cells).rstrip())
