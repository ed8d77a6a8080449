"""A model of one language keeps out of others: their pages get no vectors, their queries are ranked by words alone."""

import msgspec
import numpy as np
import pytest
from tiny_model import NaiveEncoder

from index.made_pages import visit
from periplus.embeddings import EmbeddingSearcher, embed_index
from periplus.embeddings.model_languages import is_readable
from periplus.index import Index, build_index
from periplus.query import parse_query
from periplus.rank import Ranker
from periplus.records import FetchRecord
from periplus.search import rerank, retrieve
from periplus.settings import EmbeddingSettings, IndexSettings, RankSettings

SETTINGS = EmbeddingSettings(enabled=True, passage_tokens=16, overlap=4)
ENGLISH = [
    "the keeper of the light in the harbour was asleep at the time and the ship came in with the fog",
    "it was the first lighthouse on the coast of the island and it is still there for all who come by sea",
    "what the pilot said to the captain about the harbour was not in the book that we have of the voyage",
]
GERMAN = [
    "der Leuchtturm an der Küste wurde von dem Kapitän nicht gesehen und das Schiff ist auf dem Riff, nicht im Hafen",
    "die Geschichte der Stadt und des Hafens ist auch die Geschichte der Schiffe, die von hier aus in die Welt fuhren",
    "ein Lotse kam mit dem Boot zu dem Schiff und sagte, dass der Hafen nicht mehr zu sehen ist, und das war wahr",
]
CHINESE = ["港口的灯塔守护人睡着了船在雾中进来", "这是岛上海岸的第一座灯塔", "引水员对船长说了什么"]


def page(url: str, text: str) -> FetchRecord:
    """Make a page that does not say what language it is in."""
    made = visit(url, text[:12], text)
    return msgspec.structs.replace(made, page=msgspec.structs.replace(made.page, language=""))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("tongues") / "index"
    texts = (
        [("en", text) for text in ENGLISH * 4] + [("de", text) for text in GERMAN * 4] + [("zh", t) for t in CHINESE]
    )
    pages = [page(f"https://{code}.test/{n}", f"{text} {n}") for n, (code, text) in enumerate(texts)]
    build_index(iter(pages), folder, IndexSettings())
    made = embed_index(folder, SETTINGS, encoder=NaiveEncoder())
    assert (made.documents, made.skipped) == (12, 15)
    return Index.open(folder)


def ranker(index: Index, settings: EmbeddingSettings) -> Ranker:
    made = Ranker(index, RankSettings(), settings)
    if made.embeddings is not None:
        made.embeddings._meaning = EmbeddingSearcher(index, settings, NaiveEncoder())
    return made


def order(made: Ranker, words: str) -> list[tuple[int, int, float]]:
    found = rerank(retrieve(made, made.plan(parse_query(words).tree), 50), made.model, 50)
    return list(zip(found.segments.tolist(), found.documents.tolist(), found.scores.tolist(), strict=True))


@pytest.mark.parametrize(
    "words",
    [
        "die Geschichte der Stadt",
        "Hafen Schiff",
        "Leuchtturm",
        "Lotse in Hafen",
        "灯塔",
        "引水员 lighthouse",
        "сколько маяков",
        "harbour маяк на берегу моря",
    ],
)
def test_a_query_in_another_language_is_ranked_by_words_alone(index: Index, words: str) -> None:
    heavy = msgspec.structs.replace(SETTINGS, weight=20.0)
    assert order(ranker(index, heavy), words) == order(ranker(index, EmbeddingSettings(semantic="static")), words)


@pytest.mark.parametrize(
    "words", ["what did the pilot say", "harbour lighthouse", "los harbour lighthouse", "café harbour"]
)
def test_a_query_that_finds_pages_it_can_read_is_ranked_by_meaning(index: Index, words: str) -> None:
    heavy = msgspec.structs.replace(SETTINGS, weight=20.0)
    assert order(ranker(index, heavy), words) != order(ranker(index, EmbeddingSettings(semantic="static")), words)


def test_pages_in_other_languages_have_no_vectors_and_do_not_come_near(index: Index) -> None:
    searcher = EmbeddingSearcher(index, SETTINGS, NaiveEncoder())
    near = searcher.find_nearest(searcher.encode_query("harbour"), 50)
    assert len(near.documents) == 12
    hosts = {index.segments[s].string("url", d)[8:10] for s, d in zip(near.segments, near.documents, strict=True)}
    assert hosts == {"en"}


def test_where_no_page_can_be_read_nothing_is_computed(tmp_path) -> None:
    pages = [page(f"https://de.test/{n}", f"{text} {n}") for n, text in enumerate(GERMAN * 2)]
    build_index(iter(pages), tmp_path / "index", IndexSettings())
    encoder = NaiveEncoder()
    assert embed_index(tmp_path / "index", SETTINGS, encoder=encoder).skipped == 6
    assert EmbeddingSearcher(Index.open(tmp_path / "index"), SETTINGS, encoder).encode_query("harbour") is None
    assert encoder.encoded == 0


@pytest.mark.parametrize(
    ("language", "text", "languages", "expected"),
    [
        ("en", ENGLISH[0], ("en",), True),
        ("en", "Zürich café naïve", ("en",), True),
        ("en", CHINESE[0], ("en",), False),
        ("en", "", ("en",), True),
        ("en", "".join(GERMAN), ("en",), False),
        ("en", " ".join(ENGLISH), ("en",), True),
        ("de", GERMAN[0], ("en",), False),
        ("de", GERMAN[0], ("en", "de"), True),
        ("zh", CHINESE[0], ("zh",), True),
        ("", "x = 1; y = 2", ("en",), True),
        ("", CHINESE[0], ("en",), False),
        ("?", ENGLISH[0], ("en",), False),
    ],
)
def test_what_can_be_read(language: str, text: str, languages: tuple[str, ...], expected: bool) -> None:
    assert is_readable(language, "", text, languages) is expected


def test_a_model_of_other_languages_is_asked_in_them(index: Index) -> None:
    both = EmbeddingSearcher(index, msgspec.structs.replace(SETTINGS, languages=("de", "zh", "en")), NaiveEncoder())
    found = ranker(index, EmbeddingSettings(semantic="static"))
    for words in ("Leuchtturm Hafen", "灯塔"):
        got = retrieve(found, found.plan(parse_query(words).tree), 10)
        assert both.supports_query(words, got.segments, got.documents)
        assert both.supports_query(words, np.zeros(0, np.int32), np.zeros(0, np.int32))
