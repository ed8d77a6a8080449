"""PISA, through the extension module of the pyterrier-pisa wheel, without PyTerrier.

Its tokenizer is its own, so words go in as numbers ('w17'). Unions run block-max WAND, intersections ranked AND, over
SIMD-BP128 lists with block maxima of 64 postings; it has no positions, so no phrases, and keeps no text.
"""

import ctypes
import importlib.util
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from corpus import Asked
from figures import folder_bytes
from peers import Absent, Built, Engine
from peers.wheels import unpacked

ENCODING = "block_simdbp"
BLOCK = 64
ALGORITHMS = {"term": "block_max_wand", "union": "block_max_wand", "intersection": "ranked_and"}


class Pisa(Engine):
    """PISA's own loops, one call a query."""

    name = "pisa"
    kinds = frozenset(ALGORITHMS)

    def __init__(self, extension: Any) -> None:
        self._pisa = extension
        self._numbers: dict[str, int] = {}

    def _lines(self, texts: Sequence[str]) -> Iterator[str]:
        for number, text in enumerate(texts):
            words = [f"w{self._numbers.setdefault(word, len(self._numbers))}" for word in text.split(" ") if word]
            yield f"{number} {' '.join(words)}\n"

    def build(self, texts: Sequence[str], folder: Path) -> Built:
        """Invert and compress; the plain lists in between are left out of the size."""
        folder.mkdir(parents=True)
        self._numbers = {}
        lines, pipe = list(self._lines(texts)), folder / "texts"
        (folder / "words.txt").write_text("\n".join(self._numbers), "utf-8")
        os.mkfifo(pipe)
        began = time.perf_counter()
        writer = threading.Thread(target=lambda: pipe.open("w").writelines(lines), daemon=True)
        writer.start()
        with _silence():
            # One batch: with three of them it was seen to hang on a single core.
            self._pisa.index(str(pipe), str(folder), "", len(texts) + 1, 1)
            writer.join()
            pipe.unlink()
            self._prepare_index(folder)
        seconds = time.perf_counter() - began
        kept = [path for path in folder.iterdir() if ".bmw." in path.name or path.name.startswith("fwd.termlex")]
        return Built(seconds, sum(path.stat().st_size for path in kept) or folder_bytes(folder))

    def _prepare_index(self, folder: Path) -> None:
        self._context = self._pisa.RetrievalContext()
        self._pisa.prepare_index(
            self._context, str(folder), ENCODING, "bm25", "", block_size=BLOCK, quantize=0, bm25_k1=1.2, bm25_b=0.75
        )

    def open(self, folder: Path) -> None:
        words = (folder / "words.txt").read_text("utf-8").split("\n")
        self._numbers = {word: number for number, word in enumerate(words)}
        self._prepare_index(folder)

    def prepare(self, asked: Asked, k: int) -> Any:
        known = {f"w{self._numbers[term]}": 1.0 for term in asked.terms if term in self._numbers}
        if asked.kind == "intersection" and len(known) < len(set(asked.terms)):
            known = {}
        room = [np.zeros(k, np.int32), np.zeros(k, object), np.zeros(k, np.int32), np.zeros(k, np.float32)]
        return ALGORITHMS[asked.kind], [(0, known)] if known else [], k, room

    def search(self, prepared: Any) -> Any:
        algorithm, query, k, room = prepared
        count = self._pisa.retrieve(self._context, algorithm, query, k, 1, 1, 0, *room)
        return room[1][:count]

    def hits(self, answer: Any) -> list[int]:
        return [int(name) for name in answer]


@contextmanager
def _silence() -> Iterator[None]:
    """Keep its progress lines, which it writes past Python, out of the table."""
    sys.stdout.flush()
    kept = os.dup(1), os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        for number, copy in enumerate(kept, 1):
            os.dup2(copy, number)
            os.close(copy)


def make() -> Engine:
    """Return the engine, its extension loaded from the wheel."""
    threads = next(unpacked("tbb==2020.3.254", "libtbb.so.2").rglob("libtbb.so.2"), None)
    if threads is None:
        raise Absent("the wheel of its thread library has no libtbb.so.2")
    ctypes.CDLL(str(threads), mode=ctypes.RTLD_GLOBAL)  # the extension asks the loader for it by name
    folder = unpacked("pyterrier-pisa==0.4.9", "_pisathon")
    found = next(folder.rglob("_pisathon*.so"), None)
    spec = importlib.util.spec_from_file_location("_pisathon", found) if found else None
    if spec is None or spec.loader is None:
        raise Absent("the wheel has no extension for this Python")
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)
    return Pisa(extension)
