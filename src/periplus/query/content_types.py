"""Types of documents, by the names that `filetype:` accepts."""

from typing import Final

__all__ = ["CONTENT_TYPES", "is_content_type"]

_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_OPEN: Final = "application/vnd.oasis.opendocument."

CONTENT_TYPES: Final = {
    "htm": "text/html",
    "html": "text/html",
    "txt": "text/plain",
    "text": "text/plain",
    "pdf": "application/pdf",
    "md": "text/markdown",
    "markdown": "text/markdown",
    "xml": "application/xml",
    "rss": "application/rss+xml",
    "atom": "application/atom+xml",
    "wsdl": "application/wsdl+xml",
    "json": "application/json",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "epub": "application/epub+zip",
    "docx": _OFFICE + "wordprocessingml.document",
    "xlsx": _OFFICE + "spreadsheetml.sheet",
    "pptx": _OFFICE + "presentationml.presentation",
    "odt": _OPEN + "text",
    "ods": _OPEN + "spreadsheet",
    "odp": _OPEN + "presentation",
}
"""Content types by file extension."""
_SUBTYPES: Final = frozenset(kind.rpartition("/")[2] for kind in CONTENT_TYPES.values())


def is_content_type(name: str) -> bool:
    """Return whether a name is an extension of documents that are indexed, a content type or the last part of one."""
    return name in CONTENT_TYPES or "/" in name or name in _SUBTYPES
