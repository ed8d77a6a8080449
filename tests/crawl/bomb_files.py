"""Documents that are small and mean gigabytes or hours: one of every kind, made here; none is over four megabytes."""

import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import NamedTuple

OFFICE = "application/vnd.openxmlformats-officedocument."
CONTENT_TYPES = ("[Content_Types].xml", b"<Types/>")


class BombFile(NamedTuple):
    """A response: its content type, its body, and the encoding that the body has, if any."""

    kind: str
    body: bytes
    encoding: str = ""


def write_pdf(objects: list[bytes]) -> bytes:
    """Return a PDF of these objects, the first of which is the catalog."""
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj%s endobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (entries, len(data), data)


def page_pdf(contents: bytes, box: bytes = b"0 0 200 200", resources: bytes = b"", *others: bytes) -> bytes:
    """Return a PDF of one page; `others` are objects from number 5 on."""
    font = b"/Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>"
    return write_pdf(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[%s]/Contents 4 0 R/Resources<<%s%s>>>>" % (box, font, resources),
            contents,
            *others,
        ]
    )


def nested_forms(levels: int = 10, times: int = 10) -> bytes:
    """Return a PDF in which each form draws the next one ten times: ten thousand million in all."""
    forms = []
    for level in range(levels):
        last = level == levels - 1
        drawn = b"BT /F 12 Tf (Words) Tj ET" if last else b"/X Do " * times
        inner = b"" if last else b"/XObject<</X %d 0 R>>" % (6 + level)
        forms.append(stream(drawn, b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<<%s>>" % inner))
    return page_pdf(stream(b"/X Do"), b"0 0 200 200", b"/XObject<</X 5 0 R>>", *forms)


def deflate(data: bytes, times: int, piece: int = 1) -> bytes:
    """Return `data`, repeated, in deflated form, without ever having all of it."""
    packer, out = zlib.compressobj(9), bytearray()
    for _ in range(times // piece):
        out += packer.compress(data * piece)
    return bytes(out + packer.flush())


def page_tree(levels: int, kids: int) -> bytes:
    """Return a PDF whose page tree has many levels, in each of which every kid is the same next level."""
    nodes = [
        b"<</Type/Pages/Count 2147483647/Parent %d 0 R/Kids[%s]>>"
        % (max(1, number - 1), b"%d 0 R " % (number + 1) * kids)
        for number in range(2, levels + 2)
    ]
    page = b"<</Type/Page/Parent %d 0 R/MediaBox[0 0 9 9]>>" % (levels + 1)
    return write_pdf([b"<</Type/Catalog/Pages 2 0 R>>", *nodes, page])


def archive(*entries: tuple[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as written:
        for name, data in entries:
            written.writestr(name, data)
    return packed.getvalue()


def overlapping_archive(entries: int, size: int) -> bytes:
    """Return an archive in which all entries are the same bytes, as in David Fifield's."""
    data = deflate(b"<p><t>word</t></p>" * 1_000, size // 18_000)
    checksum, out, directory = 0, bytearray(), bytearray()
    head = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 8, 0, 0, checksum, len(data), size, 1, 0) + b"x"
    out += head + data
    for number in range(entries):
        name = f"ppt/slides/slide{number}.xml".encode()
        directory += struct.pack(
            "<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 8, 0, 0, checksum, len(data), size, len(name), 0, 0, 0, 0, 0, 0
        )
        directory += name
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, entries, entries, len(directory), len(out), 0)
    return bytes(out + directory + end)


def default_attributes(root: bytes, element: bytes, size: int, inside: bytes = b"") -> bytes:
    """Return XML in which every element gets a thousand attributes from the document type."""
    names = b" ".join(b"a%d CDATA 'value'" % number for number in range(1_000))
    subset = b"<!DOCTYPE %s [<!ATTLIST %s %s>]>" % (root, element, names)
    empty = b"<%s/>" % element
    return subset + b"<%s>" % root + inside + empty * (size // len(empty)) + b"</%s>" % root


def laughs(root: bytes) -> bytes:
    """Return XML in which one entity means a thousand million words."""
    subset = b"<!ENTITY a0 'ha'>" + b"".join(
        b"<!ENTITY a%d '%s'>" % (level, b"&a%d;" % (level - 1) * 10) for level in range(1, 10)
    )
    return b"<!DOCTYPE %s [%s]><%s><p><t>&a9;</t></p></%s>" % (root, subset, root, root)


def book(spine: int, chapter: bytes) -> bytes:
    """Return a book that has one chapter in its reading order again and again."""
    package = (
        b"<package><manifest><item id='c' href='c.html' media-type='text/html'/></manifest><spine>%s</spine></package>"
    )
    return archive(
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", b"<container><rootfile full-path='p'/></container>"),
        ("p", package % (b"<itemref idref='c'/>" * spine)),
        ("c.html", chapter),
    )


def anchors(levels: int) -> bytes:
    lines = ["openapi: 3.0.0", "a0: &a0 [ha, ha]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, levels)]
    return "\n".join([*lines, "paths:", *(f"  /{level}: *a{level}" for level in range(levels))]).encode()


def nested_archive(levels: int) -> bytes:
    data = b"0" * 1_000_000
    for level in range(levels):
        data = archive(*((f"{number}-{level}.zip", data) for number in range(10)))
    return data


def bomb_files(names: tuple[str, ...] = ()) -> dict[str, BombFile]:
    """Return every bomb by the name of its file, or those with these names."""
    text = b"BT /F 1 Tf " + b"(wwwwwwwwww) Tj " * 1_000 + b"ET "
    word = OFFICE + "wordprocessingml.document"
    bombs: dict[str, Callable[[], BombFile]] = {
        "forms.pdf": lambda: BombFile("application/pdf", nested_forms()),
        "deflate.pdf": lambda: BombFile(
            "application/pdf",
            page_pdf(stream(zlib.compress(deflate(b" " * 65_536, 16_000), 9), b"/Filter[/FlateDecode/FlateDecode]")),
        ),
        "text.pdf": lambda: BombFile("application/pdf", page_pdf(stream(deflate(text, 2_000), b"/Filter/FlateDecode"))),
        "box.pdf": lambda: BombFile("application/pdf", page_pdf(stream(text), b"-1e30 -1e30 1e30 1e30")),
        "pages.pdf": lambda: BombFile("application/pdf", page_tree(30, 10)),
        "deep.pdf": lambda: BombFile("application/pdf", page_tree(30_000, 1)),
        "arrays.pdf": lambda: BombFile("application/pdf", page_pdf(stream(b"[" * 2_000_000))),
        "entry.docx": lambda: BombFile(
            word, archive(CONTENT_TYPES, ("word/document.xml", b"<d>" + b"<p><t>a</t></p>" * 1_000_000))
        ),
        "laughs.docx": lambda: BombFile(word, archive(CONTENT_TYPES, ("word/document.xml", laughs(b"d")))),
        "attributes.docx": lambda: BombFile(
            word, archive(CONTENT_TYPES, ("word/document.xml", default_attributes(b"d", b"p", 3_000_000)))
        ),
        "overlap.pptx": lambda: BombFile(OFFICE + "presentationml.presentation", overlapping_archive(9_000, 16 << 20)),
        "wide.xlsx": lambda: BombFile(
            OFFICE + "spreadsheetml.sheet",
            archive(
                CONTENT_TYPES,
                *(
                    (f"xl/worksheets/sheet{number}.xml", b"<s><row>" + b"<c><v>1</v></c>" * (1 << 20))
                    for number in range(3)
                ),
            ),
        ),
        "loop.epub": lambda: BombFile("application/epub+zip", book(4_000, b"<p>a<b>" * 30_000)),
        "nested-archive": lambda: BombFile("application/octet-stream", nested_archive(3)),
        "anchors.yaml": lambda: BombFile("application/yaml", anchors(60)),
        "flow.yaml": lambda: BombFile("application/yaml", b"openapi: 3.0.0\npaths: " + b"[" * 1_000_000),
        "nested.json": lambda: BombFile("application/json", b'{"openapi": "3.0.0", "paths": ' + b"[" * 2_000_000),
        "quotes.md": lambda: BombFile("text/markdown", b">" * 100_000 + b"a"),
        "brackets.md": lambda: BombFile("text/markdown", b"[" * 200_000 + b"a" + b"](b)" * 100_000),
        "lists.md": lambda: BombFile("text/markdown", b"".join(b" " * level + b"- a\n" for level in range(1_500))),
        "stars.md": lambda: BombFile("text/markdown", b"*a **b _c " * 60_000),
        "feed.rss": lambda: BombFile("application/rss+xml", default_attributes(b"rss", b"item", 3_000_000)),
        "laughs.rss": lambda: BombFile("application/rss+xml", laughs(b"rss")),
        "page.xml": lambda: BombFile("application/xml", default_attributes(b"a", b"b", 3_000_000)),
        "deep.xml": lambda: BombFile("application/xml", b"<a>" * 1_000_000),
        "attributes.xml": lambda: BombFile(
            "application/xml", b"<a " + b" ".join(b"a%d='b'" % n for n in range(300_000)) + b"/>"
        ),
        "service.wsdl": lambda: BombFile(
            "application/wsdl+xml", default_attributes(b"definitions", b"port", 3_000_000)
        ),
        "nested.html": lambda: BombFile("text/html", b"<div><b><table>" * 270_000),
        "zeros.html": lambda: BombFile("text/html", gzip.compress(b"\0" * 50_000_000, 6), "gzip"),
        "words.html": lambda: BombFile("text/html", gzip.compress(b"<p>word" * 8_000_000, 6), "gzip"),
        "words.zst.html": lambda: BombFile("text/html", _zstd(b"<p>word" * 8_000_000), "zstd"),
    }
    return {name: make() for name, make in bombs.items() if not names or name in names}


def _zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.compress(data, 3)


def bomb_sitemaps() -> dict[str, bytes]:
    """Return sitemaps that are bombs, by the name of their file."""
    return {
        "attributes.xml": default_attributes(b"urlset", b"url", 4_000_000),
        "attributes.xml.gz": gzip.compress(default_attributes(b"urlset", b"url", 40_000_000), 6),
        "empty.xml.gz": gzip.compress(b"<urlset>" + b"<url/>" * 10_000_000, 6),
        "laughs.xml": laughs(b"urlset"),
        "deep.xml": b"<urlset>" + b"<url>" * 700_000,
    }


def bomb_robots(rules: int = 42_000) -> bytes:
    """Return a robots.txt with tens of thousands of rules with wildcards, and rules made of wildcards."""
    lines = b"".join(b"Allow:/*%05d\n" % number for number in range(rules - 4_000))
    return b"User-agent: *\nDisallow: /" + b"*a" * 2_000 + b"*b$\n" + lines
