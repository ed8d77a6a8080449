"""The encoding of bytes that nobody names: a guess by how well they read.

Bytes beyond ASCII stand alone in Latin texts and side by side in all others; among those the one wins whose most
frequent letters are there.
"""

import math
import re
from typing import Final

__all__ = ["detect"]

_LOOK: Final = 32_768
_HIGH: Final = re.compile(rb"[\x80-\xff]")
_PAIR: Final = re.compile(rb"[\x80-\xff]{2}|[\x81-\xfe][\x40-\x7e]")
_LEAST: Final = 0.12
"""Of the characters beyond ASCII, the part that must be among the most frequent of the language."""

_FREQUENT: Final = (
    ("shift_jis", "cp932", "のにはをたがでてとしれさあいうるすまこかなよりっンスルー、。日本"),
    ("euc-jp", "euc_jp", "のにはをたがでてとしれさあいうるすまこかなよりっンスルー、。日本"),
    ("gbk", "gb18030", "的一是不了在有人我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会，。"),
    ("big5", "big5hkscs", "的一是不了在有人我他這中大來上個國到說們為子和你地出道也時年得就那要下以生會，。"),
    ("euc-kr", "cp949", "이다는에의가고를을은하지로기사어한도인시니자서나리해라대일정"),
    ("windows-1251", "cp1251", "оеаинтсрвлкмдпуяыьг"),
    ("koi8-r", "koi8_r", "оеаинтсрвлкмдпуяыьг"),
    ("ibm866", "cp866", "оеаинтсрвлкмдпуяыьг"),
    ("iso-8859-5", "iso8859_5", "оеаинтсрвлкмдпуяыьг"),
    ("windows-1253", "cp1253", "αοιετνησρκπμυλςόί"),
    ("windows-1255", "cp1255", "יוהלאמתרבשנםעדק"),
    ("windows-1256", "cp1256", "ايلمنرتوبةعدفسقكه"),
    ("windows-874", "cp874", "านรกอเงมยลวดท่้ี"),
)
"""Encoding, codec, and the letters that its texts are full of."""


def detect(body: bytes) -> str:
    """Give the name of the encoding that bytes which are not UTF-8 are most likely in."""
    sample = body[:_LOOK]
    if b"\x1b$B" in sample or b"\x1b$@" in sample:
        return "iso-2022-jp"
    high = len(_HIGH.findall(sample))
    if high < 4 or 2 * len(_PAIR.findall(sample)) < 0.6 * high:
        return "windows-1252"
    scores = {name: _score(sample, codec, letters) for name, codec, letters in _FREQUENT}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] >= _LEAST else "windows-1252"


def _score(sample: bytes, codec: str, letters: str) -> float:
    """Give the part of the characters beyond ASCII that are among `letters`; nothing where much does not decode."""
    text = [char for char in sample.decode(codec, "replace") if char >= "\x80"]
    broken = text.count("\ufffd")
    if not text or broken > 1 + len(text) // 50:
        return 0.0
    known = set(letters)
    return sum(char in known for char in text) / len(text) / math.sqrt(math.sqrt(len(letters)))
