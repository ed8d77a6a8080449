"""What may be published: the fields of a page, their bounds, and the fetch record that a page becomes."""

import hashlib
import re
import time
from datetime import date as calendar_date
from typing import Final

from periplus.errors import BadInput
from periplus.hashing import fingerprint
from periplus.records import FetchRecord, Outcome, Page
from periplus.url import parse_address

__all__ = ["MAX_LENGTHS", "MAX_TAGS", "PUBLISHED_HOST", "check_date", "content_id", "make_published_record"]

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
PUBLISHED_HOST: Final = "published.invalid"
"""The host of content without an address on the web: a name that no site can have."""
_DATE: Final = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?(?:T[0-9:.+Z-]{1,25})?")
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Control characters, other than tabs and ends of lines."""


def content_id(content: bytes) -> str:
    """Return the id of some content: its SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def check_date(text: str) -> str:
    """Return a date as it is stored, '' for none; raise `BadInput` for what is no date of ISO 8601."""
    text = text.strip()
    if not text:
        return ""
    match = _DATE.fullmatch(text)
    try:
        if match:
            calendar_date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
            return text if match[3] else f"{match[1]}-{match[2] or '01'}-01"
    except ValueError:
        pass
    raise BadInput(f"'{text[:40]}' is not a date.", "Write it as 2026, 2026-05 or 2026-05-31.")


def make_published_record(
    title: str,
    text: str,
    url: str = "",
    description: str = "",
    author: str = "",
    date: str = "",
    tags: tuple[str, ...] = (),
    language: str = "",
    *,
    kind: str = "text/plain",
    identifier: str = "",
) -> FetchRecord:
    """Return the fetch record of a published page.

    kind, identifier: the type and the id of what was uploaded; `text` is then what was read from it, '' for media.
    Raise `BadUrl` for an invalid URL, and `BadInput` for no content, for a field that is too long or has control
    characters, and for a date that is none. Without a URL it gets one in a reserved name space, derived from its
    content. Description, author and tags are searched like headings and emphasis.
    """
    if len(tags) > MAX_TAGS:
        raise BadInput(f"There are {len(tags):,} tags.", f"Send at most {MAX_TAGS}.")
    fields = {"url": url, "title": title, "description": description, "author": author, "date": date}
    for name, value in (*fields.items(), ("language", language), *(("tag", tag) for tag in tags)):
        _check_length(name, value)
    for name, value in (*fields.items(), ("language", language), ("content", text), ("tags", "".join(tags))):
        _check_characters(name, value)
    if not text.strip() and not identifier:
        raise BadInput("There is no content.", "Send some text, or a file.")
    content = f"{title}\n{text}".encode("utf-8", "replace")
    own = identifier or content_id(text.encode("utf-8", "replace"))
    address = parse_address(url or f"https://{PUBLISHED_HOST}/{own}")
    page = Page(
        url=address.url,
        title=title,
        headings=(description,) if description and text.strip() else (),
        emphasis=(*tags, *filter(None, (author,))),
        text=text[:_MAX_TEXT],
        description=description,
        language=language.strip().lower(),
        kind=kind,
        published=check_date(date),
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
