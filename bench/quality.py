"""Search quality on judged collections, ours and BM25 as bm25s gives it, in one run.

.venv/bin/python bench/quality.py FOLDER...        folders as `periplus evaluate` takes them
"""

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import bm25s
import Stemmer

from periplus.evaluate import evaluate, mrr, ndcg_at, read_collection, recall_at
from periplus.evaluate.collection import read_visits
from periplus.settings import Settings
from periplus.text import detect_language
from record import save

STEMMERS = {"en": "english", "de": "german", "es": "spanish", "ar": "arabic"}


def peer(folder: Path) -> dict[str, float] | None:
    """BM25, Lucene's variant, k1 1.2, b 0.75, Snowball stems and bm25s's English stop words."""
    collection = read_collection(folder)
    ids: list[str] = []
    texts = [f"{v.page.title} {v.page.text}" for v in read_visits(collection.documents, ids) if v.page]
    language = detect_language(" ".join(texts[:20]))
    if language not in STEMMERS:
        return None  # it splits at spaces only, so that a comparison would say nothing
    stemmer = Stemmer.Stemmer(STEMMERS[language])
    stops = "en" if language == "en" else None
    model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    model.index(bm25s.tokenize(texts, stopwords=stops, stemmer=stemmer, show_progress=False), show_progress=False)
    queries = list(collection.queries.items())
    tokens = bm25s.tokenize([q for _, q in queries], stopwords=stops, stemmer=stemmer, show_progress=False)
    found, scores = model.retrieve(tokens, k=min(100, len(ids)), show_progress=False)
    run = {
        query: {ids[n]: float(s) for n, s in zip(row, values, strict=True) if s > 0}
        for (query, _), row, values in zip(queries, found, scores, strict=True)
    }
    judged = {q: grades for q, grades in collection.qrels.items() if max(grades.values(), default=0) > 0}
    return {"ndcg": ndcg_at(run, judged, 10), "recall": recall_at(run, judged, 100), "mrr": mrr(run, judged)}


def main(folders: list[Path]) -> None:
    rows: list[dict[str, Any]] = []
    print(
        f"{'collection':<20}{'documents':>10}{'queries':>9}{'nDCG@10':>9}{'BM25':>8}{'R@100':>8}{'BM25':>8}{'MRR':>8}{'BM25':>8}"
    )
    for folder in folders:
        began = time.monotonic()
        ours = evaluate(folder, Settings())
        seconds = time.monotonic() - began
        theirs = peer(folder)
        rows.append(
            {
                "collection": folder.name,
                "documents": ours.documents,
                "queries": ours.queries,
                "seconds": round(seconds, 1),
                "periplus": {"ndcg": ours.ndcg, "recall": ours.recall, "mrr": ours.mrr},
                "bm25s": theirs,
            }
        )
        shown = [f"{theirs[name]:>8.4f}" if theirs else f"{'-':>8}" for name in ("ndcg", "recall", "mrr")]
        print(
            f"{folder.name:<20}{ours.documents:>10,}{ours.queries:>9,}{ours.ndcg:>9.4f}{shown[0]}"
            f"{ours.recall:>8.4f}{shown[1]}{ours.mrr:>8.4f}{shown[2]}",
            flush=True,
        )
    both = [row for row in rows if row["bm25s"]]
    gain = sum(row["periplus"]["ndcg"] / row["bm25s"]["ndcg"] - 1 for row in both) / max(1, len(both))
    print(f"nDCG@10 against BM25, mean over collections: {gain:+.1%}   ({save('quality', rows).name})")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or sys.exit(__doc__))
