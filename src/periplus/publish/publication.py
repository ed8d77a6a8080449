"""What may be published: the fields of a page, their bounds, and the fetch record that a page becomes."""

import re
import time
from typing import Final

from periplus.errors import BadInput
from periplus.hashing import fingerprint
from periplus.records import FetchRecord, Outcome, Page
from periplus.url import parse_address

__all__ = ["MAX_LENGTHS", "MAX_TAGS", "make_published_record"]

_MAX_TEXT: Final = 500_000
"""Longer text is cut, as that of a crawled page is."""
MAX_LENGTHS: Final = {
    "url": 4_000,
    "title": 1_000,
    "description": 2_000,
    "author": 200,
    "date": 40,
    "language": 40,
    "tag": 100,
}
"""The most characters of each field."""
MAX_TAGS: Final = 100
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Control characters, other than tabs and ends of lines."""


def make_published_record(
    title: str,
    text: str,
    url: str = "",
    description: str = "",
    author: str = "",
    date: str = "",
    tags: tuple[str, ...] = (),
    language: str = "",
) -> FetchRecord:
    """Return the fetch record of a published page.

    Raise `BadUrl` for an invalid URL, and `BadInput` for a field that is too long or has control characters. Without a
    URL it gets one in a reserved name space, derived from its content.
    """
    if len(tags) > MAX_TAGS:
        raise BadInput(f"There are {len(tags):,} tags.", f"Send at most {MAX_TAGS}.")
    fields = {"url": url, "title": title, "description": description, "author": author, "date": date}
    for name, value in (*fields.items(), ("language", language), *(("tag", tag) for tag in tags)):
        _check_length(name, value)
    for name, value in (*fields.items(), ("language", language), ("content", text), ("tags", "".join(tags))):
        _check_characters(name, value)
    content = f"{title}\n{text}".encode("utf-8", "replace")
    address = parse_address(url) if url else parse_address(f"https://published.invalid/{fingerprint(content):016x}")
    page = Page(
        url=address.url,
        title=title,
        emphasis=tuple(tags),
        text=text[:_MAX_TEXT],
        description=description,
        language=language.strip().lower(),
        kind="text/plain",
        published=date,
        author=author,
    )
    return FetchRecord(
        address.url,
        address.key,
        Outcome.OK,
        time.time(),
        200,
        content=fingerprint(content),
        page=page,
        bytes=len(content),
    )


def _check_length(name: str, value: str) -> None:
    if len(value) > MAX_LENGTHS[name]:
        raise BadInput(f"The field '{name}' has {len(value):,} characters.", f"Send at most {MAX_LENGTHS[name]:,}.")


def _check_characters(name: str, value: str) -> None:
    control = _CONTROL.search(value)
    if control:
        raise BadInput(
            f"The field '{name}' has the control character U+{ord(control[0]):04X}.", "Send text without it."
        )
