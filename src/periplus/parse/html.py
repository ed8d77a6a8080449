"""HTML to a Page, through Lexbor's tree: a few sweeps in C, and one walk over the nodes for the text."""

from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser

from periplus.parse.charsets import decode
from periplus.parse.cost import too_costly
from periplus.parse.head import Head
from periplus.parse.linear import read_linear
from periplus.parse.links import Links
from periplus.parse.tidy import iso_date, one_line, paragraphs
from periplus.records import Fetched, Page
from periplus.settings import ParseSettings

__all__ = ["BLOCKS", "read_html"]

BLOCKS: Final = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "br",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "dir",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hgroup",
        "hr",
        "html",
        "legend",
        "li",
        "main",
        "menu",
        "nav",
        "ol",
        "optgroup",
        "option",
        "p",
        "pre",
        "search",
        "section",
        "select",
        "summary",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "title",
        "tr",
        "ul",
    ]
)
_UNSEEN: Final = (
    "script,style,noscript,template,svg,math,iframe,object,noembed,noframes,textarea,select,datalist,head>title,"
    "body [hidden],body [aria-hidden=true]"
)
_EMPHASIS: Final = frozenset({"b", "strong", "em", "i", "mark", "dfn"})
_LONGEST_TITLE: Final = 300
_LONGEST_HEADING: Final = 300
_LONGEST_EMPHASIS: Final = 100
_MOST_HEADINGS: Final = 64
_MOST_EMPHASIS: Final = 200
_MOST_IMAGES: Final = 100
_MOST_BYTES: Final = 8 * 1024 * 1024


def read_html(fetched: Fetched, settings: ParseSettings) -> Page:
    """Read an HTML page of any quality, in bounded time."""
    body = fetched.body[:_MOST_BYTES]
    text, charset = decode(body, fetched.header("content-type"))
    text = text.replace("\0", "")
    if too_costly(text.encode("utf-8", "replace"), settings.max_elements, settings.max_depth):
        return read_linear(text, charset, fetched, settings)
    return _read_tree(LexborHTMLParser(text), charset, fetched, settings)


def _read_tree(tree: Any, charset: str, fetched: Fetched, settings: ParseSettings) -> Page:
    head = _read_head(tree, fetched)
    title = tree.css_first("title")
    titled = one_line(title.text(), _LONGEST_TITLE) if title is not None else ""
    # Inner ones first: what is inside a removed element is freed with it.
    for node in reversed(tree.css(_UNSEEN)):
        node.decompose()
    text, emphasis = _read_text(tree.root, settings.max_text)
    headings = _read_headings(tree)
    return Page(
        url=fetched.due.address.url,
        title=titled or (headings[0] if headings else ""),
        headings=headings,
        emphasis=emphasis,
        text=text,
        links=_read_links(tree, head, settings.max_links),
        canonical=head.canonical,
        description=head.description,
        language=head.language,
        charset=charset,
        noindex=head.noindex,
        nofollow=head.nofollow,
        published=head.published,
        feeds=tuple(head.feeds),
        images=_read_images(tree, head.base),
    )


def _read_head(tree: Any, fetched: Fetched) -> Head:
    head = Head(fetched, fetched.due.address.url)
    for node in tree.css("html[lang],base[href]"):
        if node.tag == "base":
            head.set_base(node.attributes.get("href"))
            break
        head.set_language(node.attributes.get("lang"))
    for node in tree.css("meta,link[rel]")[:1_000]:
        if node.tag == "meta":
            head.meta(node.attributes)
        else:
            head.link(node.attributes)
    for node in tree.css('script[type="application/ld+json"]')[:8]:
        head.script(node.text())
    time = None if head.published else tree.css_first("time[datetime]")
    if time is not None:
        head.published = iso_date(time.attributes.get("datetime") or "")
    return head


def _read_text(root: Any, most: int) -> tuple[str, tuple[str, ...]]:
    """Gather the visible text, blocks parted by newlines, and short emphasised phrases."""
    pieces: list[str] = []
    emphasis: dict[str, None] = {}
    after_block: set[int] = set()
    length = 0
    for node in root.traverse(include_text=True) if root is not None else ():
        tag = node.tag
        if after_block and node.mem_id in after_block:
            pieces.append("\n")
        if tag == "-text":
            piece = node.text_content or ""
            pieces.append(piece)
            length += len(piece)
            if length > 4 * most:
                break
        elif tag in BLOCKS:
            pieces.append("\n")
            # The walk tells where an element begins, not where it ends: that is where its sibling begins.
            if (sibling := node.next) is not None:
                after_block.add(sibling.mem_id)
        elif tag in _EMPHASIS and len(emphasis) < _MOST_EMPHASIS:
            _note_emphasis(node, emphasis)
    return paragraphs("".join(pieces), most), tuple(emphasis)


def _note_emphasis(node: Any, emphasis: dict[str, None]) -> None:
    child = node.first_child
    if child is not None and child.is_text_node:
        phrase = one_line(child.text_content or "", _LONGEST_EMPHASIS + 1)
        if 0 < len(phrase) <= _LONGEST_EMPHASIS:
            emphasis[phrase] = None


def _read_headings(tree: Any) -> tuple[str, ...]:
    found = (one_line(node.text(separator=" "), _LONGEST_HEADING) for node in tree.css("h1,h2,h3")[:_MOST_HEADINGS])
    return tuple(heading for heading in found if heading)


def _read_links(tree: Any, head: Head, most: int) -> Any:
    links = Links(head.base, most)
    links.add(head.refresh)
    budget = _MOST_BYTES
    for node in tree.css("a[href],area[href]")[: 4 * most]:
        attributes = node.attributes
        text = node.text(separator=" ") if budget > 0 else ""
        budget -= len(text)
        if not text or text.isspace():
            text = _stand_in(node, attributes)
        links.add(attributes["href"], text, "nofollow" in (attributes.get("rel") or "").lower())
    return links.taken(head.nofollow)


def _stand_in(node: Any, attributes: dict[str, str | None]) -> str:
    """Give what a link without text shows: an image's alternative text, or a label."""
    child = node.first_child
    image = node.css_first("img[alt]") if child is not None else None
    text = image.attributes.get("alt") if image is not None else ""
    return text or attributes.get("alt") or attributes.get("aria-label") or attributes.get("title") or ""


def _read_images(tree: Any, base: str) -> Any:
    images = Links(base, _MOST_IMAGES)
    for node in tree.css("img[src]")[: 2 * _MOST_IMAGES]:
        images.add(node.attributes["src"], node.attributes.get("alt") or "")
    return images.taken()
