"""Search quality on judged collections: BM25 as bm25s gives it, our first stage, all of our ranking, and with meaning.

.venv/bin/python bench/quality.py [FOLDER...]     folders as `periplus evaluate` takes them; without any, the nine of
                                                  ../shared/data/ir that the bars are set for, and its xquad_*
The columns 'loco' are the same ranking by weights that were learned without the collection (training/ranking/loco, made
by `make learn-weights`): only they say what to expect of a collection that nobody has seen.
A run over some folders replaces only theirs in bench/results/quality.json.

    --keep FOLDER      keep the indexes there, to be used again
    --report FILE      write the HTML report of `periplus evaluate`
    --ablate           switch each weight of ranking off in turn
    --words-only       leave the variant with meaning out
"""

import argparse
import sys
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import msgspec

from bm25_peer import STEMMERS, bm25_run, language_of
from periplus.evaluate import (
    FIRST_STAGE,
    FULL_LEFT_OUT,
    FULL_PIPELINE,
    WITH_EMBEDDINGS,
    WITH_EMBEDDINGS_LEFT_OUT,
    Evaluation,
    QueryRunner,
    ablations,
    average_gain,
    average_gains,
    evaluate_variants,
    left_out_variants,
    select_variants,
    write_report,
)
from periplus.settings import Settings
from record import RESULTS, save

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "ir"
LOCO = Path(__file__).resolve().parents[1] / "training" / "ranking" / "loco"
FIRST_STAGE_PARAMETERS = LOCO / "first_stage.json"
"""By collection: settings of the first stage that were learned without it (training/ranking/learn_first_stage.py)."""
BARRED = (
    *("cranfield", "npl_vaswani", "squad11_dev", "medquad_liveqa", "simplewiki_entity"),
    *("cacm", "lisa", "time", "web_queries"),
)
"""The collections that Q1 to Q3 are about."""
LANGUAGES = tuple(f"xquad_{code}" for code in ("en", "de", "es", "ar", "zh"))
"""Those that Q4 is about."""
BM25 = "BM25"
COLUMNS = {
    BM25: "BM25",
    FIRST_STAGE: "first",
    FULL_PIPELINE: "full",
    FULL_LEFT_OUT: "loco",
    WITH_EMBEDDINGS: "+ meaning",
    WITH_EMBEDDINGS_LEFT_OUT: "+ loco",
}


def measure(folder: Path, settings: Settings, given: argparse.Namespace, runner: QueryRunner) -> Evaluation:
    """Measure one collection; only those that the bars are about, and English ones, are asked with meaning."""
    language = language_of(folder)
    names = [FIRST_STAGE, FULL_PIPELINE]
    if language == "en" and folder.name not in LANGUAGES and not given.words_only:
        names.append(WITH_EMBEDDINGS)
    variants = select_variants(settings, names)
    weights, first_stage = LOCO / f"{folder.name}.toml", left_out_first_stage(folder.name, settings)
    left_out = left_out_variants(first_stage or settings, weights)[: 1 if given.words_only else 2]
    if weights.exists() and first_stage is None:
        variants += left_out
    variants += ablations(settings) if given.ablate else ()
    others = {BM25: partial(bm25_run, folder, language)} if language in STEMMERS else {}
    judged = evaluate_variants(
        folder, settings, variants, baselines=others, keep=given.keep, runner=runner, progress=show
    )
    if not weights.exists() or first_stage is None:
        return judged
    # The first stage is part of the index: weights that never saw the collection take an index of their own.
    keep = given.keep / "loco" if given.keep else None
    second = evaluate_variants(folder, first_stage, left_out, baselines=others, keep=keep, runner=runner, progress=show)
    results = judged.results + tuple(result for result in second.results if result.name != BM25)
    return msgspec.structs.replace(judged, results=results, values={**second.values, **judged.values})


def left_out_first_stage(collection: str, settings: Settings) -> Settings | None:
    """Return the settings with the parameters of the first stage that were learned without a collection, if stored."""
    try:
        stored = msgspec.json.decode(FIRST_STAGE_PARAMETERS.read_bytes())[collection]
    except (OSError, KeyError, msgspec.MsgspecError):
        return None
    index = {name: value for name, value in stored.items() if hasattr(settings.index, name)}
    rank = {name: value for name, value in stored.items() if hasattr(settings.rank, name)}
    return msgspec.structs.replace(
        settings,
        index=msgspec.structs.replace(settings.index, **index),
        rank=msgspec.structs.replace(settings.rank, **rank),
    )


