"""Languages, stems and stop words."""

import json
from pathlib import Path

import pytest

from periplus.text import LANGUAGES, detect_language, is_stop_word, language_number, stem, terms_of


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The ship was at the harbour and the fog was thick", "en"),
        ("Das Schiff lag im Hafen und der Nebel war dicht", "de"),
        ("Le navire était dans le port et la brume était épaisse", "fr"),
        ("El barco estaba en el puerto y la niebla era muy densa", "es"),
        ("船は港にあり、霧が濃かった", "ja"),
        ("船在港口，雾很浓", "zh"),
        ("Корабль был в порту, и туман был густой", "ru"),
        ("كانت السفينة في الميناء وكان الضباب كثيفا", "ar"),
        ("배는 항구에 있었고 안개가 짙었다", "ko"),
        ("12345 67890", ""),
        ("", ""),
    ],
)
def test_languages_are_told_apart(text: str, code: str) -> None:
    assert detect_language(text) == code


@pytest.mark.data
@pytest.mark.parametrize("code", ["en", "de", "es", "ar", "zh"])
def test_real_paragraphs_are_told_apart(shared_data: Path, code: str) -> None:
    lines = (shared_data / "ir" / f"xquad_{code}" / "docs.jsonl").read_text("utf-8").splitlines()
    right = sum(detect_language(json.loads(line)["text"]) == code for line in lines)
    assert right >= 0.98 * len(lines)


def test_numbers_of_languages_never_change() -> None:
    assert [LANGUAGES[n] for n in (0, 1, 2, 3, 4, 17)] == ["", "en", "de", "fr", "es", "el"]
    assert language_number("EN-gb") == 1
    assert language_number("xx") == language_number("") == 0


def test_stems_are_those_of_the_language() -> None:
    assert stem("running", "en") == "run"
    assert stem("running", "zh") == "running"
    assert terms_of(["häuser", "sailing"], "en") == ["häuser".encode(), b"sail"]


def test_stop_words_are_those_of_the_language() -> None:
    assert is_stop_word("the")
    assert not is_stop_word("die")
    assert is_stop_word("die", "de")
    assert not is_stop_word("the", "xx")
