"""The HTML of a cached copy: every text escaped, every tag written here, and no attributes."""

from collections.abc import Sequence
from html import escape
from typing import Final

from periplus.serve.protocols import TextBlockLike

__all__ = ["render_blocks"]

_TAGS: Final = {"paragraph": "p", "quote": "blockquote", "term": "p", "definition": "p", "caption": "p"}
_LISTS: Final = {"item": "ul", "numbered": "ol"}
_MAX_HEADING: Final = 6


def render_blocks(blocks: Sequence[TextBlockLike], title: str) -> str:
    """Return blocks of text as HTML, below the heading of the copy, which a first heading like it is not to repeat."""
    out: list[str] = []
    lists: list[str] = []
    for number, block in enumerate(blocks):
        if block.kind == "heading" and number == 0 and block.text.strip() == title.strip():
            continue
        if block.kind in _LISTS:
            _add_item(out, lists, block)
            continue
        _close_lists(out, lists, 0)
        if block.kind == "heading":
            level = min(_MAX_HEADING, max(1, block.level) + 1)
            out.append(f"<h{level}>{escape(block.text)}</h{level}>\n")
        elif block.kind == "code":
            out.append(f"<pre>{escape(block.text)}</pre>\n")
        elif block.kind == "table":
            _add_table(out, block)
        else:
            tag, text = _TAGS.get(block.kind, "p"), escape(block.text)
            out.append(f"<{tag}>{f'<b>{text}</b>' if block.kind == 'term' else text}</{tag}>\n")
    _close_lists(out, lists, 0)
    return "".join(out)


def _add_item(out: list[str], lists: list[str], block: TextBlockLike) -> None:
    """Add an item to the list of its level; lists within an item are opened and closed as levels change."""
    tag, level = _LISTS[block.kind], max(1, block.level)
    _close_lists(out, lists, level)
    if len(lists) == level and lists[-1] != tag:
        _close_lists(out, lists, level - 1)
    if len(lists) == level:
        out.append("</li>\n")
    while len(lists) < level:
        out.append(f"<{tag}>" if len(lists) == level - 1 else f"<{tag}><li>")
        lists.append(tag)
    out.append(f"<li>{escape(block.text)}")


def _close_lists(out: list[str], lists: list[str], level: int) -> None:
    while len(lists) > level:
        out.append(f"</li></{lists.pop()}>\n")


def _add_table(out: list[str], block: TextBlockLike) -> None:
    out.append("<table>\n")
    for number, row in enumerate(block.rows):
        tag = "th" if number < block.level else "td"
        out.append("<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>\n")
    out.append("</table>\n")
