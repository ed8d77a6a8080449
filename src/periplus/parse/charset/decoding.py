"""Bytes to text: the encoding of a page, by the labels and the order of the WHATWG standards.

The order: byte order mark, Content-Type header, <meta>, valid UTF-8, and detection where nothing is declared.
"""

import codecs
from typing import Final

from periplus.parse.charset.detection import detect_charset
from periplus.parse.charset.prescan import charset_label, prescan

__all__ = ["charset_name", "decode", "decode_to_utf8"]

_ENCODINGS: Final = """
utf-8 utf-8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf8 x-unicode20utf8
ibm866 cp866 866 csibm866
iso-8859-2 iso8859_2 csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2
iso-8859-3 iso8859_3 csisolatin3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3
iso-8859-4 iso8859_4 csisolatin4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4
iso-8859-5 iso8859_5 csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988
iso-8859-6 iso8859_6 arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e iso-8859-6-i \
iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
iso-8859-7 iso8859_7 csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso88597 iso_8859-7 \
iso_8859-7:1987 sun_eu_greek
iso-8859-8 iso8859_8 csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 \
iso_8859-8:1988 visual csiso88598i iso-8859-8-i logical
iso-8859-10 iso8859_10 csisolatin6 iso-ir-157 iso8859-10 iso885910 l6 latin6
iso-8859-13 iso8859_13 iso8859-13 iso885913
iso-8859-14 iso8859_14 iso8859-14 iso885914
iso-8859-15 iso8859_15 csisolatin9 iso8859-15 iso885915 iso_8859-15 l9
iso-8859-16 iso8859_16
koi8-r koi8_r cskoi8r koi koi8 koi8_r
koi8-u koi8_u koi8-ru
macintosh mac_roman csmacintosh mac x-mac-roman
windows-874 cp874 dos-874 iso-8859-11 iso8859-11 iso885911 tis-620
windows-1250 cp1250 cp1250 x-cp1250
windows-1251 cp1251 cp1251 x-cp1251
windows-1252 cp1252 ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 \
iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii x-cp1252
windows-1253 cp1253 cp1253 x-cp1253
windows-1254 cp1254 cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 \
x-cp1254
windows-1255 cp1255 cp1255 x-cp1255
windows-1256 cp1256 cp1256 x-cp1256
windows-1257 cp1257 cp1257 x-cp1257
windows-1258 cp1258 cp1258 x-cp1258
x-mac-cyrillic mac_cyrillic x-mac-ukrainian
gbk gb18030 chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk
gb18030 gb18030
big5 big5hkscs big5-hkscs cn-big5 csbig5 x-x-big5
euc-jp euc_jp cseucpkdfmtjapanese x-euc-jp
iso-2022-jp iso2022_jp csiso2022jp
shift_jis cp932 csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis
euc-kr cp949 cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949
utf-16be utf_16_be unicodefffe
utf-16le utf_16_le csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16
"""
"""A line for each encoding: its name, Python's codec, other labels."""

_NAMES: Final[dict[str, str]] = {}
_CODECS: Final[dict[str, str]] = {}
for _line in _ENCODINGS.strip().splitlines():
    _name, _codec, *_labels = _line.split()
    _CODECS[_name] = _codec
    _NAMES.update(dict.fromkeys([_name, *_labels], _name))

_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_BE, "utf-16be"), (codecs.BOM_UTF16_LE, "utf-16le"))


def charset_name(label: str) -> str:
    """Return the standard's name for an encoding label, or '' if there is no such encoding."""
    return _NAMES.get(label.strip(" \t\n\f\r").lower(), "")


def decode(body: bytes, content_type: str, *, markup: bool = True) -> tuple[str, str]:
    """Return the text of `body` and the name of its encoding. Invalid bytes become U+FFFD."""
    body, name = _identify_encoding(body, content_type, markup)
    return body.decode(_CODECS[name], "replace"), name


def decode_to_utf8(body: bytes, content_type: str) -> tuple[bytes, str]:
    """Return a page as UTF-8, and the name of the encoding it was in."""
    body, name = _identify_encoding(body, content_type, True)
    if name == "utf-8" and body.isascii():
        return body, name
    text = body.decode(_CODECS[name], "replace")
    if name == "utf-8" and "\ufffd" not in text:
        return body, name
    return text.encode("utf-8", "replace"), name


def _identify_encoding(body: bytes, content_type: str, markup: bool) -> tuple[bytes, str]:
    """Return the body without its byte order mark, and the name of its encoding."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :], name
    name = charset_name(charset_label(content_type)) or (_declared_in_meta(body) if markup else "")
    if name:
        return body, name
    return body, "utf-8" if _is_utf8(body) else detect_charset(body)


def _is_utf8(body: bytes) -> bool:
    """Return whether the body is UTF-8, a truncated last character aside."""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


def _declared_in_meta(body: bytes) -> str:
    for label in prescan(body):
        name = charset_name(label)
        if name:
            # A declaration that could be read as ASCII cannot have been in UTF-16.
            return "utf-8" if name.startswith("utf-16") and not body.startswith((b"<\0", b"\0<")) else name
        if label.strip(" \t\n\f\r").lower() == "x-user-defined":
            return "windows-1252"
    return ""
