"""The languages of the interface: complete, chosen as the browser says, and never in the way of safety."""

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from asgi_caller import get
from babel import Locale
from babel.dates import format_datetime, format_timedelta
from babel.numbers import format_decimal
from fake_searcher import FakeSearcher
from hypothesis import given
from hypothesis import strategies as st

import periplus.serve
from periplus.app.administration.health_advice import Advice, advise
from periplus.app.administration.job_schedule import ScheduledJob
from periplus.health import PartHealth
from periplus.records import ResultPage
from periplus.search.presentation.card_types import _WANTED as CARD_TYPES
from periplus.search.presentation.card_types import FACT_LABELS
from periplus.serve import make_app
from periplus.serve.instant.weather import _SKIES
from periplus.serve.pages.locales import LOCALES, choose_locale, load_locale
from periplus.serve.pages.media_tab import _NAMES
from periplus.serve.pages.reason_labels import LABELS
from periplus.serve.pages.site_pages import _REASONS
from periplus.settings import ServeSettings, Settings

APP = make_app(FakeSearcher(), ServeSettings(threads=1))
OTHERS = [code for code in LOCALES if code != "en"]
FOLDER = Path(periplus.serve.__file__).parent / "templates"
NOTED = ("query", "search", "app/administration")
"""Packages whose texts are translated by what varies in them."""


def translated_texts() -> set[str]:
    """Every text that a template or a module of the package translates."""
    texts = set()
    call = re.compile(r"""(?:\b_|translate|translate_escaped)\(\s*(?:"([^"]*)"|'([^']*)')""")
    for path in (*FOLDER.glob("*.html"), *FOLDER.parent.rglob("*.py")):
        texts |= {match[1] or match[2] for match in call.finditer(path.read_text("utf-8"))}
    return (
        texts
        | set(_REASONS.values())
        | {name for _, name in _SKIES}
        | set(_NAMES.values())
        | {"today", "yesterday", *LABELS, *FACT_LABELS.values(), *CARD_TYPES}
    )


@pytest.mark.parametrize("code", OTHERS)
def test_every_text_is_there_with_its_places(code: str) -> None:
    catalog = load_locale(code)._catalog
    assert translated_texts() - set(catalog.text) == set()
    for english, other in catalog.text.items():
        assert sorted(re.findall(r"\{\w+\}", english)) == sorted(re.findall(r"\{\w+\}", other)), english
    assert len(catalog.months) == 12


def every_advice(folder: Path) -> list[Advice]:
    """What the health page says in all situations."""
    stopped = {"state": "stopped", "pages": 3, "waiting": 5, "fetched": 200, "errors": {"gone": 150}, "when": 1.0}
    crawls: list[dict[str, Any]] = [{}, stopped, {"state": "paused", "pages": 3}, {"paused": "the disk is full."}]
    crawls += [{"state": "running", "running": True, "rate": 1.5}, {"state": "stopped", "pages": 10**9, "waiting": 1}]
    crawls.append({"state": "stopped", "pages": 3})
    failing = PartHealth("search", 5, 5, 1.0, "No room.")
    jobs = [ScheduledJob("build", failed=True, result="No room.")]
    for name, when in (("index", 1), ("store", 100_000)):
        (folder / name).mkdir()
        (folder / name / "manifest.json").touch()
        os.utime(folder / name / "manifest.json", (when, when))
    found = [
        one
        for crawl in crawls
        for documents in (0, 7)
        for one in advise(folder, Settings(), crawl, documents, jobs, [failing], 2)
    ]
    os.utime(folder / "index" / "manifest.json", (100_000, 100_000))
    return [*found, *advise(folder, Settings(), {}, 7, (), (), 0)]


def test_the_health_page_is_in_every_language(tmp_path: Path) -> None:
    texts = {text for one in every_advice(tmp_path) for text in (one.name, one.text, one.action) if text}
    assert len(texts) > 35
    for code in OTHERS:
        assert {text for text in texts if load_locale(code).translate_note(text) == text} <= {
            "Index",
            "Crawl",
            "Contact",
        }


@pytest.mark.parametrize(
    ("accepted", "code"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-CH,fr;q=0.9", "de"),
        ("nl,fr;q=0.5,es;q=0.7", "es"),
        ("fr;q=0,de;q=0.1", "de"),
        ("*", "en"),
        ("x" * 5000, "en"),
        ("fr;q=abc", "en"),
    ],
)
def test_the_browser_chooses(accepted: str, code: str) -> None:
    assert choose_locale({}, accepted).code == code
    assert choose_locale({"hl": "es"}, accepted).code == "es"
    assert choose_locale({"hl": "../x"}, accepted).code == code


@given(st.text(max_size=100))
def test_any_header_will_do(accepted: str) -> None:
    assert choose_locale({}, accepted).code in LOCALES


