"""Is a page about the topic of this crawl: a classifier that is given a few words or pages, and learns from what comes.

The teacher is what was given. Words: which share of them a page has, rare ones counting more. Example pages: how like
them a page is (tf-idf cosine), beside how like each other they are. What the teacher is sure of, either way, trains the
student: logistic regression over hashed words by tf-idf, as many right examples as wrong ones, in the order of visits,
so that the same visits give the same classifier. The student knows words that nobody gave; it counts more as it learns.
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
"""From here on the teacher is sure that a page is about the topic."""
_WRONG: Final = 0.15
_RATE: Final = 0.5
_TRUST: Final = 12.0
"""After this many examples of either kind the student counts as much as the teacher."""
_KEPT: Final = 48
"""Examples of either kind that are kept to balance the other."""
_ALIKE: Final = 0.35
"""How like each other pages of one topic are when only one was given."""

Floats = npt.NDArray[np.float32]


class _Example(msgspec.Struct, array_like=True):
    """A page as features: numbers (int32) and values (float32), little-endian."""

    numbers: bytes
    values: bytes


class ClassifierState(msgspec.Struct):
    """All that a classifier knows, for the crawl's snapshot."""

    words: str = ""
    pages: int = 0
    """Pages that document frequencies were counted in."""
    frequency: bytes = b""
    idf: bytes = b""
    """As it was worked out last, at so many pages."""
    weighed: int = 0
    weights: bytes = b""
    steps: bytes = b""
    bias: float = 0.0
    right: list[_Example] = []
    wrong: list[_Example] = []
    rights: int = 0
    """How many there were of either kind."""
    wrongs: int = 0
    given: list[_Example] = []
    """Example pages: counts of words."""


