"""Words analysed once for an index: the same as analysed anew, bounded, and gone with the generation."""

import random
from pathlib import Path

import pytest

from periplus.hashing import fingerprint_text
from periplus.index import Index, build_index, title_key
from periplus.query.forms import word_analysis
from periplus.query.forms.term_forms import TermForm, WordForms
from periplus.query.term_lookups import TermLookup
from periplus.records import FetchRecord, Outcome, Page
from periplus.settings import IndexSettings
from periplus.text import LANGUAGES, has_stemmer, language_number, terms_of

TEXTS = {
    "en": "he cares for running horses and the houses of cars the end",
    "es": "los cares corriendo por caminos de casas blancas",
    "de": "die Häuser der Städte liefen mit laufenden Pferden",
    "fr": "les maisons blanches couraient avec des chevaux",
    "zh": "white 奔跑的马在路上",
    "vi": "the running ngựa",
}
WORDS = sorted({word for text in TEXTS.values() for word in text.casefold().split()} | {"absent", "house", "end"})


def visit(number: int, code: str, text: str) -> FetchRecord:
    url = f"https://site.test/{number}"
    return FetchRecord(url, fingerprint_text(url), Outcome.OK, 0.0, 200, page=Page(url, text=text, language=code))


def visits(pages: int, seed: int = 1) -> list[FetchRecord]:
    chance = random.Random(seed)
    many = [visit(n, "en", " ".join(chance.choices(TEXTS["en"].split(), k=8))) for n in range(1000, 1000 + pages)]
    return [visit(n, code, text) for n, (code, text) in enumerate(TEXTS.items())] + many


@pytest.fixture(params=[0, 90])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Index:
    build_index(visits(request.param), tmp_path, IndexSettings())
    return Index.open(tmp_path)


def naive_languages(index: Index, words: list[str]) -> dict[str, list[int]]:
    """Return the languages, by the code of their stemmers, of which some page may have all words."""
    groups: dict[str, list[int]] = {}
    for code in sorted(index.languages, key=lambda code: -index.languages[code]):
        groups.setdefault(code if has_stemmer(code) else "", []).append(language_number(code))
    chosen = {}
    for code, numbers in groups.items():
        pages = sum(index.languages[LANGUAGES[number]] for number in numbers)
        rows = [n for n, own in enumerate(index.segments[0].column("language").tolist()) if own in numbers]
        tokens = {
            term for row in rows for term in terms_of(index.segments[0].text(row).decode().casefold().split(), code)
        }
        if pages > 32 or all(term in tokens for term in terms_of(words, code)):
            chosen[code] = numbers
    return chosen or {next(iter(groups)): groups[next(iter(groups))]}


def naive_forms(index: Index, word: str) -> tuple[TermForm, ...]:
    languages: dict[bytes, list[int]] = {}
    groups = naive_languages(index, [word])
    for code, numbers in groups.items():
        languages.setdefault(terms_of([word], code)[0], []).extend(numbers)
    if len(groups) == 1:
        return (TermForm(next(iter(languages))),)
    pages = {term: sum(index.languages[LANGUAGES[n]] for n in numbers) for term, numbers in languages.items()}
    ordered = sorted(languages, key=lambda term: -pages[term])
    chosen = [term for term in ordered if index.document_frequency(term)] or ordered[:1]
    half = index.documents / 2
    return tuple(TermForm(term, None if pages[term] >= half else frozenset(languages[term])) for term in chosen)


def forms_of(index: Index) -> WordForms:
    return WordForms(index, TermLookup(index))


def test_forms_are_those_of_a_naive_analysis_new_and_cached(index: Index) -> None:
    expected = {word: naive_forms(index, word) for word in WORDS}
    for _ in range(2):
        forms = forms_of(index)
        assert {word: forms.forms(word) for word in WORDS} == expected


def test_title_keys_are_those_of_each_language(index: Index) -> None:
    chance = random.Random(3)
    for _ in range(60):
        words = chance.choices(WORDS, k=chance.randint(1, 4))
        expected = [
            title_key(words, terms_of(words, code), LANGUAGES[number])
            for code, numbers in naive_languages(index, words).items()
            for number in numbers
        ]
        assert forms_of(index).title_keys(words) == tuple(dict.fromkeys(expected))


def test_the_table_is_bounded(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {word: forms_of(index).forms(word) for word in WORDS}
    monkeypatch.setattr(word_analysis, "_MAX_ANALYZED", 5)
    languages = word_analysis.IndexLanguages(index)
    monkeypatch.setitem(word_analysis._LANGUAGES, index, languages)
    for word in WORDS:
        assert forms_of(index).forms(word) == expected[word]
        assert len(languages._words) <= 5
        assert len(languages._sets) <= 5
    forms = forms_of(index)
    forms.prepare(WORDS)  # More at once than the table has room for: the query still has all of them.
    assert {word: forms.forms(word) for word in WORDS} == expected


def test_a_new_generation_is_analysed_anew(tmp_path: Path) -> None:
    build_index(visits(0), tmp_path, IndexSettings())
    before = Index.open(tmp_path)
    assert (forms_of(before).frequency("horses"), forms_of(before).frequency("novel")) == (1, 0)
    build_index([visit(99, "en", "horses in a novel")], tmp_path, IndexSettings(), append=True)
    after = Index.open(tmp_path, previous=before)
    assert (forms_of(after).frequency("horses"), forms_of(after).frequency("novel")) == (2, 1)
    assert forms_of(before).frequency("novel") == 0
