"""The corpus of a benchmark run: options, passages, tokens and sizes, the same for queries and building."""

import argparse
import sys
import time
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from corpus import Passage, make_passages, read_passages, tokenise

MADE = 300_000
"""Passages that are made where there is no corpus."""


class Material(NamedTuple):
    """What is indexed."""

    name: str
    passages: list[Passage]
    tokens: list[str]
    """The passages as stems joined by spaces."""


def add_options(parser: argparse.ArgumentParser, peers: str) -> None:
    """Add the options that say what is indexed and by whom."""
    parser.add_argument("--corpus", default="", help="JSONL of {id, url, title, text}, plain, .gz or .zst")
    parser.add_argument("--peers", default=peers, help="engines to compare with, or none")
    parser.add_argument(
        "--sizes", default="", help="passages, as numbers parted by commas; a hundredth, a tenth and all"
    )
    parser.add_argument("--words", type=int, default=200, help="words of a passage")


def gather(options: argparse.Namespace, most_tokens: int | None = None) -> Material:
    """Read or make the passages and tokenise them, or only the first of them."""
    began = time.perf_counter()
    wanted = max(map(int, options.sizes.split(","))) if options.sizes else 0
    if options.corpus:
        path = Path(options.corpus)
        name = f"{path.parent.name}-{options.words}"
        passages = list(islice(read_passages(path, options.words), wanted or None))
    else:
        name = f"made-{options.words}"
        passages = list(islice(make_passages(options.words), wanted or MADE))
    tokens = list(tokenise(passage.text for passage in passages[:most_tokens]))
    count, seconds = sum(text.count(" ") + 1 for text in tokens), time.perf_counter() - began
    print(
        f"{name}: {len(passages):,} passages, {count:,} tokens, ready in {seconds:.0f} s", file=sys.stderr, flush=True
    )
    return Material(name, passages, tokens)


def sizes_of(options: argparse.Namespace, most: int) -> list[int]:
    """Return the sizes to measure at, smallest first."""
    wanted = [int(size) for size in options.sizes.split(",")] if options.sizes else [most // 100, most // 10, most]
    return sorted({max(1, min(size, most)) for size in wanted})
