"""Documents as applications have them: an object of JSON to a fetch record, by the schema of the index.

A document is identified by its `url`, or by its `id`; title, text, date and some others have a meaning, and all other
fields are its own.
"""

import math
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec

from periplus.errors import BadInput
from periplus.hashing import fingerprint, fingerprint_text
from periplus.index import convert_value
from periplus.publish.publication import MAX_LENGTHS, MAX_TAGS
from periplus.records import Address, FetchRecord, Link, Outcome, Page
from periplus.settings import FieldSettings
from periplus.typed_decoding import parse_json
from periplus.url import parse_address

__all__ = ["DocumentConverter", "document_address", "document_object"]

_PREFIX: Final = "https://published.invalid/"
_MAX_ID: Final = 500
_MAX_TEXT: Final = 500_000
"""Longer text is cut, as that of a crawled page is."""
_MAX_LINKS: Final = 1_000
_MAX_OWN: Final = 65_536
"""Bytes of all own fields of a document, as JSON."""
_CONTROL: Final = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f]")
_CONTROL_ESCAPE: Final = re.compile(rb"\\(?:u00[017]|[bf])")
"""How JSON writes control characters; but for U+007F, it cannot have them as they are."""
_PLAIN_ID: Final = re.compile("[A-Za-z0-9_-]{1,500}")
"""An id that is its own percent-encoding."""
_MAX_NAMES: Final = 1_000
"""Names of own fields that are remembered as checked."""
_STRINGS: Final = ("title", "description", "author", "date", "language")
_KNOWN: Final = frozenset({"url", "text", "content", "tags", "links", "popularity", *_STRINGS})


def document_address(identifier: str) -> Address:
    """Return the address of a document by its id, or by its URL. Raise `BadInput` for neither."""
    if identifier.startswith(("http://", "https://")):
        return parse_address(identifier)
    if not identifier or len(identifier) > _MAX_ID or _CONTROL.search(identifier):
        raise BadInput("This is not the id of a document.", f"An id has 1 to {_MAX_ID} printable characters.")
    return parse_address(_PREFIX + quote(identifier, safe=""))


class DocumentConverter:
    """Makes fetch records of documents. schema: the own fields that are declared."""

    def __init__(self, schema: Mapping[str, FieldSettings]) -> None:
        self._schema = schema
        self._text_fields = [name for name, field in schema.items() if field.type == "text"]
        self._not_own = _KNOWN - schema.keys()
        self._names: set[str] = set()
        self._decoder = msgspec.json.Decoder()

    def convert(self, raw: bytes) -> FetchRecord:
        """Return the record of one document as JSON; raise `BadInput` with the field that is wrong."""
        try:
            document = self._decoder.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise BadInput(f"It is not JSON: {str(error)[:120]}.") from None
        if not isinstance(document, dict):
            raise BadInput("It is not an object.")
        url, key = _identify(document)
        own = {name: value for name, value in document.items() if name not in self._not_own}
        for name, value in own.items():
            self._check_own(name, value)
        clean = _clean if b"\x7f" in raw or _CONTROL_ESCAPE.search(raw) else str
        strings = {name: _string(document, name, clean) for name in _STRINGS if name in document}
        text = _string(document, "text" if "text" in document else "content", clean)
        get = document.get
        page = Page(
            url=url,
            title=strings.get("title", "") or _name(document),
            emphasis=_tags(get("tags")),
            text=text[:_MAX_TEXT],
            links=_links(get("links")),
            description=strings.get("description", ""),
            language=strings.get("language", "").strip().lower(),
            kind="text/plain",
            published=strings.get("date", ""),
            author=strings.get("author", ""),
            own_fields=_encode(own),
            own_text=self._own_text(document) if self._text_fields else "",
            popularity=_popularity(get("popularity")),
        )
        content = fingerprint(raw) or 1
        return FetchRecord(url, key, Outcome.OK, time.time(), 200, content=content, page=page, bytes=len(raw))

    def _check_own(self, name: str, value: Any) -> None:
        if name not in self._names:
            if len(name) > 200 or _CONTROL.search(name):
                raise BadInput(f"The name of a field is too long, or has control characters: '{name[:40]!r}'.")
            if len(self._names) < _MAX_NAMES:
                self._names.add(name)
        field = self._schema.get(name)
        if field is not None:
            try:
                convert_value(field, value)
            except ValueError as error:
                raise BadInput(f"The field '{name}' is declared as {field.type}: {error}.") from None

    def _own_text(self, document: Mapping[str, Any]) -> str:
        """Return the text of all fields that are searched."""
        parts = [_clean(document[name]) for name in self._text_fields if document.get(name)]
        return "\n".join(parts)[:_MAX_TEXT]


