"""What a language model is given to read: is the text that answers within the first 1,000 and 2,000 tokens?

On squad11_dev, the paragraphs of an article are joined to one page, and the paragraph that answers a question is known;
on medquad_liveqa, pages are as they are and those that answer are judged. A question counts if half of the words of the
text that answers are in one piece of what is read. Passages are compared with the snippets of results and with the
beginnings of the pages, in the order of the results, each within the same number of tokens.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import zstandard

from periplus.app.engine import Engine
from periplus.records import Query
from periplus.search.presentation.page_passages import estimate_tokens
from record import save

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "ir"
BUDGETS = (1_000, 2_000)
COVERED = 0.5


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    packed = path.with_name(path.name + ".zst")
    data = (
        zstandard.ZstdDecompressor().stream_reader(packed.open("rb")).read() if packed.exists() else path.read_bytes()
    )
    return (json.loads(line) for line in data.splitlines() if line)


def squad(folder: Path) -> tuple[list[dict[str, str]], list[tuple[str, list[str]]]]:
    articles: dict[str, list[dict[str, Any]]] = {}
    for paragraph in read_lines(folder / "docs.jsonl"):
        articles.setdefault(paragraph["id"].partition("#")[0], []).append(paragraph)
    pages = [
        {
            "id": name,
            "title": parts[0]["title"],
            "url": parts[0]["url"].partition("#")[0],
            "text": "\n\n".join(part["text"] for part in parts),
        }
        for name, parts in articles.items()
    ]
    texts = {part["id"]: part["text"] for parts in articles.values() for part in parts}
    asked = [(query["text"], [texts[query["id"].partition("/")[0]]]) for query in read_lines(folder / "queries.jsonl")]
    return pages, asked


def judged(folder: Path) -> tuple[list[dict[str, str]], list[tuple[str, list[str]]]]:
    pages = list(read_lines(folder / "docs.jsonl"))
    texts = {page["id"]: page["text"] for page in pages}
    rows = [line.split("\t") for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()]
    good: dict[str, list[str]] = {}
    for query, document, grade in (row[:3] for row in rows if row[2].isdigit()):
        if int(grade) > 1 and document in texts:
            good.setdefault(query, []).append(texts[document])
    asked = [
        (query["text"], good[query["id"]]) for query in read_lines(folder / "queries.jsonl") if query["id"] in good
    ]
    return pages, asked


def within(texts: list[str], tokens: int) -> list[str]:
    """Return texts as far as a budget goes; the last is cut."""
    shown = []
    for text in texts:
        if tokens <= 0:
            break
        if estimate_tokens(text) > tokens:
            text = text[: tokens * 4]
        shown.append(text)
        tokens -= estimate_tokens(text)
    return shown


def answers(read: list[str], good: list[str], tokens: int) -> bool:
    """Return whether one of the good texts, as far as the budget could show it, is read in one piece."""
    for text in good:
        wanted = text.split()[: tokens // 2]
        for piece in read:
            words = set(piece.split())
            if sum(word in words for word in wanted) >= COVERED * min(len(wanted), 80):
                return True
    return False


def measure(name: str, folder: Path, count: int, where: Path) -> dict[str, Any]:
    pages, asked = (squad if name == "squad11_dev" else judged)(folder)
    source = where / f"{name}.jsonl"
    source.write_text("".join(json.dumps(page) + "\n" for page in pages), "utf-8")
    with Engine(where / name) as engine:
        engine.import_([source])
        engine.build()
        searcher = engine._open_searcher()
        random.Random(7).shuffle(asked)
        asked = asked[:count]
        searcher.passages(Query("warm up"), 100)
        figures: dict[str, Any] = {"pages": len(pages), "questions": len(asked)}
        for tokens in BUDGETS:
            figures[str(tokens)] = ask_all(searcher, asked, tokens)
        return figures


def ask_all(searcher: Any, asked: list[tuple[str, list[str]]], tokens: int) -> dict[str, Any]:
    found, verified, passages, times = {"passages": 0, "snippets": 0, "beginnings": 0}, 0, 0, []
    for words, good in asked:
        query = Query(words, size=20)
        begun = time.perf_counter()
        page, found_passages = searcher.passages(query, tokens)
        times.append(time.perf_counter() - begun)
        hits = page.hits
        pages = [searcher.cached_page(hit.key) for hit in hits[: max(1, tokens // 400)]]
        for passage in found_passages:
            copy = searcher.cached_page(passage.key)
            passages += 1
            verified += copy is not None and copy.text[passage.begin : passage.end] == passage.text
        read: dict[str, Callable[[], list[str]]] = {
            "passages": lambda read=found_passages: [passage.text for passage in read],  # type: ignore[misc]
            "snippets": lambda hits=hits: ["".join(text for text, _ in hit.snippet) for hit in hits],  # type: ignore[misc]
            "beginnings": lambda pages=pages: [page.text[: 400 * 4] for page in pages if page],  # type: ignore[misc]
        }
        for kind, texts in read.items():
            found[kind] += answers(within(texts(), tokens), good, tokens)
    times.sort()
    shares = {kind: round(number / len(asked), 4) for kind, number in found.items()}
    milliseconds = {"p50_ms": times[len(times) // 2] * 1000, "p99_ms": times[int(len(times) * 0.99)] * 1000}
    return shares | {name: round(value, 2) for name, value in milliseconds.items()} | {"verified": verified / passages}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=1_000)
    options = parser.parse_args()
    collections = [name for name in ("squad11_dev", "medquad_liveqa") if (DATA / name).exists()]
    if not collections:
        print("No judged collections: ../shared/data/ir is absent.")
        return
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in collections:
            figures[name] = measure(name, DATA / name, options.questions, Path(folder))
            print(name, json.dumps(figures[name]))
    save("agents", figures)
    print(", ".join(f"{name}: {figures[name]['1000']['passages']:.1%} within 1,000 tokens" for name in figures))


if __name__ == "__main__":
    main()
