"""Pages as Markdown, for programs that read them: headings, lists, tables and code, without markup of others."""

from collections.abc import Sequence
from typing import Final

from periplus.serve.protocols import TextBlockLike

__all__ = ["render_markdown"]

_MAX_HEADING: Final = 6
_ESCAPED: Final = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>#|"})
_INDENT: Final = "  "


def render_markdown(blocks: Sequence[TextBlockLike], title: str, text: str) -> str:
    """Return a page as Markdown below its title; without blocks, its text as paragraphs."""
    heading = " ".join(title.split())
    parts = [f"# {_escape(heading)}"] if heading else []
    if not blocks:
        return "\n\n".join(parts + [_escape(line.strip()) for line in text.splitlines() if line.strip()]) + "\n"
    for number, block in enumerate(blocks):
        if block.kind == "heading" and number == 0 and " ".join(block.text.split()) == heading:
            continue
        rendered = _render(block)
        follows = bool(parts) and block.kind in ("item", "numbered") and parts[-1].lstrip()[:2] in ("- ", "1.")
        if follows:
            parts[-1] += "\n" + rendered
        elif rendered:
            parts.append(rendered)
    return "\n\n".join(parts) + "\n"


def _render(block: TextBlockLike) -> str:
    if block.kind == "heading":
        return "#" * min(_MAX_HEADING, max(1, block.level) + 1) + " " + _escape(block.text)
    if block.kind == "code":
        fence = "`" * max(3, _longest_run(block.text, "`") + 1)
        return f"{fence}\n{block.text}\n{fence}"
    if block.kind == "table":
        return _table(block)
    if block.kind in ("item", "numbered"):
        return _INDENT * (max(1, block.level) - 1) + ("- " if block.kind == "item" else "1. ") + _escape(block.text)
    return {"quote": "> ", "definition": ": "}.get(block.kind, "") + _escape(block.text)


def _table(block: TextBlockLike) -> str:
    width = max((len(row) for row in block.rows), default=0)
    if not width:
        return ""
    rows = [[_escape(" ".join(cell.split())) for cell in row] + [""] * (width - len(row)) for row in block.rows]
    header, body = (rows[0], rows[1:]) if block.level else ([""] * width, rows)
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, ["---"] * width, *body))


def _escape(text: str) -> str:
    return " ".join(text.split()).translate(_ESCAPED)


def _longest_run(text: str, mark: str) -> int:
    longest = run = 0
    for char in text:
        run = run + 1 if char == mark else 0
        longest = max(longest, run)
    return longest
