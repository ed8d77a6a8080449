"""The tables of bench/faults.py; run by itself, this writes those of the last run to docs/reliability.md."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from markdown_tables import markdown_table, replace_tables

COLUMNS = ("lost", "wrong", "hang", "traceback", "killed", "unclear error", "not repeatable")
HEADINGS = ("lost", "wrong", "hangs", "tracebacks", "killed", "unclear errors", "not repeatable")


def render_tables(figures: dict[str, Any]) -> str:
    """Return all tables of a run as Markdown."""
    parts = []
    if "cuts" in figures:
        parts += [
            _table("Power cuts", ("operation", "states"), figures["cuts"], _operation_row),
            _table("Faults", ("operation", "faults"), figures["faults"], _operation_row),
            _kinds(figures["faults"]),
        ]
    if "processes" in figures:
        heads = ("process", "kinds of faults", "acknowledged")
        parts.append(_table("Processes", heads, figures["processes"], _process_row))
    if "files" in figures:
        parts += [_files(figures["files"]), _arrays(figures["arrays"])]
    return "\n\n".join(parts)


def _operation_row(row: dict[str, Any]) -> list[object]:
    return [row["operation"], row["tried"]]


def _process_row(row: dict[str, Any]) -> list[object]:
    return [f"`periplus {row['process']}`", row["faults"], row["acknowledged"]]


def _table(title: str, heads: Sequence[str], rows: list[dict[str, Any]], cells: Any) -> str:
    lines = [[*cells(row), *(row["failures"].get(name, 0) for name in COLUMNS)] for row in rows]
    width = len(heads)
    sums = [sum(int(str(line[column])) for line in lines) for column in range(1, width + len(COLUMNS))]
    return f"### {title}\n\n" + markdown_table((*heads, *HEADINGS), [*lines, ["all", *sums]])


def _kinds(rows: list[dict[str, Any]]) -> str:
    """Return how many faults of each kind were injected."""
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row["of"])
    return "Of these faults: " + ", ".join(f"{name} {count:,}" for name, count in sorted(total.items())) + "."


def _files(rows: list[dict[str, Any]]) -> str:
    names = ("flips", "cuts", "reported", "earlier", "redundant", "missed", "silent", "tracebacks", "hangs")
    heads = (
        "kind of file",
        "flips",
        "truncations",
        "reported",
        "earlier states",
        "same content",
        "missed",
        "wrong",
        "tracebacks",
        "hangs",
    )
    lines: list[list[object]] = [[f"`{row['kind']}`", *(row[name] for name in names)] for row in rows]
    sums = [sum(row[name] for row in rows) for name in names]
    return "### Damaged files\n\n" + markdown_table(heads, [*lines, [f"all {len(rows)} kinds", *sums]])


def _arrays(rows: list[dict[str, Any]]) -> str:
    names = ("cases", "refused", "answered", "faults")
    heads = ("file of arrays", "cases", "refused", "answered", "crashes, hangs, tracebacks")
    lines: list[list[object]] = [[f"`{row['file']}`", *(row[name] for name in names)] for row in rows]
    sums = [sum(row[name] for row in rows) for name in names]
    return "### Damaged arrays\n\n" + markdown_table(heads, [*lines, ["all", *sums]])


def summarise_arrays(rows: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the outcomes of damaged arrays by file."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        name = row.file.rpartition("/")[2]
        outcome = row.outcome if row.outcome in ("refused", "answered") else "faults"
        counts.setdefault(name, Counter()).update([outcome, "cases"])
    names = ("cases", "refused", "answered", "faults")
    return [{"file": file, **{name: count[name] for name in names}} for file, count in sorted(counts.items())]


def write_page() -> None:
    """Replace the tables in docs/reliability.md by those of the last run."""
    replace_tables("reliability.md", "faults.json", render_tables)


if __name__ == "__main__":
    write_page()
