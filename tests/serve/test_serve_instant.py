"""Arithmetic and units, and everything that only looks like them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.serve.instant.instant_answers import instant_answer


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("2+3*4", "2+3*4 = 14"),
        ("(2 + 3) × 4 =", "(2 + 3) × 4 = 20"),
        ("-3^2", "-3^2 = −9"),
        ("2^3^2", "2^3^2 = 512"),
        ("17% of 80", "17% of 80 = 13.6"),
        ("1,000 / 8", "1,000 / 8 = 125"),
        ("sqrt(2)", "sqrt(2) = 1.414213562"),
        ("10 - 4", "10 - 4 = 6"),
        ("0.1+0.2", "0.1+0.2 = 0.3"),
        ("5 km in miles", "5 km = 3.106855961 mi"),
        ("72 f to c", "72 °F = 22.22222222 °C"),
        ("1,000 kg in lb", "1,000 kg = 2,204.622622 lb"),
        ("2,5 l in ml", "2.5 l = 2,500 ml"),
        ("1 GiB in MB", "1 GiB = 1,073.741824 MB"),
        ("-40 c in f", "−40 °C = −40 °F"),
    ],
)
def test_what_is_answered(words: str, text: str) -> None:
    found = instant_answer(words)
    assert found is not None
    assert found.text == text


@pytest.mark.parametrize(
    "words",
    [
        *("", "1984", "lighthouse", "2024-05-01", "covid-19", "c++ 11", "5 km", "5 km in kg", "5 parsec in m", "1/0"),
        *("9^9^9^9", "(" * 100 + "1", "1+" * 60, "e", "pi", "sqrt(-1)", "7 up", "555-1234-99", "1e999*1", "0^-1"),
        *("__import__('os')", "1 if 1 else 2", "in in in", "1 in in"),
    ],
)
def test_what_is_not(words: str) -> None:
    assert instant_answer(words) is None


@given(st.text("0123456789.,+-*/^%() sqrtincomkgfe", max_size=120))
def test_anything_typed_is_answered_or_not(words: str) -> None:
    found = instant_answer(words)
    assert found is None or "=" in found.text
