"""Topic classifier of a focused crawl: starts from a few words or example pages, and learns from the pages fetched.

The teacher scores a page by what the user specified. Words: the share of them that the page contains, weighted by
rarity. Example pages: the similarity of the page to them (tf-idf cosine), relative to their similarity to each other.
Pages of which the teacher is certain, either way, train the student: logistic regression over hashed words by tf-idf,
with as many positive examples as negative ones, in the order of fetch records, so that the same records produce the
same classifier. The student learns words that were not specified; its weight grows with its examples.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.crawl.focus import kernels as kernel
from periplus.records import Page

__all__ = ["Classifier", "ClassifierState", "page_bytes"]

_SIZE: Final = 1 << kernel.BITS
_PAGE_BYTES: Final = 32_768
_PAGE_WORDS: Final = 4_096
_RIGHT: Final = 0.5
"""From this score on, the teacher is certain that a page is about the topic."""
_WRONG: Final = 0.15
_RATE: Final = 0.5
_TRUST: Final = 12.0
"""Examples of either kind after which the student counts as much as the teacher."""
_MAX_EXAMPLES: Final = 48
"""Examples of either kind that are stored to balance the other."""
_DEFAULT_SIMILARITY: Final = 0.35
"""Assumed similarity of the pages of a topic if there is only one example page."""

Floats = npt.NDArray[np.float32]


class _FeatureVector(msgspec.Struct, array_like=True):
    """A page as features: numbers (int32) and values (float32), little-endian."""

    numbers: bytes
    values: bytes


class ClassifierState(msgspec.Struct):
    """State of a classifier, as stored in the crawl's snapshot."""

    words: str = ""
    pages: int = 0
    """Number of pages in which document frequencies were counted."""
    frequency: bytes = b""
    idf: bytes = b""
    """As computed last, when there were `weighed` pages."""
    weighed: int = 0
    weights: bytes = b""
    steps: bytes = b""
    bias: float = 0.0
    right: list[_FeatureVector] = []
    wrong: list[_FeatureVector] = []
    rights: int = 0
    """Number of positive examples so far."""
    wrongs: int = 0
    given: list[_FeatureVector] = []
    """Example pages: word counts."""


