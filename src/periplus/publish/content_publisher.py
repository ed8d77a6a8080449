"""One publication from what was given to what is stored and indexed: checks, ownership, what changes and what stays."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from periplus.errors import BadInput, NotOwner, PeriplusError
from periplus.publish.content_files import ContentFiles, ContentMetadata
from periplus.publish.publication import PUBLISHED_HOST, check_date, content_id, make_published_record
from periplus.publish.uploads import UploadReader
from periplus.records import FetchRecord, Outcome
from periplus.settings import ParseSettings
from periplus.url import parse_address

__all__ = ["ContentPublisher", "Publication", "PublishedContent"]

_LINK_TYPE: Final = "text/uri-list"
"""The type of content that is nothing but a URL: what is there is described, and not fetched."""
_MAX_URLS: Final = 1_000
_KEPT: Final = ("title", "description", "author", "date", "tags", "language")
"""Fields that keep their value when content is published again without one."""


class Publication(NamedTuple):
    """What a publisher gives: text, a file or a URL, and what it says about it."""

    title: str = ""
    text: str = ""
    url: str = ""
    description: str = ""
    author: str = ""
    date: str = ""
    tags: tuple[str, ...] = ()
    language: str = ""
    file: bytes = b""
    name: str = ""
    """Of the file."""


class PublishedContent(NamedTuple):
    """What became of a publication."""

    metadata: ContentMetadata
    key: int
    """The fingerprint of its URL."""
    changed: bool
    """Whether anything is different from before: a form that is sent twice publishes once."""


class _Content(NamedTuple):
    """The bytes of a publication, what they are, and what they say."""

    data: bytes
    type: str
    text: str
    title: str


class ContentPublisher:
    """Publishes content of a data folder.

    add: hands a record to whoever indexes it, durably; called with the page, and with deletions of what it replaces.
    """

    def __init__(self, folder: Path, settings: ParseSettings, add: Callable[[FetchRecord], None]) -> None:
        self._files = ContentFiles(folder)
        self._uploads = UploadReader(settings)
        self._add = add

    def publish(self, given: Publication, publisher: str = "", owns_all: bool = False) -> PublishedContent:
        """Store and index content; raise `NotOwner` if another publisher has published it or its URL.

        Published again, it keeps what was said about it, except for the fields that are given now.
        publisher: identifies who publishes, '' if nobody was asked; owns_all: whether it may change what others did.
        """
        content = self._read(given)
        identifier = content_id(content.data)
        with self._files.changing():
            before = self._files.find(identifier)
            _check_owner(before, publisher, owns_all)
            metadata = _merge(before, given, content, identifier, publisher)
            record = make_published_record(
                metadata.title,
                content.text,
                metadata.url,
                metadata.description,
                metadata.author,
                metadata.date,
                metadata.tags,
                metadata.language,
                kind=_indexed_type(content.type),
                identifier=identifier,
            )
            metadata = msgspec.structs.replace(metadata, url=record.url, other_urls=_other_urls(before, record.url))
            at_url = self._files.find_url(record.key)
            _check_owner(at_url, publisher, owns_all)
            if before is not None and msgspec.structs.replace(metadata, updated=before.updated) == before:
                self._add(record)  # It may have been removed from the index by other means.
                return PublishedContent(before, record.key, changed=False)
            self._store(metadata, content.data, record, before)
        return PublishedContent(metadata, record.key, changed=True)

    def _store(
        self, metadata: ContentMetadata, content: bytes, record: FetchRecord, before: ContentMetadata | None
    ) -> None:
        """Write content and hand its record over; content that is refused there does not stay.

        Content that had no URL of its own moves to the one it gets; the same content at two URLs is two pages.
        """
        if before is not None and before.url != record.url and parse_address(before.url).host == PUBLISHED_HOST:
            self._withdraw(before.url)
        self._files.write(metadata, content, record.key)
        try:
            self._add(record)
        except PeriplusError:
            if before is None:
                self._files.remove(metadata, record.key)
            raise

    def find(self, identifier: str) -> ContentMetadata | None:
        """Return the metadata of published content, by its id."""
        return self._files.find(identifier)

    def read(self, identifier: str) -> bytes | None:
        """Return published content, by its id."""
        return self._files.read(identifier)

    def find_url(self, key: int) -> ContentMetadata | None:
        """Return the metadata of the content that a URL was published with."""
        return self._files.find_url(key)

    def remove(self, metadata: ContentMetadata, publisher: str = "", owns_all: bool = False) -> None:
        """Remove published content and all pages of it; raise `NotOwner` if it is somebody else's."""
        _check_owner(metadata, publisher, owns_all)
        with self._files.changing():
            for url in metadata.other_urls:
                key = parse_address(url).key
                at_url = self._files.find_url(key)
                if at_url is not None and at_url.id == metadata.id:  # other content may have replaced it there
                    self._withdraw(url)
                    self._files.remove_url(key)
            self._withdraw(metadata.url)
            self._files.remove(metadata, parse_address(metadata.url).key)

    def remove_page(self, metadata: ContentMetadata, key: int, publisher: str = "", owns_all: bool = False) -> bool:
        """Remove one page of published content, by the fingerprint of its URL; return whether its URL is known.

        The content stays as long as it is at another URL. Raise `NotOwner` if it is somebody else's.
        """
        urls = (*metadata.other_urls, metadata.url)
        url = next((url for url in urls if parse_address(url).key == key), "")
        left = [other for other in urls if other != url]
        if not left:
            self.remove(metadata, publisher, owns_all)
            return True
        _check_owner(metadata, publisher, owns_all)
        with self._files.changing():
            if url:
                self._withdraw(url)
                self._files.rewrite(msgspec.structs.replace(metadata, url=left[-1], other_urls=tuple(left[:-1])))
            self._files.remove_url(key)
        return bool(url)

    def _withdraw(self, url: str) -> None:
        address = parse_address(url)
        self._add(FetchRecord(address.url, address.key, Outcome.GONE, time.time(), 410))

    def _read(self, given: Publication) -> _Content:
        """Return the content of a publication: a file, or else text, or else the URL that it describes."""
        if given.file:
            upload = self._uploads.read(given.file, given.name)
            text, title = (upload.page.text, upload.page.title) if upload.page is not None else ("", "")
            return _Content(given.file, upload.type, text, title or given.name)
        if given.text.strip():
            return _Content(given.text.encode("utf-8", "replace"), "text/plain", given.text, "")
        if not given.url.strip():
            raise BadInput("There is no content.", "Send some text, a file or a URL.")
        if not given.title.strip() or not given.description.strip():
            raise BadInput("A URL needs a title and a description.", "It is described here, and not fetched.")
        return _Content(f"{parse_address(given.url).url}\r\n".encode(), _LINK_TYPE, given.description, "")

    def close(self) -> None:
        """End the processes that read documents."""
        self._uploads.close()