def _identify(document: Mapping[str, Any]) -> tuple[str, int]:
    """Return the URL of a document, and its fingerprint."""
    url, identifier = document.get("url") or "", document.get("id", "")
    if not isinstance(url, str) or len(url) > MAX_LENGTHS["url"]:
        raise BadInput(f"The field 'url' is not a string of up to {MAX_LENGTHS['url']:,} characters.")
    if not url:
        if isinstance(identifier, bool) or not isinstance(identifier, str | int) or identifier == "":
            raise BadInput("It has neither an id nor a url.")
        name = str(identifier)
        if _PLAIN_ID.fullmatch(name):
            url = _PREFIX + name
            return url, fingerprint_text(url)
    address = parse_address(url) if url else document_address(name)
    return address.url, address.key


def _encode(own: dict[str, Any]) -> str:
    """Return own fields as JSON; '{}' for none, which tells a document from a page."""
    try:
        encoded = msgspec.json.encode(own)
    except (UnicodeEncodeError, RecursionError):
        raise BadInput("A field cannot be stored as JSON.") from None
    if len(encoded) > _MAX_OWN:
        raise BadInput(f"Its own fields have {len(encoded):,} bytes.", f"Send at most {_MAX_OWN:,}.")
    return encoded.decode()


def _string(document: Mapping[str, Any], name: str, clean: Callable[[str], str]) -> str:
    value = document.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadInput(f"The field '{name}' is not a string.")
    most = MAX_LENGTHS.get(name)
    if most is not None and len(value) > most:
        raise BadInput(f"The field '{name}' has {len(value):,} characters, more than {most:,}.")
    return clean(value)


def _clean(text: str) -> str:
    return _CONTROL.sub(" ", text) if _CONTROL.search(text) else text


def _name(document: Mapping[str, Any]) -> str:
    """Return a title for a document without one: its name, if that is a string."""
    name = document.get("name")
    return _clean(name)[: MAX_LENGTHS["title"]] if isinstance(name, str) else ""


def _tags(value: Any) -> tuple[str, ...]:
    tags = [value] if isinstance(value, str) else value
    if tags is None:
        return ()
    if not isinstance(tags, list) or len(tags) > MAX_TAGS or not all(isinstance(tag, str) for tag in tags):
        raise BadInput(f"The field 'tags' is not a list of up to {MAX_TAGS} strings.")
    if any(len(tag) > MAX_LENGTHS["tag"] for tag in tags):
        raise BadInput(f"A tag has more than {MAX_LENGTHS['tag']} characters.")
    return tuple(map(_clean, tags))


def _links(value: Any) -> tuple[Link, ...]:
    """Return links: URLs, or objects of url and text; they count when the index is built."""
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > _MAX_LINKS:
        raise BadInput(f"The field 'links' is not a list of up to {_MAX_LINKS:,} links.")
    links = []
    for item in value:
        url, text = (item.get("url"), item.get("text", "")) if isinstance(item, dict) else (item, "")
        if not isinstance(url, str) or not isinstance(text, str):
            raise BadInput("A link is neither a URL nor an object with url and text.")
        links.append(Link(parse_address(url).url, _clean(text)[:1_000]))
    return tuple(links)


def _popularity(value: Any) -> float:
    if value is None:
        return 0.0
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not 0 <= value <= 1:
        raise BadInput("The field 'popularity' is not a number from 0 to 1.")
    return float(value)


def document_object(record: FetchRecord) -> dict[str, Any] | None:
    """Return the document that a record was made of, as an object for JSON; None if it was not sent as one."""
    page = record.page
    if page is None or not page.own_fields or record.outcome is not Outcome.OK:
        return None
    known: dict[str, Any] = {
        "url": "" if record.url.startswith(_PREFIX) else record.url,
        "title": page.title,
        "text": page.text,
        "description": page.description,
        "author": page.author,
        "date": page.published,
        "language": page.language,
        "tags": list(page.emphasis),
        "links": [{"url": link.url, "text": link.text} for link in page.links],
        "popularity": page.popularity,
    }
    identifier = {"id": unquote(record.url.removeprefix(_PREFIX))} if record.url.startswith(_PREFIX) else {}
    own = parse_json(page.own_fields, dict[str, Any])
    return identifier | {name: value for name, value in known.items() if value} | own
