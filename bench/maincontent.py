"""Main content: ours, resiliparse's and trafilatura's, on hand-marked pages and on documentation, in one run.

.venv/bin/python bench/maincontent.py [FOLDER]

In the pages of bench/pages, what stands between <!--[--> and <!--]--> is the main content; the marks are taken out
before anybody sees the page. Documentation is read from DOCS_FOLDER (/usr/share/doc), where the markup of the generator
that wrote a page is the truth: see generators.py. The measure is F1 over words (as a bag) for each page, then the mean
over pages; for documentation over the pages of a generator, then over generators.
"""

import html
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from generators import docs_folder, read_pages
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


def measure_documentation(folder: Path) -> dict[str, dict[str, object]]:
    """Measure documentation by generator, and show it."""
    ways: dict[str, Extract] = {"periplus": ours, **peers(), "all text": all_text}
    rows: dict[str, list[list[float]]] = defaultdict(list)
    for page in read_pages(folder, _PAGES_PER_GENERATOR):
        rows[page.generator].append([score(extract(page.markup), page.content)[2] for extract in ways.values()])
    if not rows:
        print(f"\nno documentation of a known generator in {folder}: left out (DOCS_FOLDER=...)")
        return {}
    print(f"\n{'documentation':<16}{'pages':>6}" + "".join(f"{name:>21}" for name in ways))
    means = {name: [sum(values) / len(pages) for values in zip(*pages, strict=True)] for name, pages in rows.items()}
    for name, values in means.items():
        print(f"{name:<16}{len(rows[name]):>6}" + "".join(f"{value:>21.3f}" for value in values))
    figures: dict[str, dict[str, object]] = {}
    for number, way in enumerate(ways):
        by_generator = {name: values[number] for name, values in means.items()}
        figures[way] = {"f1": sum(by_generator.values()) / len(by_generator), "worst": min(by_generator.values())}
        figures[way]["generators"] = by_generator
    for key in ("f1", "worst"):
        print(f"{key:<22}" + "".join(f"{figures[way][key]:>21.3f}" for way in ways))
    return figures


def main(folder: Path) -> None:
    """Measure pages that the rules were made with, pages that were not looked at before, and documentation."""
    figures = {"seen": measure(folder)}
    if (folder / "unseen").is_dir():
        print("\nunseen")
        figures["unseen"] = measure(folder / "unseen")
    if documentation := measure_documentation(docs_folder()):
        figures["documentation"] = documentation
    saved = save("maincontent", figures).name
    for part, found in figures.items():
        best = max((found[way]["f1"], way) for way in found if way not in ("periplus", "all text"))
        print(f"{part} pages: F1 {found['periplus']['f1']:.3f}, {best[1]} {best[0]:.3f}   ({saved})")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "pages")
