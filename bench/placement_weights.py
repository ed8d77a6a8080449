"""Weights of placement, chosen without the collection that they are judged on.

.venv/bin/python bench/placement_weights.py [--events 120000] [--no-save]

The weights that sites use were chosen on logs of all collections. Here they are chosen once for each collection, on
logs of the others, and judged by new documents of the one that was left out, with logs of other seeds.
"""

import argparse
import itertools
from pathlib import Path
from typing import Any

import numpy as np

import record
from geo import COLLECTIONS, DATA, LANGUAGES, SEEDS, SITES
from periplus.evaluate import draw_regional_log, prepare_placement, read_regional_collection
from periplus.evaluate.sites.placement_quality import popularity_ordinal
from periplus.sites import MasterIndexer, PlacementWeights

CHOSEN_WITH = (17, 18, 19)
GRID = [
    PlacementWeights()._replace(words=words, language=language, host=host, activity=activity)
    for words, language, host, activity in itertools.product(
        (0.5, 1.0, 2.0), (0.0, 0.25, 1.0), (0.0, 1.0, 2.0), (0.25, 0.5, 1.0)
    )
]
IN_USE = GRID.index(PlacementWeights())
BATCH = 64


def judge(collection: Any, names: list[str], seed: int, events: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the documents of each collection that were placed best, by weights, and how many were judged."""
    log = draw_regional_log(collection, len(SITES), events, homes_of=LANGUAGES, seed=seed)
    data = prepare_placement(collection, log, SITES)
    owners = np.array([names.index(collection.documents[number].collection) for number in data.numbers])
    right = np.zeros((len(GRID), len(names)), np.int64)
    for row, weights in enumerate(GRID):
        indexer = MasterIndexer(data.sites, data.interests, weights=weights)
        choices = [
            choice.site
            for start in range(0, len(data.pages), BATCH)
            for choice in indexer.choose(data.pages[start : start + BATCH])
        ]
        best = [
            popularity_ordinal(site, data.popularity[number]) == 1
            for site, number in zip(choices, data.numbers, strict=True)
        ]
        right[row] = np.bincount(owners[np.array(best)], minlength=len(names))
    return right, np.bincount(owners, minlength=len(names))


def main() -> None:
    """Measure, print and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=120_000)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--no-save", action="store_true")
    options = parser.parse_args()
    names = [*COLLECTIONS, *LANGUAGES]
    collection = read_regional_collection([options.data / name for name in names])
    sums = []
    for seeds in (CHOSEN_WITH, SEEDS):
        parts = [judge(collection, names, seed, options.events) for seed in seeds]
        sums.append((sum(right for right, _ in parts), sum(count for _, count in parts)))
    (chosen_right, _), (right, counts) = sums
    rows = []
    for number, name in enumerate(names):
        others = np.delete(chosen_right, number, axis=1).sum(axis=1)
        row = int(others.argmax())
        rows.append(
            {
                "collection": name,
                "documents": int(counts[number]),
                "left out": round(float(right[row, number] / max(1, counts[number])), 4),
                "in use": round(float(right[IN_USE, number] / max(1, counts[number])), 4),
                "weights": GRID[row]._asdict(),
            }
        )
    total = max(1, int(counts.sum()))
    figures = {
        "grid": len(GRID),
        "chosen with logs": CHOSEN_WITH,
        "judged by logs": SEEDS,
        "precision": {
            "weights chosen without the collection": round(
                sum(r["left out"] * r["documents"] for r in rows) / total, 4
            ),
            "weights in use": round(float(right[IN_USE].sum() / total), 4),
            "best weights of the grid for these logs": round(float(right.sum(axis=1).max() / total), 4),
        },
        "rows": rows,
    }
    print(figures["precision"])
    for row in rows:
        print(row)
    if not options.no_save:
        record.save("placement-weights", figures)


if __name__ == "__main__":
    main()