def _check_owner(metadata: ContentMetadata | None, publisher: str, owns_all: bool) -> None:
    if metadata is not None and not owns_all and metadata.publisher not in ("", publisher):
        raise NotOwner("This was published by somebody else.", "Only its publisher can change it.")


def _merge(
    before: ContentMetadata | None, given: Publication, content: _Content, identifier: str, publisher: str
) -> ContentMetadata:
    """Return the metadata of a publication: fields that are given, or else those that it had, or else what it says."""
    values: dict[str, Any] = {name: getattr(given, name) or (getattr(before, name) if before else "") for name in _KEPT}
    values["tags"] = tuple(dict.fromkeys(tag.strip() for tag in values["tags"] or () if tag.strip()))
    values["title"] = values["title"].strip() or content.title.strip()
    if not values["title"]:
        raise BadInput("There is no title.", "Give it one.")
    now = time.time()
    kept_url = before.url if before is not None and f"://{PUBLISHED_HOST}/" not in before.url else ""
    return ContentMetadata(
        id=identifier,
        type=content.type,
        bytes=len(content.data),
        title=values["title"],
        description=values["description"],
        author=values["author"],
        date=check_date(values["date"]),
        tags=values["tags"],
        language=values["language"],
        url=given.url.strip() or kept_url,
        name=given.name[-200:] or (before.name if before else ""),
        publisher=before.publisher or publisher if before else publisher,
        created=before.created if before else now,
        updated=now,
    )


def _other_urls(before: ContentMetadata | None, url: str) -> tuple[str, ...]:
    """Return the URLs, besides a new one, that content stays at; raise `BadInput` if they are too many."""
    if before is None:
        return ()
    known = [*before.other_urls, before.url]
    others = tuple(dict.fromkeys(other for other in known if other != url and f"://{PUBLISHED_HOST}/" not in other))
    if len(others) >= _MAX_URLS:
        raise BadInput(f"This was published at {len(others):,} URLs already.", "Remove it first.")
    return others


def _indexed_type(kind: str) -> str:
    return "text/plain" if kind == _LINK_TYPE else kind
