"""Write tests/golden/index-v1: a tiny index in today's format, which every later version must open.

Run it once for each version of the format, never again for one that has been released: that the old files still open
is what the test is for.
"""

import json
import shutil
import sys
from pathlib import Path

from periplus.fingerprint import fingerprint_text
from periplus.index import Index, LiveIndex, build_index
from periplus.index.manifest import FORMAT
from periplus.records import Outcome, Page, Query, Visit
from periplus.search import Searcher
from periplus.settings import IndexSettings, Settings

ROOT = Path(__file__).resolve().parents[1]
QUERIES = (
    "lighthouse",
    '"old harbour"',
    "harbour -fog",
    "leuchtturm",
    "site:coast.example",
    "灯台",
    "lighthouse keeper",
)
PAGES = (
    ("https://coast.example/", "The coast", "An old harbour, a lighthouse and much fog.", "en"),
    ("https://coast.example/light", "The lighthouse", "The lighthouse keeper lights the lighthouse at dusk.", "en"),
    ("https://coast.example/harbour", "Old harbour", "Ships lie in the old harbour. No wind today.", "en"),
    ("https://coast.example/fog", "Fog", "Fog over the harbour; the bell of the buoy.", "en"),
    ("https://nord.example/turm", "Der Leuchtturm", "Der Leuchtturm steht auf dem Deich am Meer.", "de"),
    ("https://kita.example/todai", "灯台", "灯台は海のそばにあります。", "ja"),
    ("https://coast.example/gone", "Gone", "This page of the harbour was deleted.", "en"),
    ("https://coast.example/old", "Old version", "The old version of a page about the lighthouse.", "en"),
)


def visit(url: str, title: str, text: str, language: str) -> Visit:
    """Make a page as a crawl would."""
    page = Page(url, title=title, text=text, language=language, headings=(title,), emphasis=("harbour",))
    return Visit(url, fingerprint_text(url), Outcome.OK, 1_700_000_000.0, 200, page=page)


def write(folder: Path) -> None:
    """Write two segments, dead documents, and a change that waits in the journal."""
    index = folder / "index"
    build_index([visit(*page) for page in PAGES], index, IndexSettings())
    live = LiveIndex(index, IndexSettings(), background=False)
    live.add(visit("https://coast.example/old", "New version", "The new version of a page about the lighthouse.", "en"))
    live.delete("https://coast.example/gone")
    live.publish()
    live.add(visit("https://coast.example/late", "Late", "A late page about the lighthouse.", "en"))
    shutil.copytree(index, folder / "waiting")
    live.close()
    shutil.rmtree(index)
    (folder / "waiting").rename(index)


def expected(folder: Path) -> dict[str, object]:
    """Say what must be found as long as nobody takes up the change in the journal."""
    searcher = Searcher.open(folder, Settings())
    found = {words: sorted(hit.url for hit in searcher.search(Query(words)).hits) for words in QUERIES}
    return {"format": FORMAT, "documents": Index.open(folder / "index").documents, "found": found}


def main() -> None:
    """Write the golden index of the present format, unless there is one."""
    folder = ROOT / "tests" / "golden" / f"index-v{FORMAT}"
    if folder.exists():
        sys.exit(f"{folder} is there already. Formats that were released must not be written again.")
    folder.mkdir(parents=True)
    write(folder)
    (folder / "expected.json").write_text(
        json.dumps(expected(folder), ensure_ascii=False, indent=1, sort_keys=True) + "\n", "utf-8"
    )
    for lock in folder.rglob(".*.lock"):
        lock.unlink()
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    sys.stdout.write(f"{folder}: {size:,} bytes\n")


if __name__ == "__main__":
    main()
