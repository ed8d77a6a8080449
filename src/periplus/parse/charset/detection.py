"""The encoding of bytes that do not declare one: chardet's guess among the encodings of the web.

Only text beyond ASCII is examined, and only a bounded part of it: markup says nothing about the encoding.
"""

import re
from typing import Final

__all__ = ["detect_charset"]

_MAX_BYTES: Final = 32_768
"""Bytes that are examined, from the first that is not ASCII."""
_MAX_SAMPLE: Final = 16_384
"""Bytes of text that are passed to chardet."""
_MIN_HIGH: Final = 3
"""With fewer bytes beyond ASCII, the most common encoding is the best guess."""
_DEFAULT: Final = "windows-1252"
_HIGH: Final = re.compile(rb"[\x80-\xff]")
_MARKUP: Final = re.compile(rb"[<>]")
"""No encoding but ISO-2022-JP has these bytes within a character."""
_ENCODINGS: Final = {
    "big5hkscs": "big5",
    "cp1250": "windows-1250",
    "cp1251": "windows-1251",
    "cp1252": "windows-1252",
    "cp1253": "windows-1253",
    "cp1254": "windows-1254",
    "cp1255": "windows-1255",
    "cp1256": "windows-1256",
    "cp1257": "windows-1257",
    "cp1258": "windows-1258",
    "cp866": "ibm866",
    "cp874": "windows-874",
    "cp932": "shift_jis",
    "cp949": "euc-kr",
    "euc_jis_2004": "euc-jp",
    "gb18030": "gbk",
    "iso8859-2": "iso-8859-2",
    "iso8859-5": "iso-8859-5",
    "iso8859-6": "iso-8859-6",
    "iso8859-7": "iso-8859-7",
    "koi8-r": "koi8-r",
    "koi8-u": "koi8-u",
}
"""By chardet's names, those of the Encoding Standard that pages without a declaration are written in."""


def detect_charset(body: bytes) -> str:
    """Return the name of the encoding that bytes which are not UTF-8 are most likely in."""
    start = body[:_MAX_BYTES]
    if b"\x1b$B" in start or b"\x1b$@" in start:
        return "iso-2022-jp"
    first = _HIGH.search(body)
    if first is None:
        return _DEFAULT
    texts = _MARKUP.split(body[first.start() : first.start() + _MAX_BYTES])
    sample = b" ".join(text for text in texts if not text.isascii())[:_MAX_SAMPLE]
    return _guess(sample) if len(_HIGH.findall(sample)) >= _MIN_HIGH else _DEFAULT


def _guess(sample: bytes) -> str:
    # Most pages are UTF-8 or declare their encoding: the models are loaded when they are first needed.
    import chardet

    guess = chardet.detect(sample, include_encodings=_ENCODINGS, compat_names=False)
    return _ENCODINGS.get(guess["encoding"] or "", _DEFAULT)
