"""Fuzzing of the HTML parser: pieces of real cases, cut, joined and damaged.

.venv/bin/python tests/parse/fuzz_html.py [COUNT] [SEED]
"""

import random
import sys
import time
from collections.abc import Iterator

from periplus.parse.html.flat_page import RowKind, parse_flat_page
from periplus.parse.html.main_content import scan_html_blocks
from periplus.parse.kernels.html_state import ROW_BEGIN, ROW_END

MARKUP = """
<p> </p> <a href= <a> </a> ' " > < = / x <b> </b> <i> </i> <table> </table> <tr> <td> </td> <caption> <svg> </svg>
<math> <mi> <foreignObject> <!-- --> --!> <!doctype <![CDATA[ ]]> <script> </script> <style> </style> <title> </title>
<select> <option> </select> <template> </template> <textarea> <plaintext> <frameset> <noframes> <base href=//h>
&#0; &#xD800; &amp &notin; &ngE; & &# <h1> </h1> <li> <dd> <ul> <img src=x alt= <meta content= hidden <form> </form>
<button> <nobr> <object> </object> <body> </body> <html lang=en> </html> </br> <br/> <x-y> </x-y> <?
"""
LONG = [
    "a run of words that is longer than what is looked at in one go, twice over, and then some more of it",
    "words that are  parted by two  spaces,\tby a tab and by  &amp; references, for quite a while, é — and on",
    "<a href='/a/path/that/is/long/enough/to/be/copied/in/lanes?with=1&amp;a=2&b=3\r\n#and-a-fragment' title=\"t\">",
    "<div itemprop=name style='position:absolute; left: -9999px; display:none' class='c'>",
    "<meta itemprop=description content='a description that is kept twice, once for itself and once as microdata'>",
    "<figure><img src=x><figcaption>c</figcaption></figure><video src=v poster=p><track src=t label=l>",
    "<table class=infobox><script type=application/ld+json>",
]
PIECES = [
    *LONG,
    *MARKUP.split(),
    "\0",
    "\t",
    "\n",
    " ",
    " ",
    " ",
    "é",
    "\u00a0",
    "\ufeff",
    "\u2003",
    "😀",
    "\r\n",
    "text ",
]


def pages(count: int, seed: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    for _ in range(count):
        page = "".join(chance.choices(PIECES, k=chance.randint(1, 40))).encode()
        if chance.random() < 0.3:
            at = chance.randrange(len(page))
            page = page[:at] + bytes([chance.randrange(128)]) + page[at + chance.randint(0, 3) :]
        yield page.decode("utf-8", "replace").encode()


def check(page: bytes) -> None:
    """Scan a page, and check the invariants of the result."""
    flat = parse_flat_page(page, max_depth=16 if len(page) % 7 == 0 else 512)
    text = flat.text
    assert text == text.strip()
    assert "  " not in text
    assert "\n\n" not in text
    assert len(text) <= 3 * len(page)
    for kind in (RowKind.LINK, RowKind.HEADING, RowKind.EMPHASIS):
        for row in flat.rows(kind):
            assert 0 <= row[ROW_BEGIN] <= row[ROW_END]
            flat.row_text(row, 100)
            flat.value(row, 0)
        assert len(flat.texts(kind)) == len(list(flat.triples(kind))) == len(flat.rows(kind))
    blocks = scan_html_blocks(page)
    begin, end = flat.text_spans(blocks.begin, blocks.end)
    assert ((begin >= 0) & (begin <= end) & (end <= len(text))).all()


def fuzz(count: int, seed: int = 1) -> None:
    for page in pages(count, seed):
        try:
            check(page)
        except Exception as error:
            raise AssertionError(page) from error


if __name__ == "__main__":
    began = time.monotonic()
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    fuzz(number, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print(f"{number:,} pages read, none failed, {time.monotonic() - began:.0f} s")
