"""Documents given by people and programs: the inbox, the publisher that feeds a live index, deletions that last.

In: pages handed in through the API, the form or the command line. Out: the same pages in the store and in the index.
`ContentPublisher` takes text, a file or a URL with its metadata, and keeps it by the SHA-256 of its content
(`ContentFiles`); `make_published_record` checks a page; `Inbox` holds it from its acknowledgement until it is in both;
`publish_pending` moves what is pending into a live index, `publish_all` all of it, `background_publisher` does so from
a thread of its own, and `PublicationStore` is the store that it ends in. `DocumentUpload` takes documents of
applications in bulk, which `DocumentConverter` reads by the schema of the index. `CollectionCatalog` names collections
of documents, each in a data folder of its own, which `collection_publisher` indexes. `DeletionList` holds the pages
that no build indexes.

What a search takes from here is imported with this package, the rest on first use: a server starts without the parsers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from periplus.publish.deletions import DeletionList
from periplus.publish.publication import PUBLISHED_HOST, content_id, make_published_record

if TYPE_CHECKING:
    from periplus.publish.collections.collection_catalog import Collection, CollectionCatalog, CollectionInbox
    from periplus.publish.collections.collection_publisher import collection_publisher
    from periplus.publish.content_files import ContentFiles, ContentMetadata
    from periplus.publish.content_publisher import ContentPublisher, Publication, PublishedContent
    from periplus.publish.document_upload import DocumentUpload, LineError, UploadReport
    from periplus.publish.documents import DocumentConverter, document_address, document_object
    from periplus.publish.inbox import Inbox, InboxStatistics
    from periplus.publish.publication_store import PublicationStore
    from periplus.publish.publisher import (
        StoreMover,
        background_publisher,
        publish_all,
        publish_pending,
        warm_publisher,
    )

__all__ = [
    "PUBLISHED_HOST",
    "Collection",
    "CollectionCatalog",
    "CollectionInbox",
    "ContentFiles",
    "ContentMetadata",
    "ContentPublisher",
    "DeletionList",
    "DocumentConverter",
    "DocumentUpload",
    "Inbox",
    "InboxStatistics",
    "LineError",
    "Publication",
    "PublicationStore",
    "PublishedContent",
    "StoreMover",
    "UploadReport",
    "background_publisher",
    "collection_publisher",
    "content_id",
    "document_address",
    "document_object",
    "make_published_record",
    "publish_all",
    "publish_pending",
    "warm_publisher",
]

_LAZY_MODULES: Final = {
    "collections.collection_catalog": (
        "Collection",
        "CollectionCatalog",
        "CollectionInbox",
    ),
    "collections.collection_publisher": ("collection_publisher",),
    "content_files": (
        "ContentFiles",
        "ContentMetadata",
    ),
    "content_publisher": (
        "ContentPublisher",
        "Publication",
        "PublishedContent",
    ),
    "document_upload": (
        "DocumentUpload",
        "LineError",
        "UploadReport",
    ),
    "documents": (
        "DocumentConverter",
        "document_address",
        "document_object",
    ),
    "inbox": (
        "Inbox",
        "InboxStatistics",
    ),
    "publication_store": ("PublicationStore",),
    "publisher": (
        "StoreMover",
        "background_publisher",
        "publish_all",
        "publish_pending",
        "warm_publisher",
    ),
}
_LAZY_NAMES: Final = {name: module for module, names in _LAZY_MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name of a module that takes documents in, on first use."""
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
    return value
