"""Words, link scores and hubs against their plain twins."""

import random

import numpy as np
import pytest

from naive import topic as naive
from periplus.crawl.focus import kernels

PIECES = [
    "Tides",
    "glass",
    "the",
    "lighthouse's",
    "海の灯台",
    "Zürich",
    "a1",
    " ",
    "-",
    "\n",
    "é",
    "s",
    "bees",
    "港",
    "🌊",
    "x",
]


@pytest.mark.parametrize("seed", range(20))
def test_features_are_those_of_the_plain_twin(seed: int) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choice(PIECES) + chance.choice(["", " ", ", "]) for _ in range(60)).encode()
    data = text[: chance.randint(0, len(text))] + bytes(chance.randrange(256) for _ in range(seed))
    found = kernels.features(np.frombuffer(data, np.uint8), 50)
    assert found.tolist() == naive.features(data, 50)


def test_case_and_a_final_s_do_not_count() -> None:
    def words(text: str) -> list[int]:
        return kernels.features(np.frombuffer(text.encode(), np.uint8), 10).tolist()

    assert words("Tides") == words("tide")
    assert words("glass") != words("glas")
    assert words("bus") != words("bu")


@pytest.mark.parametrize("seed", range(8))
def test_scores_are_those_of_the_plain_twin(seed: int) -> None:
    chance = random.Random(seed)
    numbers = np.random.default_rng(seed)
    idf = numbers.random(1 << kernels.BITS).astype(np.float32) + np.float32(0.1)
    weights = numbers.normal(size=1 << kernels.BITS).astype(np.float32)
    texts = [" ".join(chance.choice(PIECES) for _ in range(chance.randint(0, 120))).encode() for _ in range(12)]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    found = kernels.scores(np.frombuffer(b"".join(texts), np.uint8), ends, idf, weights)
    wanted = [naive.score(text, idf.tolist(), weights.tolist(), kernels.MAX_LINK_WORDS) for text in texts]
    assert found.tolist() == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_hubs_are_those_of_the_plain_twin(seed: int) -> None:
    chance = random.Random(seed)
    pages = chance.randint(1, 25)
    links = [(chance.randrange(pages), chance.randrange(pages)) for _ in range(chance.randint(0, 80))]
    relevance = [chance.random() for _ in range(pages)]
    source = np.array([a for a, _ in links], np.int32)
    target = np.array([b for _, b in links], np.int32)
    found = kernels.hubs(source, target, np.array(relevance, np.float32), 4)
    assert found.tolist() == pytest.approx(naive.hubs(links, relevance, 4), abs=1e-3)


def test_a_page_that_leads_to_relevant_pages_is_the_hub() -> None:
    links = [(0, 2), (0, 3), (0, 4), (1, 5), (1, 6), (1, 7)]
    relevance = np.array([0, 0, 1, 1, 1, 0, 0, 0.1], np.float32)
    found = kernels.hubs(
        np.array([a for a, _ in links], np.int32), np.array([b for _, b in links], np.int32), relevance, 5
    )
    assert found[0] == 1.0
    assert found[1] < 0.2
