"""What the bytes are: the content type, by the header where that can be true, by the bytes where it cannot."""

import io
import re
import zipfile
from typing import Final

from periplus.parse.formats.zip_archive import entry_names, read_entry

__all__ = ["UNTYPED", "detect_content_type", "media_type_of"]

UNTYPED: Final = frozenset({"", "*/*", "application/octet-stream", "application/x-unknown", "unknown/unknown"})
"""Content types that say nothing."""

_LOOK: Final = 1_024
_BINARY: Final = (
    (b"\x1f\x8b", "application/gzip"),
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "application/x-riff"),
    (b"\x7fELF", "application/x-elf"),
    (b"\xd0\xcf\x11\xe0", "application/x-ole"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"wOF", "font/woff"),
    (b"BZh", "application/x-bzip2"),
    (b"7z\xbc\xaf", "application/x-7z-compressed"),
    (b"\xfd7zXZ", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
)
_MARKUP: Final = (
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<body",
    b"<title",
    b"<meta",
    b"<script",
    b"<h1",
    b"<div",
    b"<p>",
)
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")
_ROOT: Final = re.compile(rb"<(?:[A-Za-z][\w.-]{0,40}:)?([A-Za-z][\w.-]{0,40})[\s/>]")
_ROOTS: Final = {
    b"html": "text/html",
    b"rss": "application/rss+xml",
    b"RDF": "application/rss+xml",
    b"feed": "application/atom+xml",
    b"definitions": "application/wsdl+xml",
}
_PROLOGUE: Final = re.compile(
    rb"\s*+(?:<\?.*?\?>\s*+|<!--.*?-->\s*+|<!DOCTYPE[^>\[]{0,400}>\s*+){0,16}", re.DOTALL | re.I
)
_XML: Final = frozenset({"application/xml", "text/xml"})
_TEXT: Final = frozenset({"text/plain", "text/html", "application/xhtml+xml"})
_MARKED: Final = frozenset({"text/html", "application/xhtml+xml"})
_JSON_SERVICE: Final = re.compile(rb"\"(?:openapi|swagger)\"\s*:\s*\"[23]\.")
_YAML_SERVICE: Final = re.compile(rb"^(?:openapi|swagger)\s*:\s*['\"]?[23]\.", re.MULTILINE)
_PACKED: Final = frozenset({"application/zip", "application/x-zip-compressed"})
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_PARTS: Final = (
    ("word/", _OFFICE + "wordprocessingml.document"),
    ("xl/", _OFFICE + "spreadsheetml.sheet"),
    ("ppt/", _OFFICE + "presentationml.presentation"),
)
_BY_NAME: Final = (
    ((".md", ".markdown"), "text/markdown"),
    (("openapi.json", "swagger.json"), "application/json"),
    (("openapi.yaml", "openapi.yml", "swagger.yaml", "swagger.yml"), "application/yaml"),
)


def media_type_of(content_type: str) -> str:
    """Give the type of a Content-Type header, bare and in lower case."""
    return content_type.partition(";")[0].strip().lower()


def detect_content_type(body: bytes, content_type: str, path: str = "") -> str:
    """Give the content type to read `body` as; '' when it is nothing that is read. Bytes go before the header."""
    start = body[:_LOOK]
    said = media_type_of(content_type)
    seen = _by_bytes(body, start)
    if seen is not None:
        return seen
    if said in UNTYPED or said in _TEXT or said.startswith("text/x-"):
        return (
            _text_kind(start, said, path) if said in _MARKED else _service_kind(body) or _text_kind(start, said, path)
        )
    if said in _XML or said.endswith("+xml"):
        return _xml_kind(start) or said
    # What is said to be packed or a PDF, and is not, is most often a page that says why not.
    if said in _PACKED or said == "application/pdf" or said.startswith((_OFFICE, "application/vnd.oasis.")):
        return "text/html" if _is_document(start) else ""
    return said


def _by_bytes(body: bytes, start: bytes) -> str | None:
    """Know binary formats by how they begin; None for text."""
    if b"%PDF-" in start and not start.lstrip().startswith(b"<"):
        return "application/pdf"
    if start.startswith(b"PK\x03\x04"):
        return _packed_kind(body)
    for mark, kind in _BINARY:
        if start.startswith(mark):
            return kind
    if start[4:8] == b"ftyp":
        return "video/mp4"
    if not start.startswith(_WIDE) and start.count(b"\0") > len(start) // 16:
        return ""
    return None


def _packed_kind(body: bytes) -> str:
    """Tell Office files and books from other zip archives."""
    names = entry_names(body)
    if "mimetype" in names:
        kind = read_entry(zipfile.ZipFile(io.BytesIO(body)), "mimetype", 128).decode("latin-1").strip().lower()
        if kind.startswith(("application/epub", "application/vnd.oasis.")):
            return kind
    if "[Content_Types].xml" in names:
        for folder, kind in _PARTS:
            if any(name.startswith(folder) for name in names):
                return kind
    return "application/epub+zip" if "META-INF/container.xml" in names else "application/zip"


def _text_kind(start: bytes, said: str, path: str) -> str:
    xml = _xml_kind(start) if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<?xml") else ""
    if xml and (xml != "application/xml" or said in UNTYPED):
        return xml
    if said in _MARKED:
        return _xml_kind(start, "") or said
    if _is_document(start) or (said in UNTYPED and _looks_like_markup(start)):
        return "text/html"
    name = path.partition("?")[0].lower()
    for endings, kind in _BY_NAME:
        if name.endswith(endings):
            return kind
    return "text/plain" if said in UNTYPED else said


def _service_kind(body: bytes) -> str:
    """Know the description of a service by what it says of itself, near its beginning or its end."""
    ends = body[:_LOOK] + b"\n" + body[_LOOK:][-_LOOK:]
    if ends.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return "application/json" if b'"paths"' in body and _JSON_SERVICE.search(ends) else ""
    return "application/yaml" if b"\npaths:" in body and _YAML_SERVICE.search(ends) else ""


def _looks_like_markup(start: bytes) -> bool:
    bare = start.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return bare.startswith(_MARKUP) or (bare.startswith((b"<!--", b"<?xml")) and b"<html" in bare)


def _is_document(start: bytes) -> bool:
    """Tell whether this can only be a web page: it begins with the doctype."""
    bare = start.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return bare.startswith(b"<!doctype html")


def _xml_kind(start: bytes, otherwise: str = "application/xml") -> str:
    """Give the type that the first element tells; `otherwise` for any other element."""
    bare = start.removeprefix(b"\xef\xbb\xbf")
    prologue = _PROLOGUE.match(bare)
    root = _ROOT.match(bare, prologue.end() if prologue else 0)
    return _ROOTS.get(root[1], otherwise) if root else otherwise
