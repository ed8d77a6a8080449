"""The engines that are compared, ours and others, behind one small face.

`load(name)` gives an engine or says why it cannot be had here. An engine builds an index of tokenised texts (document
n is text n), turns queries into its own form outside the clock, and times one round over them.
"""

import importlib
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from corpus import Asked

PEERS = ("tantivy", "lucene", "pisa", "bm25s")


class Absent(Exception):
    """The engine cannot be had on this machine; the message says what is missing."""


class Built(NamedTuple):
    """What a build took."""

    seconds: float
    bytes: int
    """Of the index on disk, without stored text."""
    stored: int = 0
    """Bytes of stored text."""
    cpu: float = 0.0
    """Seconds of a processor, 0 where they are not known: on a busy machine, what is to be compared."""
    learned: int = 0
    """Bytes of the index that no engine here has anything like: what ranking knows of meaning and of names."""


class Engine(ABC):
    """An engine that runs in this process. Others override `ready`, `round` and `answers`."""

    name = ""
    kinds: frozenset[str] = frozenset({"term", "union", "intersection", "phrase"})

    @abstractmethod
    def build(self, texts: Sequence[str], folder: Path) -> Built:
        """Index `texts` into `folder`, with positions and the text itself where the engine has them."""

    @abstractmethod
    def open(self, folder: Path) -> None:
        """Open a built index for searching."""

    def ready(self, queries: Iterable[Asked], k: int) -> None:
        """Prepare the queries of the coming rounds, in the engine's own form."""
        self.queries = [self.prepare(asked, k) for asked in queries]

    def prepare(self, asked: Asked, k: int) -> Any:
        """Turn a query into the engine's own form, outside the clock."""
        raise NotImplementedError

    def search(self, prepared: Any) -> Any:
        """Answer one query: this is what the clock sees."""
        raise NotImplementedError

    def hits(self, answer: Any) -> list[int]:
        """Return the numbers of the documents found, best first."""
        raise NotImplementedError

    def round(self) -> list[int]:
        """Answer all queries once; give nanoseconds, the better of two calls each, so that caches are warm."""
        times = []
        search, clock = self.search, time.perf_counter_ns
        for prepared in self.queries:
            first = clock()
            search(prepared)
            second = clock()
            search(prepared)
            third = clock()
            times.append(min(second - first, third - second))
        return times

    def answers(self) -> list[list[int]]:
        """Return the documents found for each query."""
        return [self.hits(self.search(prepared)) for prepared in self.queries]

    def close(self) -> None:  # noqa: B027 - most engines have nothing to close
        """Close the index."""


def load(name: str) -> Engine:
    """Return the engine called `name`, or raise `Absent`."""
    if name not in PEERS:
        raise Absent(f"no such peer; there are {', '.join(PEERS)}")
    try:
        engine: Engine = importlib.import_module(f"peers.by_{name}").make()
    except ImportError as error:
        raise Absent(f"{error.name or error} is not installed") from error
    return engine
