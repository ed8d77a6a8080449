"""A page is found by its own words, whatever languages the rest of the index has."""

import itertools
import random
from pathlib import Path

import numpy as np
import pytest

from periplus.hashing import fingerprint_text
from periplus.index import Index, build_index
from periplus.query import QueryPlan, Scoring, find_candidates, parse_query, plan_query
from periplus.query.term_lookups import TermLookup
from periplus.records import FetchRecord, Outcome, Page
from periplus.settings import IndexSettings
from periplus.text import LANGUAGES, has_stemmer, language_number, split_text, terms_of

SENTENCES = {
    "en": ("He cares for running horses", "Cars and caring drivers", "The running of engines"),
    "es": ("Los cares corriendo por caminos", "Casas blancas y caballos corriendo", "Cartas de los niños"),
    "de": ("Die Häuser der Städte liefen", "Laufende Pferde und Autos", "Straßen mit Laternen"),
    "fr": ("Les maisons blanches couraient", "Des chevaux courants", "Une lettre des enfants"),
    "tr": ("Evlerimizden gelen çocuklar", "Koşan atlar ve arabalar", "Mektuplarımız"),
    "ru": ("Бегущие лошади на дорогах", "Белые дома городов", "Письма детей"),
    "ar": ("الخيول الراكضة في الطرق", "البيوت البيضاء", "رسائل الأطفال"),
    "zh": ("奔跑的马在路上", "白色的房子", "孩子们的信"),
    "vi": ("Những con ngựa đang chạy", "Ngôi nhà màu trắng", "Thư của trẻ em"),
}


def visit(url: str, language: str, title: str, text: str) -> FetchRecord:
    page = Page(url, title=title, text=text, language=language)
    return FetchRecord(url, fingerprint_text(url), Outcome.OK, 86_400.0, 200, page=page)


def visits(majority: str, pages: int) -> list[FetchRecord]:
    """Return one page in each language and sentence, and many more in one language."""
    own = [
        visit(f"https://{code}.test/{number}", code, f"{code} {number}", sentence)
        for code, sentences in SENTENCES.items()
        for number, sentence in enumerate(sentences)
    ]
    chance = random.Random(5)
    words = [word for sentence in SENTENCES[majority] for word in split_text(sentence)]
    more = [
        visit(f"https://many.test/{number}", majority, "", " ".join(chance.choices(words, k=12)))
        for number in range(pages)
    ]
    return own + more


