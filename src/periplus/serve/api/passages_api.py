"""What language models read: passages in answer to a query, whole pages, and checks of quotations."""

import hashlib
import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from periplus.errors import BadInput
from periplus.records import ResultPage
from periplus.serve.api.result_formats import EMPTY_NOTE
from periplus.serve.pages import number_formats
from periplus.serve.pages.markdown_pages import render_markdown
from periplus.serve.pages.page_links import passage_link
from periplus.serve.protocols import CachedPageLike, PassageLike, SearcherLike
from periplus.serve.request_bodies import json_response
from periplus.serve.search_executor import SearchExecutor
from periplus.serve.search_request import parse_parameters, parse_passage_request
from periplus.serve.workers.blocking_calls import call_in_thread

__all__ = ["DEFAULT_TOKENS", "MAX_TOKENS", "PassageHandlers", "find_quotation"]

DEFAULT_TOKENS: Final = 2_000
MAX_TOKENS: Final = 32_000
_PAGE_CHARS: Final = 20_000
"""Characters of one part of a page."""
_MAX_QUOTATION: Final = 10_000
_KEY: Final = re.compile(r"[0-9a-f]{16}")
_WORD: Final = re.compile(r"\S+")
_FORMATS: Final = ("markdown", "text", "json")


class PassageHandlers:
    """Handlers of the group 'passages' in the route table."""

    def __init__(self, searcher: SearcherLike, executor: SearchExecutor) -> None:
        self._searcher = searcher
        self._executor = executor

    async def passages(self, request: Request) -> Response:
        """Return the passages that say most about a query."""
        parsed, tokens = parse_passage_request(_parameters(request), DEFAULT_TOKENS, MAX_TOKENS)
        query = parsed.query
        page, found = await self._executor.run_search(lambda limits: self._searcher.passages(query, tokens, limits))
        if not page.documents:
            page = msgspec.structs.replace(page, notes=(*page.notes, EMPTY_NOTE))
        return json_response(_answer(page, found))

    async def page(self, request: Request) -> Response:
        """Return a page as Markdown, text or JSON, in parts."""
        parameters = _parameters(request)
        form = parameters.get("format", "") or "markdown"
        if form not in _FORMATS:
            raise BadInput("format is invalid.", f"Use one of {', '.join(_FORMATS)}.")
        key = await self._key(parameters)
        page = await self._copy(key)
        blocks = await self._executor.cached_blocks(key) if form != "text" else ()
        text = page.text if form == "text" else render_markdown(blocks, page.title, page.text)
        part = _part(parameters.get("part", "") or "1", text)
        shown = text[(part - 1) * _PAGE_CHARS : part * _PAGE_CHARS]
        if form == "json":
            parts = max(1, -(-len(text) // _PAGE_CHARS))
            return json_response(_evidence(page, key) | {"markdown": shown, "part": part, "parts": parts})
        media_type = "text/markdown" if form == "markdown" else "text/plain"
        return Response(shown, media_type=media_type, headers={"x-content-hash": _content_hash(page.text)})

    async def verify(self, request: Request) -> Response:
        """Return whether a quotation is in the stored text of a page, and where."""
        parameters = _parameters(request)
        quotation = " ".join(parameters.get("text", "").split())
        if not quotation or len(quotation) > _MAX_QUOTATION:
            raise BadInput("text is missing or too long.", f"Send a quotation of up to {_MAX_QUOTATION:,} characters.")
        key = await self._key(parameters)
        page = await self._copy(key)
        span = await call_in_thread(find_quotation, page.text, quotation)
        answer = _evidence(page, key) | {"found": span is not None, "begin": -1, "end": -1}
        if span is not None:
            answer |= {"begin": span[0], "end": span[1], "link": passage_link(page.url, quotation)}
        expected = parameters.get("content", "")
        return json_response(answer | ({"unchanged": expected == answer["content"]} if expected else {}))

    async def _key(self, parameters: dict[str, str]) -> int:
        """Return the fingerprint of the page that a request is about, given by its URL or by its key."""
        if key := parameters.get("key", ""):
            if not _KEY.fullmatch(key):
                raise BadInput("key is invalid.", "It is the key of a result: 16 hexadecimal digits.")
            return int(key, 16)
        if not parameters.get("url", ""):
            raise BadInput("The page is missing.", "Add url or key.")
        return (await self._executor.page_status(parameters["url"])).key

    async def _copy(self, key: int) -> CachedPageLike:
        page = await self._executor.cached(key)
        if page is None:
            raise HTTPException(404, "This page is not in the index.")
        return page


def _parameters(request: Request) -> dict[str, str]:
    return parse_parameters(request.scope["query_string"])


def _part(value: str, text: str) -> int:
    parts = max(1, -(-len(text) // _PAGE_CHARS))
    if not (value.isascii() and value.isdigit() and len(value) < 10 and 1 <= int(value) <= parts):
        raise BadInput("part is invalid.", f"This page has {parts} parts.")
    return int(value)


def _answer(page: ResultPage, found: Sequence[PassageLike]) -> dict[str, Any]:
    return {
        "query": page.query.words,
        "showing_for": page.showing_for,
        "passages": [_passage(passage) for passage in found],
        "pages": len({passage.key for passage in found}),
        "partial": page.partial,
        "notes": list(page.notes),
        "generation": page.generation,
    }


def _passage(passage: PassageLike) -> dict[str, Any]:
    return {
        "text": passage.text,
        "url": passage.url,
        "link": passage_link(passage.url, passage.text),
        "title": passage.title,
        "headings": passage.headings,
        "score": passage.score,
        "rank": passage.rank,
        "begin": passage.begin,
        "end": passage.end,
        "key": f"{passage.key:016x}",
        "content": passage.content,
        "fetched": number_formats.iso(passage.fetched) or None,
        "language": passage.language,
        "warc": passage.warc,
    }


def _evidence(page: CachedPageLike, key: int) -> dict[str, Any]:
    return {
        "url": page.url,
        "title": page.title,
        "key": f"{key:016x}",
        "content": _content_hash(page.text),
        "fetched": number_formats.iso(page.when) or None,
    }


def _content_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def find_quotation(text: str, quotation: str) -> tuple[int, int] | None:
    """Return where a quotation is in a text; any run of white space stands for a space.

    The words of both are compared with single spaces, in linear time, and then counted in the text as it is.
    """
    at = " ".join(text.split()).find(quotation)
    if at < 0:
        return None
    last, place, begin = at + len(quotation) - 1, 0, -1
    for word in _WORD.finditer(text):
        size = word.end() - word.start()
        if begin < 0 and at < place + size:
            begin = word.start() + at - place
        if last < place + size:
            return begin, word.start() + last - place + 1
        place += size + 1
    return None
