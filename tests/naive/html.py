"""Naive twin of `kernels.html.scan_page`: a whole tree by Lexbor, and a walk over it."""

from typing import Any, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from periplus.parse.kernels import html_tags

BLOCKS = frozenset(html_tags.ELEMENTS_BY_FLAG[html_tags.BLOCK].split())
HIDDEN = frozenset(html_tags.ELEMENTS_BY_FLAG[html_tags.HIDE].split())


class PageParts(NamedTuple):
    title: str
    text: str
    links: list[tuple[str, str]]
    headings: list[str]


def parse(page: str) -> PageParts:
    """Return title, text, links and headings, white space collapsed."""
    tree = LexborHTMLParser(page)
    title = tree.css_first("title")
    root = tree.root
    links = [(node.attributes["href"] or "", _line(_text(node))) for node in _visible(tree, "a[href]")]
    headings = [_line(_text(node)) for node in _visible(tree, "h1,h2,h3,h4,h5,h6")]
    lines = (_line(line) for line in _text(root).split("\0")) if root is not None else ()
    return PageParts(_line(title.text()) if title else "", "\n".join(filter(None, lines)), links, headings)


def _visible(tree: Any, selector: str) -> list[Any]:
    return [node for node in tree.css(selector) if not _is_hidden(node)]


def _is_hidden(node: Any) -> bool:
    while node is not None:
        if node.tag in HIDDEN or "hidden" in node.attributes:
            return True
        node = node.parent
    return False


def _text(node: Any) -> str:
    if node.tag == "-text":
        return str(node.text_content or "")
    if node.tag in HIDDEN or "hidden" in node.attributes:
        return ""
    inner = "".join(_text(child) for child in node.iter(include_text=True))
    return f"\0{inner}\0" if node.tag in BLOCKS else inner


def _line(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())
