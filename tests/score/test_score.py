"""Query-independent scorers of URLs, pages and links, and their weights files."""

import random
from pathlib import Path

import numpy as np
import pytest

from naive.page_features import measure_text
from periplus.errors import SettingsError
from periplus.records import Page, PageFlag
from periplus.score import (
    CRAWL_FEATURES,
    SCORERS,
    STATIC_FEATURES,
    LinearScorer,
    LinkScorer,
    PageScorer,
    UrlScorer,
    read_weights,
    sample_page,
    shipped_weights,
)
from periplus.score.kernels import page_features
from periplus.score.letter_profiles import language_profiles
from periplus.text import LANGUAGES
from periplus.url import parse_address

TEXTS = {
    "en": "The harbour was quiet when the boats came in, and nobody on the quay had anything to say about the storm.",
    "de": "Der Hafen war still, als die Boote einliefen, und niemand am Ufer wollte über den Sturm noch etwas sagen.",
    "fr": "Le port était calme quand les bateaux sont rentrés, et personne sur le quai ne voulait en parler.",
    "es": "El puerto estaba tranquilo cuando entraron los barcos, y nadie en el muelle quería hablar de la tormenta.",
    "ru": "Гавань была тиха, когда вошли лодки, и никто на берегу не хотел говорить о буре, которая прошла ночью.",
    "el": "Το λιμάνι ήταν ήσυχο όταν μπήκαν οι βάρκες, και κανείς στην προκυμαία δεν ήθελε να μιλήσει.",
    "zh": "船进港的时候港口很安静，码头上没有人想谈论昨夜的暴风雨。",
    "ja": "船が港に入ったとき、港は静かで、岸壁の誰もが嵐のことを話そうとしなかった。",
}


def page(text: str, language: str = "en", **more: object) -> Page:
    return Page("https://a.example/x", title="A quiet harbour", text=text, language=language, **more)  # type: ignore[arg-type]


def test_kernel_and_naive_counts_agree() -> None:
    chance = random.Random(4)
    profiles = language_profiles()
    for _ in range(60):
        text = "".join(chance.choice([*"".join(TEXTS.values()), " ", " ", "the ", "der der "]) for _ in range(200))
        number = chance.randrange(1, len(profiles.letters))
        raw = np.frombuffer(text.encode(), np.uint8)
        bounds = np.array([[0, len(raw)]], np.int64)
        row = page_features.measure_texts(raw, bounds, np.array([number], np.uint8), profiles)[0]
        assert row.tolist() == pytest.approx(measure_text(text, number, profiles.letters[number].tolist())), text


def test_arbitrary_bytes_are_measured() -> None:
    chance = np.random.default_rng(3)
    for size in (0, 1, 2, 3, 50, 400):
        raw = chance.integers(0, 256, size).astype(np.uint8)
        rows = page_features.measure_texts(
            raw, np.array([[0, size]], np.int64), np.zeros(1, np.uint8), language_profiles()
        )
        assert np.isfinite(rows).all()


def test_letters_of_an_unknown_language_are_compared_with_the_nearest() -> None:
    profiles = language_profiles()
    for code, text in TEXTS.items():
        raw = np.frombuffer((text * 3).encode(), np.uint8)
        bounds = np.array([[0, len(raw)]], np.int64)
        unknown, own = (
            page_features.measure_texts(raw, bounds, np.array([number], np.uint8), profiles)[0, 0]
            for number in (0, LANGUAGES.index(code))
        )
        assert unknown <= own + 0.05, code


@pytest.mark.parametrize("code", TEXTS)
def test_a_text_is_nearest_to_its_own_language(code: str) -> None:
    scorer = PageScorer()
    divergence = STATIC_FEATURES.index("divergence")
    others = [other for other in TEXTS if other != code]
    rows = scorer.compute_features([sample_page(page(TEXTS[code] * 3, other)) for other in (code, *others)])
    assert rows[0, divergence] < rows[1:, divergence].min()
    assert rows[0, divergence] < 0.12


def test_prose_scores_above_keywords_and_spam_below_both() -> None:
    scorer = PageScorer()
    prose = scorer.score(page(TEXTS["en"] * 3))
    keywords = scorer.score(page("cheap flights hotel booking cheap car rental discount travel " * 6))
    gibberish = scorer.score(page("xq zzkv jjq wq vx " * 20))
    assert prose > keywords > gibberish
    assert scorer.score(page(TEXTS["en"] * 3, flags=int(PageFlag.STUFFED))) < keywords
    assert 0 <= scorer.score(Page("https://a.example/")) <= 1


