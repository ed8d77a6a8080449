"""Encodings: who is believed, what the labels mean, and html5lib's cases."""

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.parse.charset.decoding import charset_name, decode

SHARED = Path(__file__).parents[3] / "shared" / "data"
SUITE = SHARED / "suites" / "encoding"
PARAGRAPHS = SHARED / "ir"


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
def test_precedence_of_declarations(body: bytes, kind: str, text: str, name: str) -> None:
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
    assert charset_name(label) == name


SENTENCES = {
    "windows-1251": "Маяк стоит на самом краю скалы, и свет его виден за двадцать миль.",
    "koi8-r": "Маяк стоит на самом краю скалы, и свет его виден за двадцать миль.",
    "koi8-u": "Маяк стоїть на краю скелі, і його світло видно за двадцять миль, ґедзі й їжаки.",
    "ibm866": "Маяк стоит на самом краю скалы, и свет его виден за двадцать миль.",
    "iso-8859-5": "Маяк стоит на самом краю скалы, и свет его виден за двадцать миль.",
    "windows-1252": "Der Leuchtturm steht am äußersten Rand der Klippen, für alle Schiffe weit draußen schön sichtbar.",
    "windows-1250": "Latarnia morska stoi na samym skraju skały, a jej światło widać z dwudziestu mil, tęcza.",
    "windows-1253": "Ο φάρος στέκεται στην άκρη του βράχου και το φως του φαίνεται από είκοσι μίλια, Άγιος.",
    "windows-1254": "Deniz feneri kayalığın ucunda duruyor ve ışığı yirmi milden görülüyor, şimdi değil.",
    "windows-1255": "המגדלור עומד על קצה הצוק ואורו נראה ממרחק של עשרים מילין.",
    "windows-1256": "تقف المنارة على حافة الجرف ويُرى ضوؤها من مسافة عشرين ميلاً.",
    "windows-874": "ประภาคารตั้งอยู่บนขอบหน้าผา และมองเห็นแสงได้จากระยะยี่สิบไมล์",
    "gbk": "灯塔矗立在悬崖边上，二十英里外都能看到它的光。",
    "big5": "燈塔矗立在懸崖邊上，二十英里外都能看到它的光。",
    "shift_jis": "灯台は崖の端に立っており、その光は二十マイル先からも見える。",
    "euc-jp": "灯台は崖の端に立っており、その光は二十マイル先からも見える。",
    "euc-kr": "등대는 절벽 끝에 서 있으며 그 빛은 이십 마일 밖에서도 보인다.",
}
CODECS = {"ibm866": "cp866", "windows-874": "cp874", "shift_jis": "cp932", "euc-kr": "cp949"}


@pytest.mark.parametrize("name", SENTENCES)
def test_an_undeclared_encoding_is_detected(name: str) -> None:
    text = SENTENCES[name]
    body = text.encode(CODECS.get(name, name))
    assert decode(body, "text/plain", markup=False) == (text, name)
    links = "".join(f"<li><a href='/{number}'>{text}</a>" for number in range(30))
    page = "<html><script>" + "if (a < b) { c(); }\n" * 3_000 + f"</script><ul>{links}</ul></html>"
    assert decode(page.encode(CODECS.get(name, name)), "text/html") == (page, name)


@pytest.mark.data
@pytest.mark.parametrize(
    ("language", "codec", "least"),
    [
        ("ru", "cp1251", 98),
        ("ru", "koi8-r", 98),
        ("zh", "gb18030", 98),
        ("ar", "cp1256", 98),
        ("tr", "cp1254", 98),
        ("de", "cp1252", 98),
        ("es", "cp1252", 98),
        ("vi", "cp1258", 90),
    ],
)
def test_real_paragraphs_are_detected(language: str, codec: str, least: int) -> None:
    if not PARAGRAPHS.exists():
        pytest.skip("needs ../shared/data/ir")
    lines = (PARAGRAPHS / f"xquad_{language}" / "docs.jsonl").read_text().splitlines()[:100]
    bodies = [json.loads(line)["text"][:400].encode(codec, "ignore") for line in lines]
    bodies = [body for body in bodies if len(body) > 100 and not body.isascii()]
    right = sum(decode(body, "", markup=False)[0] == body.decode(codec) for body in bodies)
    assert 100 * right >= least * len(bodies)


@pytest.mark.parametrize(
    "piece", [b"\xe9\xa0", b"\xfe", b"\x1b$B", b"a\xe9 ", b"~{\xb0", b"<\xff", b"\0\xff", b"+AAA-\xff"]
)
def test_detection_is_bounded(piece: bytes) -> None:
    decode(b"\xe9\xe9\xe9", "", markup=False)
    begin = time.process_time()
    decode(piece * (4_000_000 // len(piece)), "", markup=False)
    assert time.process_time() - begin < 3


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
            wanted = charset_name(expected.decode())
            # The suite expects windows-1252 for plain ASCII, where UTF-8 gives the very same text.
            right += decode(body, "")[1] == wanted or (body.isascii() and wanted in {"windows-1252", "utf-8"})
    assert count > 60
    assert right == count
