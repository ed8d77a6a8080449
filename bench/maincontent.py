"""Main content: ours, resiliparse's and trafilatura's, on hand-marked pages and on documentation, in one run.

.venv/bin/python bench/maincontent.py [FOLDER] [--flag-pages 1000]

In the pages of bench/pages, what stands between <!--[--> and <!--]--> is the main content; the marks are taken out
before anybody sees the page. Documentation is that of Debian's packages (doc_packages.py), where the markup of the
generator that wrote a page is the truth: see generators.py. The measure is F1 over words (as a bag) for each page, then
the mean over pages; for documentation over the pages of a generator, then over generators. Pages of the same packages
are checked for flags, and so are pages made as spam.
"""

import argparse
import html
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from doc_packages import docs_folder
from flagged_pages import measure_flags
from generator_table import GENERATORS
from generators import read_pages
from periplus.parse import main_text, parse
from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.settings import ParseSettings
from periplus.url import parse_address
from record import save

MARKED = re.compile(r"<!--\[-->(.*?)<!--\]-->", re.DOTALL)
WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]|\w+")
_PAGES_PER_GENERATOR = 25
Extract = Callable[[str], str]


def truth_of(marked: str) -> str:
    pieces = (re.sub(r"<[^>]+>", " ", piece) for piece in MARKED.findall(marked))
    return html.unescape("\n".join(pieces))


def words_of(text: str) -> Counter[str]:
    return Counter(WORD.findall(text.lower()))


def score(found: str, true: str) -> tuple[float, float, float]:
    """Return precision, recall and F1 over words."""
    mine, theirs = words_of(found), words_of(true)
    both = sum((mine & theirs).values())
    precision, recall = both / max(1, sum(mine.values())), both / max(1, sum(theirs.values()))
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def ours(page: str) -> str:
    due = FetchRequest(parse_address("http://page.example/"))
    headers = (("content-type", "text/html; charset=utf-8"),)
    read = parse(FetchResult(due, Outcome.OK, 0.0, 200, headers, page.encode()), ParseSettings())
    return main_text(read) if read else ""


def all_text(page: str) -> str:
    return html.unescape(re.sub(r"(?is)<(script|style|title|button|select)\b.*?</\1>|<[^>]+>", " ", page))


def peers() -> dict[str, Extract]:
    found: dict[str, Extract] = {}
    try:
        from resiliparse.extract.html2text import extract_plain_text

        found["resiliparse"] = lambda page: extract_plain_text(page, main_content=True, alt_texts=False)
    except ImportError:
        print("resiliparse is not installed: left out")
    try:
        import trafilatura

        found["trafilatura"] = lambda page: trafilatura.extract(page, include_comments=False) or ""
        found["trafilatura, recall"] = lambda page: (
            trafilatura.extract(page, include_comments=False, favor_recall=True) or ""
        )
    except ImportError:
        print("trafilatura is not installed: left out")
    return found


def measure(folder: Path) -> dict[str, dict[str, object]]:
    """Measure one folder of pages, and show it."""
    pages = {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("*.html"))}
    ways: dict[str, Extract] = {"periplus": ours, **peers(), "all text": all_text}
    figures: dict[str, dict[str, object]] = {}
    print(f"{'F1':<12}" + "".join(f"{name:>21}" for name in ways))
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
    seconds = dict.fromkeys(ways, 0.0)
    bare = {name: re.sub(r"<!--\[-->|<!--\]-->", "", page) for name, page in pages.items()}
    for way in ways.values():
        way(next(iter(bare.values())))
    for name, page in pages.items():
        for way, extract in ways.items():
            began = time.perf_counter()
            found = extract(bare[name])
            seconds[way] += time.perf_counter() - began
            rows[way].append(score(found, truth_of(page)))
        print(f"{name:<12}" + "".join(f"{rows[way][-1][2]:>21.3f}" for way in ways))
    for way in ways:
        mean = [sum(values) / len(pages) for values in zip(*rows[way], strict=True)]
        figures[way] = dict(zip(("precision", "recall", "f1"), mean, strict=True))
        figures[way]["milliseconds"] = seconds[way] / len(pages) * 1e3
        figures[way]["pages"] = {name: row[2] for name, row in zip(pages, rows[way], strict=True)}
    for key in ("f1", "precision", "recall", "milliseconds"):
        print(f"{key:<12}" + "".join(f"{figures[way][key]:>21.3f}" for way in ways))
    return figures


def measure_documentation(folder: Path) -> dict[str, dict[str, Any]]:
    """Measure documentation by generator, those of development and those that were held out; show both."""
    ways: dict[str, Extract] = {"periplus": ours, **peers(), "all text": all_text}
    rows: dict[str, list[list[float]]] = defaultdict(list)
    for page in read_pages(folder, _PAGES_PER_GENERATOR):
        rows[page.generator].append([score(extract(page.markup), page.content)[2] for extract in ways.values()])
    if not rows:
        print(f"\nno documentation of a known generator in {folder}: left out (DOCS_FOLDER=...)")
        return {}
    means = {name: [sum(values) / len(pages) for values in zip(*pages, strict=True)] for name, pages in rows.items()}
    held_out = {generator.name for generator in GENERATORS if generator.held_out}
    groups = {"development": means.keys() - held_out, "held out": means.keys() & held_out, "documentation": set(means)}
    figures: dict[str, dict[str, Any]] = {}
    for group, names in groups.items():
        print(f"\n{group:<17}{'pages':>6}" + "".join(f"{name:>21}" for name in ways))
        for name in [name for name in means if name in names and group != "documentation"]:
            print(f"{name:<17}{len(rows[name]):>6}" + "".join(f"{value:>21.3f}" for value in means[name]))
        figures[group] = _summarize({name: values for name, values in means.items() if name in names}, list(ways))
        figures[group]["pages"] = {name: len(rows[name]) for name in means if name in names}
    return figures


def _summarize(means: dict[str, list[float]], ways: list[str]) -> dict[str, Any]:
    """Return the mean and the worst of some generators for each extraction, and show them."""
    figures: dict[str, Any] = {}
    for number, way in enumerate(ways):
        by_generator = {name: values[number] for name, values in means.items()}
        f1 = sum(by_generator.values()) / max(1, len(by_generator))
        figures[way] = {"f1": f1, "worst": min(by_generator.values(), default=0.0), "generators": by_generator}
    for key in ("f1", "worst"):
        print(f"{key:<23}" + "".join(f"{figures[way][key]:>21.3f}" for way in ways))
    return figures


def main(folder: Path, flag_pages: int) -> None:
    """Measure pages that the rules were made with, pages that were not looked at before, documentation, and flags."""
    figures: dict[str, Any] = {"seen": measure(folder)}
    if (folder / "unseen").is_dir():
        print("\nunseen")
        figures["unseen"] = measure(folder / "unseen")
    documentation = docs_folder()
    figures |= measure_documentation(documentation)
    parts = list(figures)
    figures["flags"] = measure_flags(documentation, flag_pages)
    saved = save("maincontent", figures).name
    for part in parts:
        found = figures[part]
        best = max((found[way]["f1"], way) for way in found if way not in ("periplus", "all text", "pages"))
        print(f"{part}: F1 {found['periplus']['f1']:.3f}, {best[1]} {best[0]:.3f}   ({saved})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent / "pages")
    parser.add_argument(
        "--flag-pages", type=int, default=1_000, help="pages of each package that are checked for flags"
    )
    options = parser.parse_args()
    main(options.folder, options.flag_pages)
