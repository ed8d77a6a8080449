"""The content type of a body: by its bytes where they decide, else by the header."""

import io
import re
import zipfile
from typing import Final

from periplus.parse.formats.zip_archive import entry_names, read_entry

__all__ = ["UNTYPED", "detect_content_type", "media_type_of"]

UNTYPED: Final = frozenset({"", "*/*", "application/octet-stream", "application/x-unknown", "unknown/unknown"})
"""Content types that carry no information."""

_MAX_SNIFFED: Final = 1_024
_SIGNATURES: Final = (
    (b"\x1f\x8b", "application/gzip"),
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x7fELF", "application/x-elf"),
    (b"\xd0\xcf\x11\xe0", "application/x-ole"),
    (b"OggS\0", "audio/ogg"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"7z\xbc\xaf", "application/x-7z-compressed"),
    (b"\xfd7zXZ", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
)
# The first bytes of these formats are letters, with which a text may begin too: what has to follow them decides.
_LETTER_SIGNATURES: Final = (
    (re.compile(rb"ID3[\x00-\x08][\x00-\x08].[\x00-\x7f]{4}", re.DOTALL), "audio/mpeg"),
    (re.compile(rb"RIFF.{4}[A-Z]{3}[A-Z ]", re.DOTALL), "application/x-riff"),
    (re.compile(rb"wOF[F2][\x00O]"), "font/woff"),
    (re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), "application/x-bzip2"),
    (re.compile(rb"\x00[\x00-\xff]{3}ftyp"), "video/mp4"),
)
_FIRST_BYTES: Final = frozenset(signature[:1] for signature, _ in _SIGNATURES) | {b"I", b"R", b"w", b"B", b"\0"}
"""What the formats above begin with."""
_PDF: Final = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*%PDF-[0-9]\.[0-9]\s")
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_HTML_STARTS: Final = (
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
_UTF_16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_ROOT: Final = re.compile(rb"<(?:[A-Za-z][\w.-]{0,40}:)?([A-Za-z][\w.-]{0,40})[\s/>]")
_TYPES_BY_ROOT: Final = {
    b"html": "text/html",
    b"rss": "application/rss+xml",
    b"RDF": "application/rss+xml",
    b"feed": "application/atom+xml",
    b"definitions": "application/wsdl+xml",
}
_PROLOGUE: Final = re.compile(
    rb"\s*+(?:<\?.*?\?>\s*+|<!--.*?-->\s*+|<!DOCTYPE[^>\[]{0,400}>\s*+){0,16}", re.DOTALL | re.I
)
_ORDINARY_HTML: Final = re.compile(rb"<!(?:DOCTYPE|doctype) html>\s*+<html[\s>]")
_XML_TYPES: Final = frozenset({"application/xml", "text/xml"})
_TEXT_TYPES: Final = frozenset({"text/plain", "text/html", "application/xhtml+xml"})
_HTML_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
_OPENAPI_JSON: Final = re.compile(rb"\"(?:openapi|swagger)\"\s*:\s*\"[23]\.")
_OPENAPI_YAML: Final = re.compile(rb"^(?:openapi|swagger)\s*:\s*['\"]?[23]\.", re.MULTILINE)
_ZIP_TYPES: Final = frozenset({"application/zip", "application/x-zip-compressed"})
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_OFFICE_FOLDERS: Final = (
    ("word/", _OFFICE + "wordprocessingml.document"),
    ("xl/", _OFFICE + "spreadsheetml.sheet"),
    ("ppt/", _OFFICE + "presentationml.presentation"),
)
_TYPES_BY_NAME: Final = (
    ((".md", ".markdown"), "text/markdown"),
    (("openapi.json", "swagger.json"), "application/json"),
    (("openapi.yaml", "openapi.yml", "swagger.yaml", "swagger.yml"), "application/yaml"),
)


_last: tuple[bytes, str, str, str] = (b"", "", "", "")
"""The last body with its header and path, and what it was."""


def media_type_of(content_type: str) -> str:
    """Return the type in a Content-Type header, without parameters and in lower case."""
    return content_type.partition(";")[0].strip().lower()


def detect_content_type(body: bytes, content_type: str, path: str = "") -> str:
    """Return the content type to parse `body` as, '' if it is not parsed. Bytes take precedence over the header."""
    global _last
    last = _last
    if last[0] is body and last[1] == content_type and last[2] == path:
        return last[3]  # who decides where to parse a body asks first, and its parser again
    detected = _detect(body, content_type, path)
    _last = (body, content_type, path, detected)
    return detected


def _detect(body: bytes, content_type: str, path: str) -> str:
    start = body[:_MAX_SNIFFED]
    declared = media_type_of(content_type)
    if declared in _HTML_TYPES and _ORDINARY_HTML.match(start) and b"\0" not in start:
        return "text/html"  # as the longer way would find, too
    detected = "application/pdf" if _is_pdf(body, start, declared) else _detect_binary(body, start)
    if detected is not None:
        return detected
    if declared in UNTYPED or declared in _TEXT_TYPES or declared.startswith("text/x-"):
        return (
            _text_type(start, declared, path)
            if declared in _HTML_TYPES
            else _openapi_type(body) or _text_type(start, declared, path)
        )
    if declared in _XML_TYPES or declared.endswith("+xml"):
        return _xml_type(start) or declared
    # What is declared as an archive or a PDF, and is not, is most often an error page.
    if (
        declared in _ZIP_TYPES
        or declared == "application/pdf"
        or declared.startswith((_OFFICE, "application/vnd.oasis."))
    ):
        return "text/html" if _has_doctype(start) else ""
    return declared


def _is_pdf(body: bytes, start: bytes, declared: str) -> bool:
    """Return whether a body is a PDF: it begins as one, or has its mark near the beginning and is not a text."""
    if _PDF.match(start):
        return True
    if b"%PDF-" not in start or start.lstrip().startswith(b"<"):
        return False
    return declared == "application/pdf" or _CONTROL.search(body, 0, 4 * _MAX_SNIFFED) is not None


def _detect_binary(body: bytes, start: bytes) -> str | None:
    """Return the type of a binary format by its first bytes; None for text."""
    if start.startswith(b"PK\x03\x04"):
        return _zip_type(body)
    if start[:1] in _FIRST_BYTES:
        for signature, kind in _SIGNATURES:
            if start.startswith(signature):
                return kind
        for pattern, kind in _LETTER_SIGNATURES:
            if pattern.match(start):
                return kind
    if not start.startswith(_UTF_16_MARKS) and start.count(b"\0") > len(start) // 16:
        return ""
    return None


def _zip_type(body: bytes) -> str:
    """Return the type of a zip archive: an Office document, a book, or any other."""
    names = entry_names(body)
    if "mimetype" in names:
        kind = read_entry(zipfile.ZipFile(io.BytesIO(body)), "mimetype", 128).decode("latin-1").strip().lower()
        if kind.startswith(("application/epub", "application/vnd.oasis.")):
            return kind
    if "[Content_Types].xml" in names:
        for folder, kind in _OFFICE_FOLDERS:
            if any(name.startswith(folder) for name in names):
                return kind
    return "application/epub+zip" if "META-INF/container.xml" in names else "application/zip"


def _text_type(start: bytes, declared: str, path: str) -> str:
    xml = _xml_type(start) if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<?xml") else ""
    if xml and (xml != "application/xml" or declared in UNTYPED):
        return xml
    if declared in _HTML_TYPES:
        return _xml_type(start, "") or declared
    if _has_doctype(start) or (declared in UNTYPED and _starts_like_html(start)):
        return "text/html"
    name = path.partition("?")[0].lower()
    for endings, kind in _TYPES_BY_NAME:
        if name.endswith(endings):
            return kind
    return "text/plain" if declared in UNTYPED else declared


def _openapi_type(body: bytes) -> str:
    """Return the type of an OpenAPI description, by its version near the beginning or the end, or ''."""
    ends = body[:_MAX_SNIFFED] + b"\n" + body[_MAX_SNIFFED:][-_MAX_SNIFFED:]
    if ends.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return "application/json" if b'"paths"' in body and _OPENAPI_JSON.search(ends) else ""
    return "application/yaml" if b"\npaths:" in body and _OPENAPI_YAML.search(ends) else ""


def _starts_like_html(start: bytes) -> bool:
    bare = start.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return bare.startswith(_HTML_STARTS) or (bare.startswith((b"<!--", b"<?xml")) and b"<html" in bare)


def _has_doctype(start: bytes) -> bool:
    """Return whether the body begins with the doctype of HTML."""
    bare = start.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return bare.startswith(b"<!doctype html")


def _xml_type(start: bytes, otherwise: str = "application/xml") -> str:
    """Return the type of XML by its root element; `otherwise` for an element without a type of its own."""
    bare = start.removeprefix(b"\xef\xbb\xbf")
    prologue = _PROLOGUE.match(bare)
    root = _ROOT.match(bare, prologue.end() if prologue else 0)
    return _TYPES_BY_ROOT.get(root[1], otherwise) if root else otherwise
