"""Encodings: who is believed, what the labels mean, and html5lib's cases."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.parse.charset.decoding import charset_of_label, decode

SUITE = Path(__file__).parents[3] / "shared" / "data" / "suites" / "encoding"


@pytest.mark.parametrize(
    ("body", "kind", "text", "name"),
    [
        ("grün".encode(), "", "grün", "utf-8"),
        ("grün".encode("latin-1"), "", "grün", "windows-1252"),
        (b"\x80uro", "text/html; charset=ISO-8859-1", "€uro", "windows-1252"),
        ("мир".encode("cp1251"), 'text/html; charset="windows-1251"', "мир", "windows-1251"),
        ("мир".encode("koi8-r"), "text/html; charset=KOI8-R", "мир", "koi8-r"),
        ("日本".encode("shift_jis"), "text/html;charset=x-sjis", "日本", "shift_jis"),
        ("日本".encode("euc_jp"), "text/html;charset=euc-jp", "日本", "euc-jp"),
        ("中文".encode("gbk"), "text/html;charset=gb2312", "中文", "gbk"),
        ("한국".encode("cp949"), "text/html;charset=ks_c_5601-1987", "한국", "euc-kr"),
        (b"\xef\xbb\xbfx\xc3\xa4", "text/html;charset=latin1", "xä", "utf-8"),
        ("xä".encode("utf-16"), "text/html;charset=latin1", "xä", "utf-16le"),
        (b"x\xff", "text/html;charset=utf-8", "x\ufffd", "utf-8"),
        (b"x\xc3", "", "x\ufffd", "utf-8"),
        (b"x", "text/html; charset=nonsense", "x", "utf-8"),
    ],
)
def test_who_is_believed(body: bytes, kind: str, text: str, name: str) -> None:
    assert decode(body, kind) == (text, name)


@pytest.mark.parametrize(
    "meta",
    [
        b"<meta charset=windows-1251>",
        b"<META http-equiv='Content-Type' content='text/html; charset=windows-1251'>",
        b'<!-- <meta charset=utf-8> --><meta charset = "CP1251">',
    ],
)
def test_meta(meta: bytes) -> None:
    assert decode(meta + "мир".encode("cp1251"), "text/html")[1] == "windows-1251"
    assert decode(meta + "мир".encode(), "text/html; charset=utf-8")[1] == "utf-8"
    assert decode(meta, "", markup=False)[1] == "utf-8"


@pytest.mark.parametrize(
    ("label", "name"), [(" Latin1 ", "windows-1252"), ("UTF8", "utf-8"), ("utf-7", ""), ("zip", ""), ("idna", "")]
)
def test_labels(label: str, name: str) -> None:
    assert charset_of_label(label) == name


@given(st.binary(), st.text(max_size=30).map(lambda label: f"text/html; charset={label}"))
def test_any_bytes_decode(body: bytes, kind: str) -> None:
    text, _ = decode(body, kind)
    text.encode("utf-8")


@pytest.mark.data
def test_public_cases() -> None:
    if not SUITE.exists():
        pytest.skip("needs ../shared/data/suites/encoding")
    count = right = 0
    for path in sorted(SUITE.glob("*.dat")):
        for body, expected in re.findall(rb"#data\n(.*?)\n#encoding\n([^\n]+)\n", path.read_bytes(), re.DOTALL):
            count += 1
            wanted = charset_of_label(expected.decode())
            # The suite expects windows-1252 for plain ASCII, where UTF-8 gives the very same text.
            right += decode(body, "")[1] == wanted or (body.isascii() and wanted in {"windows-1252", "utf-8"})
    assert count > 60
    assert right == count
