"""Learn the weights of ranking from judged collections, and what they are worth on collections they never saw.

.venv/bin/python training/ranking/learn_weights.py [--cache FOLDER] [--words-only] [--dry-run]

Every collection is left out once: weights are learned on the other eight and measured on it. Those weights are written
to training/ranking/loco/NAME.toml, which `make quality` runs through the engine. The weights of all nine go into
src/periplus/score/dynamic.toml and fusion.toml, the tables of docs/ranking.md follow, and a card beside them says what
they were learned from.
"""

import argparse
import re
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from candidate_dump import CandidateDump, dump_collection
from fusion_search import choose_fusion, choose_static, fusion_table, static_table
from ranking_objective import ndcg_at_ten
from weight_search import LearnedWeight, choose_features, learn_weights, prepare

from periplus.rank import feature_weights
from periplus.rank.feature_scorer import FeatureScorer
from periplus.score import FeatureWeight
from periplus.settings import Settings

ROOT: Final = Path(__file__).resolve().parents[2]
SHARED: Final = ROOT.parent / "shared" / "data" / "ir"
LOCO: Final = Path(__file__).parent / "loco"
COLLECTIONS: Final = (
    *("cranfield", "npl_vaswani", "squad11_dev", "medquad_liveqa", "simplewiki_entity"),
    *("cacm", "lisa", "time", "web_queries"),
)

_STATIC: Final = "static_similarity"
_MEASURED: Final = ("first", "full", "embeddings")

Weights = dict[str, LearnedWeight]


def apply(weights: Mapping[str, FeatureWeight], learned: Mapping[str, LearnedWeight]) -> dict[str, FeatureWeight]:
    """Return weights with the learned ones in place of those of the same names."""
    return dict(weights) | {
        name: FeatureWeight(pair.short, weights[name].shape, weights[name].about, pair.long)
        for name, pair in learned.items()
    }


def measure(dump: CandidateDump, weights: Mapping[str, FeatureWeight]) -> float:
    """Return nDCG@10 of a collection by some weights."""
    scorer, scores = FeatureScorer(weights), np.zeros(len(dump.grades))
    for begin, end in zip(dump.offsets[:-1].tolist(), dump.offsets[1:].tolist(), strict=True):
        scores[begin:end] = scorer.score(dump.features[begin:end].astype(np.float64))
    scores[dump.joined] = -np.inf
    grades, ideal = dump.grades.astype(np.float64), dump.ideal.astype(np.float64)
    return float(ndcg_at_ten(scores, grades, dump.offsets, ideal).mean())


def override_file(learned: Mapping[str, LearnedWeight], fusion: LearnedWeight | None) -> str:
    """Return the text of a weights file, as `rank.weights` reads it."""
    tables = [f"[dynamic.{name}]\nweight = {pair.short:g}\nlong = {pair.long:g}\n" for name, pair in learned.items()]
    if fusion is not None:
        tables.append(f"[fusion.similarity]\nweight = {fusion.short:g}\nlong = {fusion.long:g}\n")
    return "\n".join(tables)


def ship(file: Path, learned: Mapping[str, LearnedWeight]) -> None:
    """Write learned weights into a shipped weights file; everything else in it stays."""
    text = file.read_text("utf-8")
    for name, pair in learned.items():
        same = pair.short == pair.long
        lines = f"weight = {pair.short:g}\n" + ("" if same else f"long = {pair.long:g}\n")
        text, count = re.subn(rf"(\[{name}\]\n)weight = \S+\n(?:long = \S+\n)?", rf"\g<1>{lines}", text)
        if count != 1:
            sys.exit(f"{file} has no table [{name}].")
    file.write_text(text, "utf-8")


def document(page: Path, learned: Mapping[str, LearnedWeight]) -> None:
    """Write learned weights into the tables of docs/ranking.md."""
    text = page.read_text("utf-8")
    for name, pair in learned.items():
        cell = f"{pair.short:g}" if pair.short == pair.long else f"{pair.short:g} / {pair.long:g}"
        begin, end = text.index("## Dynamic scorer"), text.index("## URL scorer")
        table = re.sub(rf"(\| `{name}` \| )[^|]+( \|)", rf"\g<1>{cell}\g<2>", text[begin:end])
        text = text[:begin] + table + text[end:]
    page.write_text(text, "utf-8")


