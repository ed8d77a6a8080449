"""Plain text to a Page: its first line is the title."""

from typing import Final

from periplus.parse.charset.decoding import decode
from periplus.parse.page_head import PageHead
from periplus.parse.text_cleanup import one_line, paragraphs
from periplus.records import FetchResult, Page
from periplus.settings import ParseSettings

__all__ = ["parse_plain_text"]

_MAX_TITLE: Final = 200


def parse_plain_text(result: FetchResult, settings: ParseSettings) -> Page:
    """Return the page of a plain text file."""
    raw, charset = decode(result.body[: 4 * settings.max_text + 4], result.header("content-type"), markup=False)
    text = paragraphs(raw, settings.max_text)
    head = PageHead(result, result.request.address.url)
    return Page(
        url=result.request.address.url,
        title=one_line(text.partition("\n")[0], _MAX_TITLE),
        text=text,
        language=head.language,
        charset=charset,
        kind="text/plain",
        noindex=head.noindex,
        nofollow=head.nofollow,
    )
