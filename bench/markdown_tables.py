"""Tables in Markdown, and pages of the documentation that hold those of the last run of a benchmark."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_END = "<!-- end of figures -->"


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; numbers have commas."""
    cells = [[f"{value:,}" if isinstance(value, int) else str(value) for value in row] for row in rows]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *(f"| {' | '.join(row)} |" for row in cells)]
    return "\n".join(lines)


def replace_tables(page: str, results: str, render: Callable[[dict[str, Any]], str]) -> None:
    """Replace the tables of a page in docs by those of the figures in bench/results, between the marks around them."""
    figures = json.loads((ROOT / "bench" / "results" / results).read_text("utf-8"))["figures"]
    path, begin = ROOT / "docs" / page, f"<!-- figures: bench/results/{results} -->"
    before, rest = path.read_text("utf-8").split(begin)
    path.write_text(f"{before}{begin}\n\n{render(figures)}\n\n{_END}{rest.partition(_END)[2]}", "utf-8")