def show(stage: str, done: int, total: int) -> None:
    """Print the progress on one line of a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{stage} {done:,} of {total:,}" if done < total else "\r\033[K")


def learn_all(dumps: Sequence[CandidateDump]) -> tuple[dict[str, Weights], Weights]:
    """Return the weights without each collection, and those of all of them."""
    shipped = feature_weights()
    without: dict[str, Weights] = {}
    for left_out in dumps:
        others = [dump for dump in dumps if dump is not left_out]
        names = choose_features(others)
        without[left_out.collection] = learn_weights([prepare(dump, shipped, names) for dump in others], names)
    names = choose_features(dumps)
    everything = learn_weights([prepare(dump, shipped, names) for dump in dumps], names)
    statics = {dump.collection: static_table(dump, apply(shipped, without[dump.collection])) for dump in dumps}
    for name, learned in without.items():
        learned[_STATIC] = choose_static([table for other, table in statics.items() if other != name])
    everything[_STATIC] = choose_static(list(statics.values()))
    return without, everything


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--cache", type=Path, default=ROOT / "build" / "learn", help="Folder of indexes and candidates."
    )
    parser.add_argument("--words-only", action="store_true", help="Learn nothing of embeddings.")
    parser.add_argument("--dry-run", action="store_true", help="Write no weights.")
    options = parser.parse_args()
    began = time.monotonic()
    folders = [SHARED / name for name in COLLECTIONS if (SHARED / name).is_dir()]
    if len(folders) < len(COLLECTIONS):
        sys.exit(f"{SHARED} lacks some of {', '.join(COLLECTIONS)}.")
    dumps = []
    for folder in folders:
        dumps.append(dump_collection(folder, Settings(), options.cache, show, embeddings=not options.words_only))
        print(f"{folder.name}: {len(dumps[-1].ideal):,} queries, {time.monotonic() - began:,.0f} s", flush=True)
    without, everything = learn_all(dumps)
    shipped = feature_weights()
    tables = {}
    for dump in dumps:
        if not np.isnan(dump.similarities).all():
            tables[dump.collection] = fusion_table(dump, apply(shipped, without[dump.collection]))
    fusions = {name: choose_fusion([table for other, table in tables.items() if other != name]) for name in tables}
    rows = []
    print(f"{'nDCG@10':<20}{'BM25':>9}{'first':>9}{'loco':>9}{'fused':>9}")
    for dump in dumps:
        name, bm25 = dump.collection, float(dump.bm25.mean())
        first = measure(dump, apply(shipped, {key: LearnedWeight(0.0, 0.0) for key in without[name]}))
        words = measure(dump, apply(shipped, without[name]))
        fused = tables[name].value(fusions[name]) if name in tables else float("nan")
        rows.append((first / bm25 - 1, words / bm25 - 1, fused / bm25 - 1))
        print(f"{name:<20}{bm25:>9.4f}" + "".join(f"{value:>9.4f}" for value in (first, words, fused)))
    means = np.array(rows).mean(axis=0)
    print(f"{'mean gain over BM25':<29}" + "".join(f"{gain:>+9.1%}" for gain in means))
    fusion = choose_fusion(list(tables.values())) if len(tables) == len(dumps) else None
    if not options.dry_run:
        write(without, fusions if fusion else {}, everything, fusion, dumps, means.tolist())
    print(f"{time.monotonic() - began:,.0f} s")


def write(
    without: Mapping[str, Weights],
    fusions: Mapping[str, LearnedWeight],
    everything: Weights,
    fusion: LearnedWeight | None,
    dumps: Sequence[CandidateDump],
    means: Sequence[float],
) -> None:
    """Write the weights without each collection, those of all, and what they were learned from."""
    LOCO.mkdir(exist_ok=True)
    for name, learned in without.items():
        (LOCO / f"{name}.toml").write_text(override_file(learned, fusions.get(name)), "utf-8")
    score = ROOT / "src" / "periplus" / "score"
    ship(score / "dynamic.toml", everything)
    document(ROOT / "docs" / "ranking.md", everything)
    if fusion is not None:
        ship(score / "fusion.toml", {"similarity": fusion})
        document(ROOT / "docs" / "ranking.md", {"similarity": fusion})
    card = {
        "date": datetime.now(UTC).date().isoformat(),
        "method": "coordinate ascent on nDCG@10, weights of short and of long queries, not negative; "
        "weights of similarities from a grid",
        "collections": {dump.collection: len(dump.ideal) for dump in dumps},
        "learned": {name: list(pair) for name, pair in everything.items()},
        "fusion": list(fusion) if fusion else None,
        "left_out_gain_over_bm25": {
            name: round(gain, 4) for name, gain in zip(_MEASURED, means, strict=True) if not np.isnan(gain)
        },
    }
    (score / "learned_card.json").write_bytes(msgspec.json.format(msgspec.json.encode(card), indent=1) + b"\n")


if __name__ == "__main__":
    main()