def show(stage: str, done: int, total: int) -> None:
    """Print the progress on one line of a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{stage} {done:,} of {total:,}" if done < total else "\r\033[K")
        sys.stderr.flush()


def print_head() -> None:
    columns = "".join(f"{title:>10}" for title in COLUMNS.values())
    print(f"{'nDCG@10':<20}{'documents':>10}{'queries':>9}{columns}   gain and p against BM25", flush=True)


def print_row(one: Evaluation) -> None:
    """Print one collection, with the gain of each over BM25 and its chance."""
    cells, notes = [], []
    for name, title in COLUMNS.items():
        result = one.result(name)
        cells.append(f"{result.ndcg:>10.4f}" if result else f"{'-':>10}")
        if result and result.comparison and result.comparison.base == BM25:
            notes.append(f"{title} {result.comparison.gain:+.1%} (p {max(result.comparison.p, 0.001):.3f})")
    print(f"{one.collection:<20}{one.documents:>10,}{one.queries:>9,}{''.join(cells)}   {', '.join(notes)}", flush=True)


def print_others(judged: list[Evaluation]) -> None:
    """Print recall and reciprocal rank, and what switching each weight off does."""
    for measure_name, title in (("recall", "recall@100"), ("mrr", "MRR")):
        print(f"\n{title:<39}" + "".join(f"{title:>10}" for title in COLUMNS.values()))
        for one in judged:
            found = [one.result(name) for name in COLUMNS]
            print(
                f"{one.collection:<39}"
                + "".join(f"{getattr(r, measure_name):>10.4f}" if r else f"{'-':>10}" for r in found)
            )
    off = [mean for mean in average_gains(judged) if mean.name.startswith("-")]
    for mean in off:
        print(f"{mean.title:<39}{mean.gain:+.2%} nDCG@10 ({mean.low:+.2%} to {mean.high:+.2%}) against full")


def bars(judged: list[Evaluation]) -> list[tuple[str, bool | None, str]]:
    """Return for each target whether it is met, and by what; None where it was not measured."""
    known = {one.collection: one for one in judged}
    chosen = [known[name] for name in BARRED if name in known]
    rows = [{name: one.result(name) for name in COLUMNS} for one in chosen]

    def gains(name: str) -> list[float]:
        return [row[name].ndcg / row[BM25].ndcg - 1 for row in rows if row[name] and row[BM25]]  # type: ignore[union-attr]

    full, meant = gains(FULL_LEFT_OUT), gains(WITH_EMBEDDINGS_LEFT_OUT)
    whole, all_meant = len(full) == len(BARRED), len(meant) == len(BARRED)
    mean, least = sum(full) / max(1, len(full)), min(full, default=0.0)
    found: list[tuple[str, bool | None, str]] = [
        ("Q1 loco below BM25 nowhere by over 0.5 %", least >= -0.005 if whole else None, f"least {least:+.1%}"),
        ("Q2 loco full +6 % on average", mean >= 0.06 if whole else None, f"{mean:+.1%} (goal +10 %)"),
    ]
    mean, least = sum(meant) / max(1, len(meant)), min(meant, default=0.0)
    met = mean >= 0.12 and least >= -0.005 if all_meant else None
    found.append(("Q3 loco with meaning +12 %", met, f"{mean:+.1%}, least {least:+.1%} (goal +18 %)"))
    foreign = {name: known[name].result(FULL_PIPELINE) for name in LANGUAGES if name in known}
    ranks = {name.removeprefix("xquad_"): result.mrr for name, result in foreign.items() if result}
    least_rank = min(ranks.values(), default=0.0)
    told = " ".join(f"{name} {value:.4f}" for name, value in ranks.items())
    met = least_rank >= 0.9 if len(ranks) == len(LANGUAGES) else None
    return [*found, ("Q4 xquad MRR >= 0.90 in each language", met, f"{told} (goal 0.95)")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--ablate", action="store_true")
    parser.add_argument("--words-only", action="store_true")
    given = parser.parse_args()
    standard_variants = [SHARED / name for name in (*BARRED, *LANGUAGES)]
    folders = given.folders or [folder for folder in standard_variants if folder.is_dir()]
    if not folders:
        sys.exit(f"There is no {SHARED}. Give folders with docs.jsonl, queries.jsonl and qrels.tsv: FOLDERS='a b'.")
    began = time.monotonic()
    judged: list[Evaluation] = []
    print_head()
    with QueryRunner() as runner:
        for folder in folders:
            judged.append(measure(folder, Settings(), given, runner))
            print_row(judged[-1])
    report(judged, given, time.monotonic() - began)


def earlier(now: list[Evaluation]) -> tuple[list[Evaluation], dict[str, str]]:
    """Add the collections that earlier runs recorded; give all, with the day that each was measured on."""
    days = {one.collection: datetime.now(UTC).date().isoformat() for one in now}
    try:
        known = msgspec.json.decode((RESULTS / "quality.json").read_bytes())["figures"]
        before = msgspec.convert(known["collections"], list[Evaluation])
        days = {one.collection: known["days"][one.collection] for one in before} | days
    except (OSError, KeyError, TypeError, msgspec.MsgspecError):
        return now, days
    every = {one.collection: one for one in [*before, *now]}
    order = [*BARRED, *LANGUAGES, *every]
    return [every[name] for name in dict.fromkeys(order) if name in every], days


def mean_gains(judged: list[Evaluation]) -> str:
    """Return the gain of each over BM25, averaged over the collections where both were measured."""
    told = []
    for name in (FIRST_STAGE, FULL_PIPELINE, WITH_EMBEDDINGS):
        pairs = [(one.result(name), one.result(BM25)) for one in judged]
        gains = [ours.ndcg / theirs.ndcg - 1 for ours, theirs in pairs if ours and theirs]
        if gains:
            told.append(f"{COLUMNS[name]} {sum(gains) / len(gains):+.1%} ({len(gains)})")
    return ", ".join(told)


def left_out_gains(judged: list[Evaluation]) -> str:
    """Return the mean gains over BM25 by weights that never saw the collection."""
    told = []
    for name, title in ((FULL_LEFT_OUT, "full"), (WITH_EMBEDDINGS_LEFT_OUT, "embeddings")):
        pairs = [(one.result(name), one.result(BM25)) for one in judged]
        gains = [ours.ndcg / theirs.ndcg - 1 for ours, theirs in pairs if ours and theirs]
        told.append(f"{title} {sum(gains) / len(gains):+.1%}" if gains else f"{title} -")
    return f"loco {' '.join(told)}"


def print_intervals(judged: list[Evaluation]) -> None:
    """Print the mean gains of this run's collections with their 95 % intervals: queries drawn within each."""
    for name in (FULL_PIPELINE, FULL_LEFT_OUT, WITH_EMBEDDINGS, WITH_EMBEDDINGS_LEFT_OUT):
        pairs = [(one.ndcg(name), one.ndcg(BM25)) for one in judged if {name, BM25} <= one.values.keys()]
        if pairs:
            gain = average_gain(pairs)
            count = f"{len(pairs)} collections"
            print(f"{COLUMNS[name]:<10}{gain.mean:+.1%} ({gain.low:+.1%} to {gain.high:+.1%}) over {count}")