class Classifier:
    """Estimates the relevance of pages and links to the topic, from 0 to 1; learns from pages."""

    def __init__(self, words: str, state: ClassifierState | None = None) -> None:
        self.state = state or ClassifierState(words)
        words = self.state.words
        self._frequency = _array(self.state.frequency)
        self._weights = _array(self.state.weights)
        self._steps = _array(self.state.steps)
        self._topic_features = np.unique(
            kernel.features(np.frombuffer(words.encode("utf-8", "replace"), np.uint8), 256)
        )
        self._idf: Floats = _array(self.state.idf)
        if not self.state.idf:
            self._update_idf()
        self._update_teacher()

    def dump(self) -> ClassifierState:
        """Return the current state."""
        for name in ("frequency", "idf", "weights", "steps"):
            setattr(self.state, name, getattr(self, f"_{name}").astype("<f4").tobytes())
        return self.state

    def add_example(self, page: Page) -> None:
        """Add a page as an example of the topic."""
        numbers, counts = _count_features(page)
        if len(numbers) and len(self.state.given) < _MAX_EXAMPLES:
            self.state.given.append(_FeatureVector(numbers.tobytes(), counts.tobytes()))
            self._update_teacher()

    def score_page(self, page: Page) -> float:
        """Return the relevance of a page, and learn from it."""
        numbers, counts = _count_features(page)
        if not len(numbers):
            return 0.0
        self._frequency[numbers] += 1.0
        self.state.pages += 1
        if self.state.pages > self.state.weighed + self.state.weighed // 10:
            self._update_idf()
            self._update_teacher()
        teacher_score = self._score_by_teacher(numbers, counts)
        values = self._tf_idf(numbers, counts)
        student_score = _sigmoid(float(self._weights[numbers] @ values) + self.state.bias)
        if (len(self._topic_features) or self.state.given) and (teacher_score >= _RIGHT or teacher_score <= _WRONG):
            self._learn(numbers, values, teacher_score >= _RIGHT)
        return self._combine(teacher_score, student_score)

    def score_links(self, texts: Sequence[bytes]) -> Floats:
        """Return the estimated relevance of each link by its words."""
        data = np.frombuffer(b"".join(texts), np.uint8)
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
        teacher_score = np.clip(kernel.scores(data, ends, self._idf, self._link_weights), 0.0, 1.0)
        student_score = _sigmoids(kernel.scores(data, ends, self._idf, self._weights) + np.float32(self.state.bias))
        joined: Floats = self._student_weight() * student_score + (1.0 - self._student_weight()) * teacher_score
        return joined.astype(np.float32)

    def _student_weight(self) -> np.float32:
        examples = min(self.state.rights, self.state.wrongs)
        return np.float32(examples / (examples + _TRUST))

    def _combine(self, teacher_score: float, student_score: float) -> float:
        share = float(self._student_weight())
        return share * student_score + (1.0 - share) * min(1.0, teacher_score)

    def _update_idf(self) -> None:
        """Recompute idf from the document frequencies."""
        pages = self.state.weighed = self.state.pages
        self._idf = np.log((pages + 2.0) / (self._frequency + 1.0)).astype(np.float32).clip(0.05)

    def _update_teacher(self) -> None:
        """Recompute the centre of the examples and the weights of words in links."""
        self._centre = self._compute_centre()
        self._link_weights = self._compute_link_weights()

    def _compute_centre(self) -> tuple[Floats, float]:
        """Return the normalized mean of the examples, and their mean similarity."""
        centre = np.zeros(_SIZE, np.float32)
        vectors = []
        for example in self.state.given:
            numbers, counts = np.frombuffer(example.numbers, "<i4"), np.frombuffer(example.values, "<f4")
            vectors.append((numbers, self._tf_idf(numbers, counts)))
            centre[numbers] += vectors[-1][1]
        length = float(np.linalg.norm(centre)) or 1.0
        centre /= length
        if len(vectors) < 2:
            return centre, _DEFAULT_SIMILARITY
        # Each is compared with the others, not with itself.
        similarity = [float((centre[n] * length - v) @ v) / (len(vectors) - 1) for n, v in vectors]
        return centre, max(0.05, float(np.mean(similarity)))

    def _compute_link_weights(self) -> Floats:
        """Return the weights by which the teacher scores the words of links."""
        weights = np.zeros(_SIZE, np.float32)
        weights[self._topic_features] = 1.0 / np.maximum(1e-6, self._idf[self._topic_features])
        if len(self.state.given):
            centre, similarity = self._centre
            weights += centre / np.float32(similarity)
        # Vectors of links have length 1: a text of n words, all of them the topic's, scores about the square root of n.
        return (weights * self._idf * np.float32(0.7)).astype(np.float32)

    def _score_by_teacher(self, numbers: npt.NDArray[np.int32], counts: Floats) -> float:
        """Return the teacher's score of a page; from `_RIGHT` on it is certain."""
        score = 0.0
        if len(self._topic_features):
            idf = self._idf[self._topic_features]
            times = np.zeros(len(self._topic_features), np.float32)
            positions = np.searchsorted(numbers, self._topic_features).clip(0, len(numbers) - 1)
            present = numbers[positions] == self._topic_features
            times[present] = counts[positions[present]]
            # A word that occurs only once counts less: it may be incidental.
            score = float((idf * (times / (times + 1.0))).sum() / (idf * 0.75).sum())
        if self.state.given:
            centre, similarity = self._centre
            page_similarity = float(centre[numbers] @ self._tf_idf(numbers, counts)) / similarity
            score = max(score, page_similarity * 0.7)
        return score

    def _tf_idf(self, numbers: npt.NDArray[np.int32], counts: Floats) -> Floats:
        """Return the tf-idf vector, normalized to length 1."""
        values = (1.0 + np.log(counts)) * self._idf[numbers]
        length = float(np.linalg.norm(values)) or 1.0
        return (values / length).astype(np.float32)

    def _learn(self, numbers: npt.NDArray[np.int32], values: Floats, right: bool) -> None:
        """Store an example, and train on it and on one of the other kind."""
        state = self.state
        examples, others = (state.right, state.wrong) if right else (state.wrong, state.right)
        count = state.rights if right else state.wrongs
        example = _FeatureVector(numbers.astype("<i4").tobytes(), values.astype("<f4").tobytes())
        if len(examples) < _MAX_EXAMPLES:
            examples.append(example)
        else:
            examples[count % _MAX_EXAMPLES] = example
        if right:
            state.rights += 1
        else:
            state.wrongs += 1
        # Every example of the rarer kind is used, of the other kind only one in four.
        rare = count <= (state.wrongs if right else state.rights)
        if others and (rare or count % 4 == 0):
            other = others[count % len(others)]
            self._step(np.frombuffer(other.numbers, "<i4"), np.frombuffer(other.values, "<f4"), not right)
            self._step(numbers, values, right)

    def _step(self, numbers: npt.NDArray[np.int32], values: Floats, right: bool) -> None:
        """Move the weights towards the right answer, each at a rate that falls as it has moved (AdaGrad)."""
        error = np.float32(float(right) - _sigmoid(float(self._weights[numbers] @ values) + self.state.bias))
        slope = error * values
        self._steps[numbers] += slope * slope
        self._weights[numbers] += _RATE * slope / np.sqrt(self._steps[numbers] + 1e-4)
        self.state.bias += 0.05 * float(error)


def page_bytes(page: Page) -> bytes:
    """Return the text of a page as bytes, title and headings first, up to `_PAGE_BYTES`."""
    head = " \n".join([page.title, *page.headings[:20], page.description])
    return f"{head} \n{page.text[:_PAGE_BYTES]}".encode("utf-8", "replace")[:_PAGE_BYTES]


def _count_features(page: Page) -> tuple[npt.NDArray[np.int32], Floats]:
    features = kernel.features(np.frombuffer(page_bytes(page), np.uint8), _PAGE_WORDS)
    numbers, counts = np.unique(features, return_counts=True)
    return numbers.astype(np.int32), counts.astype(np.float32)


def _array(data: bytes) -> Floats:
    return np.frombuffer(data, "<f4").copy() if len(data) == 4 * _SIZE else np.zeros(_SIZE, np.float32)


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + float(np.exp(-min(30.0, max(-30.0, value)))))


def _sigmoids(values: Floats) -> Floats:
    probabilities: Floats = (1.0 / (1.0 + np.exp(-values.clip(-30, 30)))).astype(np.float32)
    return probabilities