class Classifier:
    """Says how much a page, or the words of a link, are about the topic, between 0 and 1; learns from pages."""

    def __init__(self, words: str, state: ClassifierState | None = None) -> None:
        self.state = state or ClassifierState(words)
        words = self.state.words
        self._frequency = _array(self.state.frequency)
        self._weights = _array(self.state.weights)
        self._steps = _array(self.state.steps)
        self._asked = np.unique(kernel.features(np.frombuffer(words.encode("utf-8", "replace"), np.uint8), 256))
        self._idf: Floats = _array(self.state.idf)
        if not self.state.idf:
            self._weigh()
        self._look_at_given()

    def dump(self) -> ClassifierState:
        """Give the state as it is now."""
        for name in ("frequency", "idf", "weights", "steps"):
            setattr(self.state, name, getattr(self, f"_{name}").astype("<f4").tobytes())
        return self.state

    def give(self, page: Page) -> None:
        """Take a page for an example of the topic."""
        numbers, counts = _counted(page)
        if len(numbers) and len(self.state.given) < _KEPT:
            self.state.given.append(_Example(numbers.tobytes(), counts.tobytes()))
            self._look_at_given()

    def look(self, page: Page) -> float:
        """Give the relevance of a page, and learn from it."""
        numbers, counts = _counted(page)
        if not len(numbers):
            return 0.0
        self._frequency[numbers] += 1.0
        self.state.pages += 1
        if self.state.pages > self.state.weighed + self.state.weighed // 10:
            self._weigh()
            self._look_at_given()
        taught = self._teach(numbers, counts)
        values = self._values(numbers, counts)
        guessed = _sigmoid(float(self._weights[numbers] @ values) + self.state.bias)
        if (len(self._asked) or self.state.given) and (taught >= _RIGHT or taught <= _WRONG):
            self._learn(numbers, values, taught >= _RIGHT)
        return self._joined(taught, guessed)

    def look_at_links(self, texts: Sequence[bytes]) -> Floats:
        """Give how much each link promises, by its words."""
        data = np.frombuffer(b"".join(texts), np.uint8)
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
        taught = np.clip(kernel.scores(data, ends, self._idf, self._promise), 0.0, 1.0)
        guessed = _sigmoids(kernel.scores(data, ends, self._idf, self._weights) + np.float32(self.state.bias))
        joined: Floats = self._share() * guessed + (1.0 - self._share()) * taught
        return joined.astype(np.float32)

    def _share(self) -> np.float32:
        known = min(self.state.rights, self.state.wrongs)
        return np.float32(known / (known + _TRUST))

    def _joined(self, taught: float, guessed: float) -> float:
        share = float(self._share())
        return share * guessed + (1.0 - share) * min(1.0, taught)

    def _weigh(self) -> None:
        """Work idf out anew, whenever pages have grown by a tenth."""
        pages = self.state.weighed = self.state.pages
        self._idf = np.log((pages + 2.0) / (self._frequency + 1.0)).astype(np.float32).clip(0.05)

    def _look_at_given(self) -> None:
        """Work out what the teacher knows."""
        self._centre = self._make_centre()
        self._promise = self._make_promise()

    def _make_centre(self) -> tuple[Floats, float]:
        """Give the mean of the examples, and how like it they are."""
        centre = np.zeros(_SIZE, np.float32)
        vectors = []
        for example in self.state.given:
            numbers, counts = np.frombuffer(example.numbers, "<i4"), np.frombuffer(example.values, "<f4")
            vectors.append((numbers, self._values(numbers, counts)))
            centre[numbers] += vectors[-1][1]
        length = float(np.linalg.norm(centre)) or 1.0
        centre /= length
        if len(vectors) < 2:
            return centre, _ALIKE
        # Each beside the others, not beside itself.
        alike = [float((centre[n] * length - v) @ v) / (len(vectors) - 1) for n, v in vectors]
        return centre, max(0.05, float(np.mean(alike)))

    def _make_promise(self) -> Floats:
        """Give the weights by which the teacher looks at the words of links: one of the topic's own is a good sign."""
        weights = np.zeros(_SIZE, np.float32)
        weights[self._asked] = 1.0 / np.maximum(1e-6, self._idf[self._asked])
        if len(self.state.given):
            centre, alike = self._centre
            weights += centre / np.float32(alike)
        # Scores of links are by length 1: a text of n words, all of them the topic's, comes to about the root of n.
        return (weights * self._idf * np.float32(0.7)).astype(np.float32)

    def _teach(self, numbers: npt.NDArray[np.int32], counts: Floats) -> float:
        """Give the teacher's opinion of a page; from 0.5 on it is sure."""
        found = 0.0
        if len(self._asked):
            idf = self._idf[self._asked]
            times = np.zeros(len(self._asked), np.float32)
            at = np.searchsorted(numbers, self._asked).clip(0, len(numbers) - 1)
            here = numbers[at] == self._asked
            times[here] = counts[at[here]]
            # Said once it may be in passing.
            found = float((idf * (times / (times + 1.0))).sum() / (idf * 0.75).sum())
        if self.state.given:
            centre, alike = self._centre
            like = float(centre[numbers] @ self._values(numbers, counts)) / alike
            found = max(found, like * 0.7)
        return found

    def _values(self, numbers: npt.NDArray[np.int32], counts: Floats) -> Floats:
        """Give tf-idf of length 1."""
        values = (1.0 + np.log(counts)) * self._idf[numbers]
        length = float(np.linalg.norm(values)) or 1.0
        return (values / length).astype(np.float32)

    def _learn(self, numbers: npt.NDArray[np.int32], values: Floats, right: bool) -> None:
        """Take one step towards a page, and one towards a page of the other kind."""
        state = self.state
        kept, others = (state.right, state.wrong) if right else (state.wrong, state.right)
        count = state.rights if right else state.wrongs
        example = _Example(numbers.astype("<i4").tobytes(), values.astype("<f4").tobytes())
        if len(kept) < _KEPT:
            kept.append(example)
        else:
            kept[count % _KEPT] = example
        if right:
            state.rights += 1
        else:
            state.wrongs += 1
        # The rarer kind is learnt from whenever it comes, the other only beside it.
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
    """Give the words of a page, title and headings first, as much as is looked at."""
    head = " \n".join([page.title, *page.headings[:20], page.description])
    return f"{head} \n{page.text[:_PAGE_BYTES]}".encode("utf-8", "replace")[:_PAGE_BYTES]


def _counted(page: Page) -> tuple[npt.NDArray[np.int32], Floats]:
    found = kernel.features(np.frombuffer(page_bytes(page), np.uint8), _PAGE_WORDS)
    numbers, counts = np.unique(found, return_counts=True)
    return numbers.astype(np.int32), counts.astype(np.float32)


def _array(data: bytes) -> Floats:
    return np.frombuffer(data, "<f4").copy() if len(data) == 4 * _SIZE else np.zeros(_SIZE, np.float32)


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + float(np.exp(-min(30.0, max(-30.0, value)))))


def _sigmoids(values: Floats) -> Floats:
    found: Floats = (1.0 / (1.0 + np.exp(-values.clip(-30, 30)))).astype(np.float32)
    return found