def test_single_and_batch_scores_of_pages_agree() -> None:
    chance = random.Random(6)
    pages = []
    for number in range(60):
        code = chance.choice(list(TEXTS))
        text = TEXTS[chance.choice(list(TEXTS))] * chance.randint(0, 4)
        headings = tuple("A heading" for _ in range(chance.randint(0, 20)))
        title = " ".join(["word"] * chance.randint(0, 40))
        url = f"https://{chance.choice('abc')}.example/{'x/' * chance.randint(0, 4)}{number}"
        flags = chance.choice((0, 0, int(PageFlag.HIDDEN), int(PageFlag.ADULT)))
        pages.append(Page(url, title=title, headings=headings, text=text, language=code, flags=flags))
    scorer = PageScorer()
    many = scorer.score_many([sample_page(each) for each in pages])
    assert many.tolist() == pytest.approx([scorer.score(each) for each in pages])
    assert len(set(many.round(3).tolist())) > 30


def test_languages_score_alike() -> None:
    scores = [PageScorer().score(page(text * 3, code)) for code, text in TEXTS.items()]
    assert max(scores) - min(scores) < 0.2


def test_single_and_batch_scores_of_urls_agree() -> None:
    chance = random.Random(2)
    parts = ("a", "bb", "12", "x-y", "%20", "index.html")
    hosts = ("example.org", "www.example.edu", "a-b.c.example.tk", "sub.example.co.uk", "localhost", "ww2.example.com")
    addresses = []
    for _ in range(200):
        path = "/".join(chance.choice(parts) for _ in range(chance.randint(0, 5)))
        query = "?" + "&".join(f"k{n}={n}" for n in range(chance.randint(1, 4))) if chance.random() < 0.4 else ""
        addresses.append(parse_address(f"{chance.choice(('http', 'https'))}://{chance.choice(hosts)}/{path}{query}"))
    raw = [address.url.encode() for address in addresses]
    start = np.concatenate([[0], np.cumsum([len(url) for url in raw])]).astype(np.int64)
    scorer = UrlScorer()
    many = scorer.score_many(np.frombuffer(b"".join(raw), np.uint8), start)
    assert many.tolist() == pytest.approx([scorer.score(address) for address in addresses])


def test_home_pages_score_above_deep_ones_and_those_above_parameters() -> None:
    scorer = UrlScorer()
    urls = ("https://example.org/", "https://example.org/a/b", "https://example.org/a/b?c=1&d=2&e=12345")
    scores = [scorer.score(parse_address(url)) for url in urls]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3


def test_links_on_better_pages_are_followed_first() -> None:
    scorer, address = LinkScorer(), parse_address("https://example.org/a")
    assert scorer.score(address, 1, source=0.9) > scorer.score(address, 1) > scorer.score(address, 1, source=0.1)
    assert scorer.score(address, 1) > scorer.score(address, 2)
    assert scorer.score(address, 1, links=9) > scorer.score(address, 1) > scorer.score(address, 1, mirror=True)


def test_every_feature_has_a_weight_and_a_description() -> None:
    from periplus.rank import FEATURES

    expected = {
        "url": page_features.URL_FEATURES,
        "static": STATIC_FEATURES,
        "crawl": CRAWL_FEATURES,
        "dynamic": FEATURES,
        "fusion": ("similarity",),
    }
    assert set(expected) == set(SCORERS)
    for scorer, names in expected.items():
        weights = shipped_weights(scorer)
        assert set(weights) == set(names), scorer
        assert all(weight.about for weight in weights.values()), scorer


def test_a_user_file_changes_weights(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[dynamic.title]\nweight = 0.7\nshape = "root"\n[url.home]\nweight = 0\n')
    weights = read_weights("dynamic", str(file))
    assert (weights["title"].weight, weights["title"].shape) == (0.7, "root")
    assert weights["pairs"] == shipped_weights("dynamic")["pairs"]
    assert LinearScorer(read_weights("url", str(file)), ["home"]).score([1.0]) == 0.0


def test_a_weight_of_a_user_file_holds_for_long_queries_too_unless_it_says_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        "[dynamic.title]\nweight = 0.7\n[dynamic.pairs]\nweight = 0.1\nlong = 0.4\n[dynamic.run]\nlong = 0.9\n"
    )
    weights = read_weights("dynamic", str(file))
    assert (weights["title"].weight, weights["title"].weight_of_long) == (0.7, 0.7)
    assert (weights["pairs"].weight, weights["pairs"].weight_of_long) == (0.1, 0.4)
    assert (weights["run"].weight, weights["run"].weight_of_long) == (shipped_weights("dynamic")["run"].weight, 0.9)


@pytest.mark.parametrize(
    "text",
    [
        "[dynamic.title]\nlong = inf\n",
        "[dynamic.nonsense]\nweight = 1\n",
        "[other.title]\nweight = 1\n",
        "[dynamic.title]\nweight = nan\n",
        '[dynamic.title]\nshape = "round"\n',
        "[dynamic.title]\nheight = 1\n",
        "dynamic = 3\n",
        "not toml at all [",
    ],
)
def test_an_invalid_file_is_refused_by_name(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=r"mine\.toml"):
        read_weights("dynamic", str(file))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        read_weights("dynamic", str(tmp_path / "none.toml"))