@pytest.mark.parametrize(
    ("code", "count"),
    [("de", "Etwa 12.300 Ergebnisse in 3,1 ms"), ("fr", "Environ 12\u202f300 résultats en 3,1 ms")],
)
def test_a_page_in_another_language(code: str, count: str) -> None:
    app = make_app(FakeSearcher(total=12_300), ServeSettings(threads=1))
    text = get(app, "/search?q=salt", headers={"accept-language": code}).text
    assert f'<html lang="{code}">' in text
    assert count in text
    assert 'lang="en"' in text.split("<main")[1], "results in English say so"
    kept = get(app, f"/search?q=salt&hl={code}").text
    assert f"&amp;hl={code}" in kept.split("Services")[0] or f"hl={code}" in kept, "links keep the language"


@pytest.mark.parametrize("code", list(LOCALES))
def test_numbers_dates_and_plurals_are_those_of_cldr(code: str) -> None:
    language, cldr = load_locale(code), Locale.parse(code)
    for number in (0, 1, 2, 21, 999, 1_000, 12_345, 9_876_543):
        assert language.number(number) == format_decimal(number, locale=cldr)
        one, many = language.count(1, "page").split()[1], language.count(2, "page").split()[1]
        assert language.count(number, "page").split()[-1] == (one if cldr.plural_form(number) == "one" else many)
    assert language.size(1_400_000) == format_decimal(1.4, locale=cldr) + " MB"
    for month in range(1, 13):
        when = datetime(2026, month, 5, 8, 21, tzinfo=UTC)
        form = {"de": "d. MMMM y", "es": "d 'de' MMMM 'de' y"}.get(code, "d MMMM y")
        assert language.date(when.timestamp()) == format_datetime(when, f"{form}, HH:mm 'UTC'", locale=cldr)
    for seconds in (1, 40, 60, 600, 3_600, 7_200, 86_400, 3 * 86_400, 60 * 86_400, 800 * 86_400):
        ago = format_timedelta(timedelta(seconds=-seconds), add_direction=True, threshold=1, locale=cldr)
        assert language.ago(seconds) == ago


@pytest.mark.parametrize(
    "target", ["/", "/about", "/add", "/why-not?url=https://coast.example/", "/settings", "/api", "/admin"]
)
@pytest.mark.parametrize("code", list(LOCALES))
def test_every_page_in_every_language(target: str, code: str) -> None:
    answer = get(APP, target, headers={"accept-language": code})
    assert answer.status == 200
    assert f'<html lang="{code}">' in answer.text
    assert "{" not in re.sub(r"<pre>.*?</pre>|<code>.*?</code>|data-text=\"[^\"]*\"", "", answer.text, flags=re.DOTALL)


NOTES = (
    'No page has "deep sea" together with "moon"; showing pages with the words instead.',
    'No page has "{deep} (sea)"; showing pages with the words instead.',
    'No page has "salt" together with the required words; showing pages without.',
    "No page has all of the required words; showing pages with some of them.",
    'No page has "zibble" or "quux": left out of the search.',
    'No page has "zibble".',
    "The index has no pages of that time.",
    "The index has no pages of coast.example.",
    "lang:qq was ignored: it is not a language code that Periplus knows.",
    "sa* stands for its 256 most frequent words of 1,204.",
)


@pytest.mark.parametrize("code", OTHERS)
def test_notes_on_queries_are_translated(code: str) -> None:
    locale = load_locale(code)
    translated = [locale.translate_note(note) for note in NOTES]
    assert all(note not in NOTES for note in translated), translated
    assert len(set(translated)) == len(NOTES)
    assert '"{deep} (sea)"' in translated[1]
    assert locale.translate_note("Something else.") == "Something else."
    catalog = locale._catalog.notes
    assert list(catalog) == list(load_locale(OTHERS[0])._catalog.notes)
    for english, other in catalog.items():
        assert sorted(re.findall(r"\{\w+\}", english)) == sorted(re.findall(r"\{\w+\}", other)), english
        assert locale.translate_note(re.sub(r"\{\w+\}", "x", english)) == re.sub(r"\{\w+\}", "x", other), english


def test_notes_are_those_of_the_source() -> None:
    """A text that changes in the source changes in the translations, too."""
    package = Path(periplus.serve.__file__).parents[1]
    source = "".join(path.read_text("utf-8") for part in NOTED for path in (package / part).rglob("*.py"))
    for english in load_locale(OTHERS[0])._catalog.notes:
        pieces = [
            piece for piece in re.split(r"\{\w+\}|words of|numbers of|was \w[\w ]*: ", english) if len(piece) > 12
        ]
        assert [piece for piece in pieces if piece.strip(" .:'") not in source] == []


def test_a_note_is_shown_in_the_language_of_the_page() -> None:
    note = 'No page has "<b>": left out of the search.'
    searcher = FakeSearcher(answer=lambda query: ResultPage(query, (), 0, True, False, 0.1, 10, (note,)))
    text = get(make_app(searcher, ServeSettings(threads=1)), "/search?q=x&hl=de").text
    assert "Keine Seite hat &#34;&lt;b&gt;&#34;: bei der Suche weggelassen." in text
