"""The texts of the training, and the short texts that stand for queries."""

import json
import lzma
import random
from pathlib import Path
from typing import NamedTuple

SPAN_WORDS = (3, 4, 5, 6, 8, 10, 12)


class TrainingTexts(NamedTuple):
    """Passages, and three short texts for each: its title, and two spans of its words."""

    passages: list[str]
    queries: tuple[list[str], list[str], list[str]]


def read_texts(path: Path) -> list[tuple[str, str]]:
    """Return titles and passages."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [(title, passage) for title, passage in map(json.loads, file)]


def make_training_texts(path: Path, seed: int) -> TrainingTexts:
    """Return the passages of a file with short texts; a passage without a title has a third span instead."""
    chance = random.Random(seed)
    texts = read_texts(path)
    passages = [passage for _, passage in texts]
    titles = [title or _span(passage, chance) for title, passage in texts]
    spans = [_span(passage, chance) for passage in passages]
    return TrainingTexts(passages, (titles, spans, [_span(passage, chance) for passage in passages]))


def _span(passage: str, chance: random.Random) -> str:
    words = passage.split()
    count = min(len(words), chance.choice(SPAN_WORDS))
    start = chance.randrange(len(words) - count + 1)
    return " ".join(words[start : start + count])
