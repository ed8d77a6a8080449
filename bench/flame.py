"""Flame graph of answers over a built index: where the time of a query goes, as an SVG and as a table.

python bench/flame.py --built FOLDER [--kind union] [--seconds 20] [--svg FILE]

The stack of the main thread is sampled by the processor time that it uses. A signal is handled between two steps of
Python, so what a kernel or another compiled function takes counts for the line that calls it.
"""

import argparse
import gc
import signal
import time
from collections import Counter
from html import escape
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from corpus import make_passages, make_queries, tokenise
from periplus.records import Query
from periplus.search import Searcher
from periplus.settings import Settings

_INTERVAL = 0.001
_ROW, _WIDTH, _LEAST = 17, 1200, 0.002
"""Height of a row and width of the picture, in pixels; the least share of the time that is drawn."""

Stack = tuple[str, ...]


class Flame(NamedTuple):
    """One box: a function, called as those below it say."""

    name: str
    depth: int
    begin: float
    share: float


class StackSampler:
    """Counts the stacks in which a thread spends its time."""

    def __init__(self, root: str) -> None:
        """Count stacks from the outermost function called `root` on."""
        self.stacks: Counter[Stack] = Counter()
        self._root = root

    def _sample(self, number: int, frame: FrameType | None) -> None:
        stack: list[str] = []
        while frame is not None:
            code = frame.f_code
            module = code.co_filename.rpartition("/")[2].removesuffix(".py")
            stack.append(f"{module}.{code.co_qualname}")
            frame = frame.f_back
        names = stack[::-1]
        first = next((place for place, name in enumerate(names) if name.endswith(self._root)), None)
        if first is not None:
            self.stacks[tuple(names[first:])] += 1

    def __enter__(self) -> "StackSampler":
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, _INTERVAL, _INTERVAL)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)


def arrange(stacks: Counter[Stack]) -> list[Flame]:
    """Return the boxes of a flame graph: functions in the order of their names, each above its caller."""
    total, flames = sum(stacks.values()), list[Flame]()
    totals: Counter[Stack] = Counter()
    for stack, count in stacks.items():
        for depth in range(len(stack)):
            totals[stack[: depth + 1]] += count
    begins: dict[Stack, float] = {(): 0.0}
    for stack in sorted(totals):
        begin, share = begins[stack[:-1]], totals[stack] / total
        flames.append(Flame(stack[-1], len(stack) - 1, begin, share))
        begins[stack], begins[stack[:-1]] = begin, begin + share
    return flames


def draw(flames: list[Flame], title: str) -> str:
    """Return a flame graph as SVG."""
    shown = [flame for flame in flames if flame.share >= _LEAST]
    rows = max((flame.depth for flame in shown), default=0) + 1
    height = rows * _ROW + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"',
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="6" y="16" font-size="13">{escape(title)}</text>',
    ]
    for name, depth, begin, share in shown:
        x, y, width = begin * _WIDTH, height - (depth + 1) * _ROW, share * _WIDTH
        hue = 10 + sum(name.encode()) % 45
        label = name.rpartition(".")[2] if width < 8 * len(name) else name
        text = label if width > 6.2 * len(label) else label[: int(width / 6.2)] if width > 30 else ""
        parts.append(
            f'<g><title>{escape(name)}: {100 * share:.1f} %</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" '
            f'height="{_ROW - 1}" fill="hsl({hue} 85% 72%)" stroke="#fff" stroke-width=".5"/>'
            f'<text x="{x + 3:.1f}" y="{y + 12}">{escape(text)}</text></g>'
        )
    return "\n".join([*parts, "</svg>", ""])


def tabulate(stacks: Counter[Stack], most: int) -> list[tuple[str, float, float]]:
    """Return the functions that take most by themselves: share of their own, and with what they call."""
    total, own, whole = sum(stacks.values()), Counter[str](), Counter[str]()
    for stack, count in stacks.items():
        own[stack[-1]] += count
        whole.update(dict.fromkeys(stack, count))
    return [(name, count / total, whole[name] / total) for name, count in own.most_common(most)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--built", type=Path, required=True, help="data folder that bench/million.py --keep left")
    parser.add_argument("--kind", default="", help="union, intersection or phrase; all of them if none is given")
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=20.0, help="of processor time")
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--most", type=int, default=60, help="functions in the table")
    options = parser.parse_args()
    asked = make_queries(list(tokenise(p.text for p in islice(make_passages(options.words), 5_000))))
    queries = [Query(query.typed) for query in asked if options.kind in ("", query.kind)]
    searcher = Searcher.open(options.built, Settings(folder=str(options.built)))
    searcher.ready()
    for query in queries:
        searcher.search(query)
    gc.collect()
    gc.freeze()  # As a server does: what lives for good is not looked at again.
    began, count = time.process_time(), 0
    with StackSampler("Searcher.search") as sampler:
        while time.process_time() - began < options.seconds:
            searcher.search(queries[count % len(queries)])
            count += 1
    mean = (time.process_time() - began) / count * 1e6
    kinds = options.kind or "all kinds"
    print(f"{kinds}: {count} queries, {mean:.0f} us of a core each, {sum(sampler.stacks.values())} samples")
    for name, own, whole in tabulate(sampler.stacks, options.most):
        print(f"{own * mean:8.1f} us {whole * mean:8.1f} us with calls  {name}")
    if options.svg:
        title = f"From words to hits with titles and snippets, {kinds}: shares of the time of a core"
        options.svg.write_text(draw(arrange(sampler.stacks), title), "utf-8")


if __name__ == "__main__":
    main()
