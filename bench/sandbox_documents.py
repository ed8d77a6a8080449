"""Ordinary documents: how many a second are parsed in limited processes, compared with parsing in the process itself.

.venv/bin/python bench/sandbox_documents.py [--documents 600] [--rounds 3] [--processes 1,2]

The documents are made by the libraries of other programs (fpdf2, python-docx, openpyxl, python-pptx, odfdo), and are
the feeds, Markdown and XML of tests/parse/files. In turns, the best round of each: parsing here, one document after the
other; through the pool with one process, which shows what a process costs; and with more. Besides the clock there is
the processor time of all processes together, which a busy machine does not change. The first document also waits for
the pool to start, which is stated by itself.
"""

import argparse
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "parse"))

import real_files

from periplus.parse import ParseJob, ParserPool, parse
from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.settings import ParseSettings
from periplus.url import parse_address
from record import save

FILES = Path(__file__).parents[1] / "tests" / "parse" / "files"
KINDS = {".rss": "application/rss+xml", ".atom": "application/atom+xml", ".md": "text/markdown", ".xml": "text/xml"}
WORDS = "harbour light keeper tide ship rock lamp oil stair glass storm coast night bell fog sound chart rope"


def text(generator: random.Random, words: int) -> str:
    return " ".join(generator.choices(WORDS.split(), k=words)).capitalize() + "."


def make_pdf(generator: random.Random) -> bytes:
    from fpdf import FPDF

    document = FPDF()
    for _ in range(generator.randint(2, 12)):
        document.add_page()
        document.set_font("Helvetica", size=11)
        document.multi_cell(0, 6, text(generator, 350))
    return bytes(document.output())


def make_docx(generator: random.Random) -> bytes:
    import docx

    document = docx.Document()
    for _ in range(generator.randint(10, 60)):
        document.add_paragraph(text(generator, 60))
    return real_files._bytes(document)


def make_xlsx(generator: random.Random) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for _ in range(generator.randint(50, 400)):
        book.active.append([text(generator, 3), generator.random(), generator.randint(0, 999)])
    return real_files._bytes(book)


def make_documents(count: int, seed: int) -> list[FetchResult]:
    """Return documents of all formats; half are PDFs, as on the web."""
    generator = random.Random(seed)
    makers = (make_pdf, make_docx, make_xlsx)
    made = [make(generator) for make in makers for _ in range(6)]
    fixed = [real_files.pptx(), real_files.odt()]
    small = [(path.read_bytes(), KINDS[path.suffix]) for path in sorted(FILES.iterdir()) if path.suffix in KINDS]
    pool = [(body, "") for body in (*made, *made[:6], *fixed)] + small
    chosen = [pool[number % len(pool)] for number in range(count)]
    generator.shuffle(chosen)
    return [make_result(body, kind, number) for number, (body, kind) in enumerate(chosen)]


def make_result(body: bytes, kind: str, number: int) -> FetchResult:
    request = FetchRequest(parse_address(f"http://documents.example/{number}"))
    return FetchResult(request, Outcome.OK, 0.0, 200, (("content-type", kind),), body)


class Rate(NamedTuple):
    """Documents a second by the clock, and milliseconds of processor time for each."""

    per_second: float
    processor_ms: float


def processor_seconds(pool: ParserPool | None) -> float:
    """Return the processor time of this process and of those of a pool."""
    total, ticks = time.process_time(), 0
    for server in pool.processes() if pool is not None else ():
        children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
        # The server has the time of its children that have ended.
        for process in (str(server), *children):
            ticks += sum(map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]))
    total += ticks / os.sysconf("SC_CLK_TCK")
    return total


def measure(results: list[FetchResult], pool: ParserPool | None) -> Rate:
    """Parse all documents, in the processes of the pool or here."""
    settings = ParseSettings()
    began, used = time.perf_counter(), processor_seconds(pool)
    pages = 0
    if pool is None:
        pages = sum(parse(result, settings) is not None for result in results)
    else:
        for result in results:
            pool.submit(ParseJob(result, settings))
        while pool.busy():
            pages += sum(parsed.page is not None for parsed in pool.poll(1.0))
    assert pages == len(results)
    seconds, used = time.perf_counter() - began, processor_seconds(pool) - used
    return Rate(len(results) / seconds, 1_000 * used / len(results))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", default="1,2")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    results = make_documents(options.documents, options.seed)
    size = sum(len(result.body) for result in results)
    kinds = Counter(page.kind.rpartition(".")[2] for result in results if (page := parse(result, ParseSettings())))
    print(f"{len(results)} documents, {size / 1e6:.1f} MB: {dict(kinds)}")
    figures: dict[str, object] = {"documents": len(results), "bytes": size, "kinds": dict(kinds)}
    counts = [int(number) for number in options.processes.split(",")]
    pools = {count: ParserPool(ParseSettings(processes=count)) for count in counts}
    rates: dict[str, list[Rate]] = {}
    try:
        for count, pool in pools.items():
            began = time.perf_counter()
            pool.parse(ParseJob(results[0], ParseSettings()))
            figures[f"start of {count}, seconds"] = round(time.perf_counter() - began, 2)
        for _ in range(options.rounds):
            rates.setdefault("here", []).append(measure(results, None))
            for count, pool in pools.items():
                name = f"{count} process" + ("es" if count > 1 else "")
                rates.setdefault(name, []).append(measure(results, pool))
    finally:
        for pool in pools.values():
            pool.close()
    for name, values in rates.items():
        rate, used = max(value.per_second for value in values), min(value.processor_ms for value in values)
        print(f"{name:>12}: {rate:8.1f} documents/s, {used:6.2f} ms of processor time each")
        figures[name] = {"documents per second": round(rate, 1), "processor ms": round(used, 3)}
    print(f"written to {save('sandbox_documents', figures)}")


if __name__ == "__main__":
    main()
