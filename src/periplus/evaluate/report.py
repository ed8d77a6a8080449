"""The report of an evaluation: one HTML page that needs nothing else, and the same figures as JSON."""

import contextlib
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus.errors import CorruptFile
from periplus.evaluate.bootstrap import Difference, average_gain
from periplus.evaluate.comparison import Comparison, QueryChange
from periplus.evaluate.experiment import Evaluation, Result
from periplus.evaluate.report_plots import Bar, bars, waterfall
from periplus.files import decode_json, disk_errors, encode_json, make_folder, write_atomically
from periplus.json_lines import append_json_line, read_json_lines

__all__ = ["AverageGain", "average_gains", "figures", "read_quality", "record_quality", "write_report"]

_FORMAT: Final = 2
"""The number of what `quality` in a data folder holds; it is raised whenever that changes.
Since 2, the files have checksums."""
_MAX_HISTORY_BYTES: Final = 256 << 20
_HISTORY: Final = 600
"""Most lines of history that are read."""
_STYLE: Final = """
:root{color-scheme:light dark;--paper:#FBFAF7;--ink:#1B1F24;--quiet:#5B6670;--hair:#E2DFD8;--deep:#0B5E6B;
--warn:#9A3412}
@media(prefers-color-scheme:dark){:root{--paper:#10161C;--ink:#E6E9EC;--quiet:#98A4AE;--hair:#26313A;--deep:#5CC4D3;
--warn:#F5A97F}}
body{background:var(--paper);color:var(--ink);font:16px/24px system-ui,sans-serif;max-width:58rem;margin:2rem auto;
padding:0 1rem}
h1,h2,h3{font-weight:600;line-height:1.3}h2{margin-top:3rem;border-top:1px solid var(--hair);padding-top:1.5rem}
p,caption,th,figcaption{color:var(--quiet)}td,th{padding:.2rem .8rem .2rem 0;text-align:right;font-weight:400;
font-variant-numeric:tabular-nums;white-space:nowrap}td:first-child,th:first-child{text-align:left;
white-space:normal;min-width:7rem}tr{border-bottom:1px solid var(--hair)}table{border-collapse:collapse;display:block;
overflow-x:auto;
font-size:.875rem}
svg{width:100%;height:auto;margin:1rem 0}svg text{fill:var(--ink);font-size:13px}.axis{stroke:var(--quiet)}
.whisker{stroke:var(--ink)}.gain{fill:var(--deep);fill-opacity:.75}.loss{fill:var(--warn);fill-opacity:.75}
"""


class AverageGain(msgspec.Struct, frozen=True):
    """The relative gain of a variant in nDCG at 10, averaged over collections."""

    name: str
    title: str
    collections: int
    gain: float
    low: float
    high: float
    p: float


def average_gains(judged: Sequence[Evaluation]) -> tuple[AverageGain, ...]:
    """Average the gain of every variant over what it is compared with, over the collections where it was measured."""
    found: list[AverageGain] = []
    for name, title in dict.fromkeys((r.name, r.title) for one in judged for r in one.results):
        results = [(one, result.comparison) for one in judged if (result := one.result(name)) and result.comparison]
        pairs = [(one.ndcg(name), one.ndcg(comparison.base)) for one, comparison in results]
        if pairs:
            gain: Difference = average_gain(pairs)
            found.append(AverageGain(name, title, len(pairs), gain.mean, gain.low, gain.high, gain.p))
    return tuple(found)


def figures(judged: Sequence[Evaluation], *, each: bool = True) -> dict[str, object]:
    """Return all figures as plain values; without `each`, those of single queries are omitted."""
    kept = judged if each else [msgspec.structs.replace(one, values={}) for one in judged]
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "collections": msgspec.to_builtins(list(kept)),
        "averages": msgspec.to_builtins(average_gains(judged)),
    }


def record_quality(folder: Path, judged: Sequence[Evaluation]) -> Path:
    """Keep the figures in a data folder, where the admin page finds them; earlier ones stay as one line each."""
    place = folder / "quality"
    found = figures(judged, each=False)
    with disk_errors(place):
        make_folder(place)
    line = msgspec.json.encode(_short(found["when"], judged))
    append_json_line(place / "history.jsonl", line, _FORMAT, _MAX_HISTORY_BYTES)
    write_atomically(place / "latest.json", encode_json({**found, "format": _FORMAT}))
    return place / "latest.json"


def read_quality(folder: Path) -> tuple[Any, list[Any]]:
    """Return the figures that `record_quality` stored last, None if there are none, and the history of all."""
    latest_file, history_file = folder / "quality" / "latest.json", folder / "quality" / "history.jsonl"
    try:
        latest = decode_json(latest_file, latest_file.read_bytes(), dict[str, Any], _FORMAT, checksum_since=2)
    except (OSError, CorruptFile):
        return None, []
    history: deque[Any] = deque(maxlen=_HISTORY)
    for line in read_json_lines(history_file, _FORMAT, 2):
        with contextlib.suppress(CorruptFile):
            entry = decode_json(history_file, line, dict[str, Any], _FORMAT)
            if "ndcg" in entry:
                history.append(entry)
    return latest, list(history)