@pytest.fixture(scope="module", params=[("en", 600), ("es", 600), ("zh", 600), ("en", 0)])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Return an index that is in one language for the most part, or in none, in two segments."""
    folder: Path = tmp_path_factory.mktemp("forms")
    pages = visits(*request.param)
    build_index(pages[::2], folder, IndexSettings())
    build_index(pages[1::2], folder, IndexSettings(), append=True)
    return Index.open(folder)


def plan(index: Index, words: str) -> QueryPlan:
    parsed = parse_query(words)
    assert parsed.tree is not None
    return plan_query(index, parsed.tree, Scoring())


def urls(index: Index, words: str) -> set[str]:
    found = find_candidates(index, plan(index, words), 2_000)
    rows = zip(found.segments.tolist(), found.documents.tolist(), strict=True)
    return {index.segments[segment].string("url", document) for segment, document in rows}


def pages_of(index: Index) -> dict[str, tuple[str, str]]:
    """Return the language and the text of each page by its URL."""
    pages = {}
    for segment in index.segments:
        for document in range(segment.documents):
            code = LANGUAGES[int(segment.column("language")[document])]
            pages[segment.string("url", document)] = (code, segment.text(document).decode())
    return pages


def test_every_word_of_every_page_finds_it(index: Index) -> None:
    for code, sentences in SENTENCES.items():
        for number, sentence in enumerate(sentences):
            for word in split_text(sentence):
                assert f"https://{code}.test/{number}" in urls(index, word), (code, word)
            assert f"https://{code}.test/{number}" in urls(index, " ".join(f"+{w}" for w in split_text(sentence)))
            assert f"https://{code}.test/{number}" in urls(index, f'"{sentence}"')


def test_a_word_finds_exactly_the_pages_that_have_its_stem_in_their_own_language(index: Index) -> None:
    """Against a naive scan; only the stem that most pages have for the word may be found in others too."""
    pages = pages_of(index)
    for word in ("cares", "running", "corriendo", "häuser", "maisons", "evlerimizden", "дорогах", "الأطفال", "nhà"):
        folded = split_text(word)[0]
        own = {
            url
            for url, (code, text) in pages.items()
            if set(terms_of([folded], code)) & set(terms_of(split_text(text), code))
        }
        found = urls(index, word)
        assert own <= found, word
        for url in found - own:
            code, text = pages[url]
            main = max(index.languages, key=lambda c: index.languages[c])
            assert index.languages[main] > len(pages) // 2, (word, url)
            assert terms_of([folded], main)[0] in terms_of(split_text(text), code)


def test_a_stem_of_a_minority_does_not_match_pages_of_the_majority(tmp_path: Path) -> None:
    pages = [*visits("en", 300), visit("https://en.test/car", "en", "", "A car")]
    build_index(pages, tmp_path, IndexSettings())
    index = Index.open(tmp_path)
    assert terms_of(["cares"], "es") == [b"car"]
    found = urls(index, "cares")
    assert "https://es.test/0" in found
    assert "https://en.test/car" not in found
    hit = plan(index, "cares")
    segment = index.segments[0]
    row = next(n for n in range(segment.documents) if segment.string("url", n).endswith("/car"))
    terms = [term for word in hit.words for term in word.terms]
    assert hit.excluded_terms(segment, np.array([row], np.int32))[0, terms.index(b"car")]


def test_a_word_weighs_the_same_in_whatever_language_a_page_has_it(index: Index) -> None:
    weights = {leaf.weight for leaf in plan(index, "running").leaves}
    assert len(weights) == 1


def test_an_index_in_one_language_has_one_term_for_a_word(tmp_path: Path) -> None:
    build_index([visit("https://a.test/", "en", "", "running horses")], tmp_path, IndexSettings())
    prepared = plan(Index.open(tmp_path), "running horse")
    assert [leaf.term for leaf in prepared.leaves] == [b"run", b"hors"]
    assert all(leaf.languages is None for leaf in prepared.leaves)


def test_many_languages_and_many_words_stay_within_the_leaves_of_a_program(tmp_path: Path) -> None:
    codes = [code for code in LANGUAGES if has_stemmer(code)]
    words = [word for sentences in SENTENCES.values() for sentence in sentences for word in split_text(sentence)]
    pages = [visit(f"https://{code}.test/", code, code, " ".join(words)) for code in codes]
    build_index(pages, tmp_path, IndexSettings())
    index = Index.open(tmp_path)
    for query in (" ".join(words), " AND ".join(words), '"' + " ".join(words) + '"', " OR ".join(words)):
        prepared = plan(index, query)
        assert len(prepared.leaves) <= 64
        assert prepared.notes
        assert find_candidates(index, prepared, 50).total > 0
    for a, b, c in itertools.combinations(words[:12], 3):
        assert len(urls(index, f"+{a} +{b} +{c}")) == len(codes)


def test_language_sets_of_a_segment(index: Index) -> None:
    segment = index.segments[0]
    numbers = frozenset({language_number("es"), language_number("tr")})
    chosen = segment.in_languages(numbers)
    assert chosen.tolist() == np.isin(segment.column("language"), list(numbers)).tolist()
    blocks = segment.language_blocks(numbers)
    unpacked = np.unpackbits(blocks.view(np.uint8), bitorder="little")[: segment.documents]
    assert unpacked.astype(bool).tolist() == chosen.tolist()
    documents = np.arange(segment.documents, dtype=np.int32)[::-1].copy()
    assert segment.are_in_languages(numbers, documents).tolist() == chosen[::-1].tolist()
    assert segment.documents_in_languages(numbers).tolist() == np.flatnonzero(chosen).tolist()


def test_terms_are_looked_up_in_the_documents_of_some_languages(index: Index) -> None:
    """Against a naive scan of the stored texts."""
    lookup = TermLookup(index)
    languages = [frozenset({language_number("fr"), language_number("ru")}), frozenset({language_number("tr")})]
    sentences = [*SENTENCES["fr"], *SENTENCES["tr"], *SENTENCES["en"]]
    words = [word for sentence in sentences for word in split_text(sentence)]
    terms = sorted({*terms_of(words, "fr"), *terms_of(words, "tr")})
    pages = pages_of(index).values()
    expected = [
        any(language_number(code) in numbers and term in terms_of(split_text(text), code) for code, text in pages)
        for numbers in languages
        for term in terms
    ]
    groups = [number for number in range(len(languages)) for _ in terms]
    assert lookup.any_has(terms * len(languages), groups, languages).tolist() == expected
    assert 0 < sum(expected) < len(expected)