def report(judged: list[Evaluation], given: argparse.Namespace, seconds: float) -> None:
    """Print the rest, record it beside what earlier runs over other folders have recorded, and say of the bars."""
    print_others(judged)
    if given.report:
        write_report(given.report, judged)
    for reason in dict.fromkeys(f"{r.title} left out: {r.skipped}" for one in judged for r in one.results if r.skipped):
        print(reason)
    every, days = earlier(judged)
    met = bars(every)
    record: dict[str, Any] = {
        "collections": msgspec.to_builtins([msgspec.structs.replace(one, values={}) for one in every]),
        "days": days,
        "bars": [{"bar": name, "met": reached, "figure": told} for name, reached, told in met],
        "averages": msgspec.to_builtins(average_gains(judged)),
    }
    print(f"\n{seconds:,.0f} s, recorded in {save('quality', record).name}")
    if len(every) > len(judged):
        print(f"with {len(every) - len(judged)} collections that earlier runs recorded:")
    for name, reached, told in met:
        print(f"{'not measured' if reached is None else 'met' if reached else 'NOT MET':<13}{name:<48}{told}")
    chosen = [one for one in every if one.collection in BARRED] or every
    print_intervals(judged)
    print(f"nDCG@10 against BM25, mean over collections: {mean_gains(chosen)}; {left_out_gains(chosen)}")


if __name__ == "__main__":
    main()