def _short(when: object, judged: Sequence[Evaluation]) -> dict[str, object]:
    scores = {one.collection: {r.name: round(r.ndcg, 5) for r in one.results if not r.skipped} for one in judged}
    return {"when": when, "ndcg": scores}


def write_report(path: Path, judged: Sequence[Evaluation]) -> Path:
    """Write the page to `path` and the figures beside it, as .json; give the path of the latter."""
    write_atomically(path, _page(judged).encode("utf-8", "replace"))
    comparison = path.with_suffix(".json")
    write_atomically(comparison, msgspec.json.encode(figures(judged)))
    return comparison


def _page(judged: Sequence[Evaluation]) -> str:
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Search quality</title>'
        f"<style>{_STYLE}</style></head><body>\n<h1>Search quality</h1>\n"
        f"<p>{when}. nDCG counts the first ten results, recall the first hundred. Intervals are of 95 %, by paired "
        "bootstrap over queries; p is how often chance alone would do as much.</p>\n"
        + _summary(judged)
        + "".join(map(_section, judged))
        + "</body></html>\n"
    )


def _summary(judged: Sequence[Evaluation]) -> str:
    """Return a plot of the average gain of each variant, and of its gain on each collection."""
    rows = [
        Bar(f"{result.title}, {one.collection}", result.comparison.gain, *_shares(result.comparison))
        for one in judged
        for result in one.results
        if result.comparison is not None and not result.name.startswith("-")
    ]
    mean = [
        Bar(f"{one.title}, average", one.gain, one.low, one.high) for one in average_gains(judged) if one.name[0] != "-"
    ]
    return "<h2>Gain in nDCG@10</h2>\n" + bars([*mean, *rows], "+.1%", "Relative gain in nDCG at 10")


def _shares(comparison: Comparison) -> tuple[float, float]:
    base = comparison.difference / comparison.gain if comparison.gain else 1.0
    return comparison.low / base, comparison.high / base


def _section(one: Evaluation) -> str:
    head = ("", "nDCG@10", "recall@100", "MRR", "against", "difference", "95 %", "p", "wins", "losses")
    table = _table(head, [_row(one, result) for result in one.results])
    parts = [
        f"<h2>{escape(one.collection)}</h2>\n<p>{one.documents:,} documents, {one.queries:,} queries.</p>\n{table}"
    ]
    parts += [f"<p>{escape(r.title)} was left out: {escape(r.skipped)}</p>\n" for r in one.results if r.skipped]
    off = [
        Bar(r.title, r.comparison.difference, r.comparison.low, r.comparison.high)
        for r in _ablated(one)
        if r.comparison
    ]
    if off:
        parts.append("<h3>With one part switched off</h3>\n" + bars(off, "+.4f", "Change of nDCG without each part"))
    return "".join([*parts, *(_moves(one, result) for result in one.results if not result.name.startswith("-"))])


def _ablated(one: Evaluation) -> list[Result]:
    return [result for result in one.results if result.name.startswith("-")]


def _row(one: Evaluation, result: Result) -> list[str]:
    if result.skipped:
        return [result.title, *["-"] * 9]
    cells = [result.title, f"{result.ndcg:.4f}", f"{result.recall:.4f}", f"{result.mrr:.4f}"]
    found = result.comparison
    if found is None:
        return [*cells, *[""] * 6]
    titles = {other.name: other.title for other in one.results}
    interval = f"{found.low:+.4f} to {found.high:+.4f}"
    return [
        *cells,
        titles.get(found.base, found.base),
        f"{found.difference:+.4f}",
        interval,
        f"{found.p:.4f}",
        f"{found.wins:,}",
        f"{found.losses:,}",
    ]


def _moves(one: Evaluation, result: Result) -> str:
    """Show which queries moved between a variant and the one it is compared with."""
    found = result.comparison
    if found is None or not found.wins + found.losses:
        return ""
    name = f"{result.title} against {found.base}"
    drawn = waterfall(one.ndcg(result.name) - one.ndcg(found.base), f"{one.collection}: {name}, query by query")
    return (
        f"<h3>{escape(name)}</h3>\n<p>All queries, the largest gain first: {found.wins:,} won, {found.losses:,} lost, "
        f"{found.ties:,} stayed.</p>\n{drawn}" + _queries("Won most", found.best) + _queries("Lost most", found.worst)
    )


def _queries(title: str, moved: Sequence[QueryChange]) -> str:
    if not moved:
        return ""
    rows = [[one.words or one.query, f"{one.before:.3f}", f"{one.after:.3f}"] for one in moved]
    return _table((title, "before", "after"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    first = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f"<table><thead><tr>{first}</tr></thead>\n<tbody>\n{body}</tbody></table>\n"
