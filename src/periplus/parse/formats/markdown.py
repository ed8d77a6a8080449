"""Markdown to a Page: markdown-it-py renders it as HTML, which the HTML parser parses.

So headings, links, images, tables and the HTML that is mixed into most READMEs are understood as on any other page.
Work is counted in steps of the parser, and what remains when the allowed steps are spent is kept as plain text: a
hostile file costs a bounded time, and the same file always gives the same page.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

import msgspec
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from periplus.parse.charset.decoding import decode
from periplus.parse.html.html_parser import parse_markup
from periplus.parse.text_cleanup import one_line, parse_iso_date
from periplus.records import FetchResult, Media, Page
from periplus.settings import ParseSettings

__all__ = ["parse_markdown"]

_MAX_BLOCK_STEPS: Final = 100_000
"""Lines tried as the start of a block, table cells and blocks: enough for two megabytes of documentation."""
_MAX_INLINE_STEPS: Final = 100_000
"""Inline constructs tried and delimiters: enough for a megabyte of documentation."""
_MAX_NESTING: Final = 20
_MAX_FRONT_MATTER_LINES: Final = 200
_DELIMITERS: Final = re.compile(r"[*_~]+")
_BARE_URL: Final = re.compile(r"https?://[^\s<>\"')\]]{1,1000}")
_PROPERTY: Final = re.compile(r"(\w{2,20}):\s*[\"']?([^\n]{1,300}?)[\"']?\s*\Z")


def parse_markdown(result: FetchResult, settings: ParseSettings) -> Page:
    """Return the page of a Markdown file, with or without front matter."""
    text, charset = decode(result.body[: 4 * settings.max_text + 4], result.header("content-type"), markup=False)
    properties, body = _split_front_matter(text)
    html = _parser().render(body, {"block_steps": 0, "inline_steps": 0}).encode("utf-8", "replace")
    headers = (
        ("content-type", "text/html; charset=utf-8"),
        *(pair for pair in result.headers if pair[0] != "content-type"),
    )
    page, _ = parse_markup(msgspec.structs.replace(result, body=html, headers=headers), settings)
    return msgspec.structs.replace(
        page,
        title=one_line(properties.get("title") or page.title or page.text.partition("\n")[0], 300),
        description=one_line(properties.get("description", ""), 500),
        charset=charset,
        kind="text/markdown",
        published=parse_iso_date(properties.get("date", "")) or page.published,
        author=one_line(properties.get("author", ""), 200),
        media=tuple(Media(image.url, "image", image.text) for image in page.images),
    )


def _split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the 'key: value' lines between two lines of dashes at the very top, and the text after them."""
    if not text.startswith("---"):
        return {}, text
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        return {}, text
    properties: dict[str, str] = {}
    for number, line in enumerate(lines[1:_MAX_FRONT_MATTER_LINES], 1):
        if line.rstrip() in {"---", "..."}:
            return properties, "\n".join(lines[number + 1 :])
        if match := _PROPERTY.match(line):
            properties.setdefault(match[1].lower(), match[2])
    return {}, text


@cache
def _parser() -> MarkdownIt:
    """Return a parser of CommonMark with GitHub's tables and strikethrough, and with limits to its work."""
    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).enable(["table", "strikethrough"])
    parser.block.ruler.before(
        "table", "step_limit", _limit_blocks, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    parser.inline.ruler.before("text", "step_limit", _limit_inlines)
    parser.core.ruler.push("bare_urls", _link_bare_urls)
    return parser


def _limit_blocks(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Count a step, and one for each cell that the line may have; past the limit, keep the remaining lines as text."""
    state.env["block_steps"] += 1 + state.src.count("|", state.bMarks[start], state.eMarks[start])
    if state.env["block_steps"] + len(state.tokens) < _MAX_BLOCK_STEPS:
        return False
    if not silent:
        state.push("code_block", "code", 0).content = state.getLines(start, end, 0, False)
        state.line = end
    return True


def _limit_inlines(state: StateInline, silent: bool) -> bool:
    """Count a step, and one for each delimiter; past the limit, keep the remaining characters as text."""
    run = _DELIMITERS.match(state.src, state.pos)
    state.env["inline_steps"] += 1 + (len(run[0]) if run else 0)
    if state.env["inline_steps"] < _MAX_INLINE_STEPS:
        return False
    if not silent:
        state.pending += state.src[state.pos : state.posMax]
    state.pos = state.posMax
    return True


def _link_bare_urls(state: StateCore) -> None:
    """Make links of the URLs that stand in the text, as GitHub does."""
    for token in state.tokens:
        if token.type == "inline" and "://" in token.content and token.children:
            token.children = _with_links(token.children)


def _with_links(tokens: Sequence[Token]) -> list[Token]:
    linked: list[Token] = []
    depth = 0
    for token in tokens:
        depth += token.nesting * (token.type in {"link_open", "link_close"})
        linked.append(token)
        if depth == 0 and token.type == "text" and "://" in token.content:
            linked[-1:] = _split_at_urls(token.content)
    return linked


def _split_at_urls(text: str) -> list[Token]:
    """Return the tokens of a text in which every URL is a link."""
    tokens: list[Token] = []
    end = 0
    for match in _BARE_URL.finditer(text):
        url = match[0].rstrip(".,;:")
        tokens += [
            Token("text", "", 0, content=text[end : match.start()]),
            Token("link_open", "a", 1, attrs={"href": url}),
            Token("text", "", 0, content=url),
            Token("link_close", "a", -1),
        ]
        end = match.start() + len(url)
    return [*tokens, Token("text", "", 0, content=text[end:])]
