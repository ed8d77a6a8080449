"""The report of a federation: one HTML page that needs nothing else, its plots as SVG files, its figures as JSON."""

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Final

import msgspec

from periplus.evaluate.report_plots import Bar, bars
from periplus.evaluate.sites.crawl_simulation import CrawlCost
from periplus.evaluate.sites.placement_simulation import PlacementResult
from periplus.evaluate.sites.sites_evaluation import SitesEvaluation
from periplus.evaluate.sites.sites_plots import Line, draw_lines
from periplus.files import disk_errors, make_folder, write_atomically

__all__ = ["FederationReport", "metric_rows", "write_sites_report"]

_COLOURS: Final = (
    ":root{color-scheme:light dark;--paper:#FBFAF7;--ink:#1B1F24;--quiet:#5B6670;--hair:#E2DFD8;--deep:#0B5E6B;"
    "--warn:#9A3412}@media(prefers-color-scheme:dark){:root{--paper:#10161C;--ink:#E6E9EC;--quiet:#98A4AE;"
    "--hair:#26313A;--deep:#5CC4D3;--warn:#F5A97F}}"
)
_PLOTS: Final = (
    "svg text{fill:var(--ink);font:13px system-ui,sans-serif}.axis{stroke:var(--quiet)}.grid{stroke:var(--hair)}"
    ".whisker{stroke:none}.gain{fill:var(--deep);fill-opacity:.75}.loss{fill:var(--warn)}.line{fill:none;"
    "stroke-width:2}.line0{stroke:var(--deep)}.line1{stroke:var(--warn)}.line2{stroke:var(--quiet)}"
    ".line3{stroke:var(--ink)}.dot0{fill:var(--deep)}.dot1{fill:var(--warn)}.dot2{fill:var(--quiet)}"
    ".dot3{fill:var(--ink)}"
)
_STYLE: Final = (
    _COLOURS
    + _PLOTS
    + "body{background:var(--paper);color:var(--ink);font:16px/24px system-ui,sans-serif;max-width:58rem;"
    "margin:2rem auto;padding:0 1rem}h1,h2{font-weight:600;line-height:1.3}h2{margin-top:3rem;border-top:1px solid "
    "var(--hair);padding-top:1.5rem}p,th{color:var(--quiet)}table{border-collapse:collapse;display:block;"
    "overflow-x:auto}td,th{padding:.2rem .8rem .2rem 0;text-align:right;font-weight:400;white-space:nowrap;"
    "font-variant-numeric:tabular-nums}td:first-child,th:first-child{text-align:left}tr{border-bottom:1px solid "
    "var(--hair)}svg{width:100%;height:auto;margin:1rem 0}"
)
_METRICS: Final = (
    ("total_download_time", "Total download time, measured (TDT)", "5.1.1.3", ",.1f", " s"),
    ("modelled_download_time", "Total download time, by the transfer model (TDT)", "5.1.1.3", ",.1f", " s"),
    ("links_exchanged", "Links between crawlers (ICC)", "5.1.1.3", ",", ""),
    ("load_balance", "Load balance (LB)", "5.1.1.3", ".2f", ""),
    ("people_only_share", "URLs that only people discovered (PO)", "5.1.2.3", ".1%", ""),
    ("people_first_share", "URLs that people discovered first (PF)", "5.1.2.3", ".1%", ""),
    ("people_lead_median", "Median time by which people were earlier", "5.1.2.3", ",.0f", " s"),
    ("people_first_accesses", "Average accesses of URLs of PF", "5.1.2.3", ",.2f", ""),
    ("affected_query_share", "Queries with a URL of PF in their results", "5.1.2.3", ".1%", ""),
    ("placement_precision", "Placement precision (P)", "5.2.2.2", ".1%", ""),
    ("query_locality", "Query locality (QL)", "5.2.3.2", ".1%", ""),
    ("forwarding_precision", "Forwarding precision (P)", "5.2.4.2", ".1%", ""),
    ("passive_contribution", "Passive crawling contribution (PCC)", "5.3.1.3", ".1%", ""),
    ("stale_share", "Stale documents (SD)", "5.3.1.3", ".1%", ""),
    ("top_k_precision", "Top-10 precision (TKP)", "5.3.2.3", ".1%", ""),
)


class FederationReport(msgspec.Struct, frozen=True):
    """What a report shows."""

    evaluation: SitesEvaluation
    crawls: tuple[CrawlCost, ...] = ()
    placements: tuple[PlacementResult, ...] = ()
    notes: tuple[str, ...] = ()
    """What the figures were computed from."""


def metric_rows(evaluation: SitesEvaluation) -> list[tuple[str, str, str]]:
    """Return name, section and value of every metric that was computed."""
    rows = []
    for field, name, section, form, unit in _METRICS:
        value = getattr(evaluation, field)
        if value is not None:
            rows.append((name, section, f"{value:{form}}{unit}"))
    return rows


def write_sites_report(path: Path, report: FederationReport) -> list[Path]:
    """Write the page to `path`, the figures beside it as .json, and each plot as .svg; return the paths."""
    with disk_errors(path):
        make_folder(path.parent)
    plots = _plots(report)
    written = [path, path.with_suffix(".json")]
    write_atomically(path, _page(report, plots).encode("utf-8", "replace"))
    write_atomically(written[1], msgspec.json.format(msgspec.json.encode(_figures(report)), indent=1))
    for name, _, drawing in plots:
        target = path.with_name(f"{path.stem}-{name}.svg")
        style = f'<svg xmlns="http://www.w3.org/2000/svg"><style>{_COLOURS}{_PLOTS}</style>'
        box = drawing.partition('viewBox="')[2].partition('"')[0]
        whole = style.replace("<svg ", f'<svg viewBox="{box}" ', 1) + drawing.partition(">")[2]
        write_atomically(target, whole.encode("utf-8", "replace"))
        written.append(target)
    return written


def _figures(report: FederationReport) -> dict[str, object]:
    return {
        "evaluation": report.evaluation,
        "crawls": [crawl._asdict() for crawl in report.crawls],
        "placements": [
            {"variant": p.variant, **p.quality._asdict(), "mean_ordinal": p.quality.mean_ordinal}
            for p in report.placements
        ],
        "notes": report.notes,
    }


def _plots(report: FederationReport) -> list[tuple[str, str, str]]:
    """Return name, title and drawing of each plot."""
    evaluation = report.evaluation
    plots = []
    names = dict.fromkeys(crawl.assignment for crawl in report.crawls)
    for field, title in (
        ("download_time", "Total download time in seconds, by number of crawlers"),
        ("links_exchanged", "Links between crawlers, by number of crawlers"),
        ("balance", "Load balance, by number of crawlers"),
    ):
        lines = [
            Line(name, [(c.crawlers, getattr(c, field)) for c in report.crawls if c.assignment == name])
            for name in names
        ]
        plots.append((field.replace("_", "-"), title, draw_lines(lines, title, "crawlers")))
    if evaluation.locality:
        begin = evaluation.locality[0].start
        points = [((point.start - begin) / 3600.0, point.locality) for point in evaluation.locality]
        title = "Query locality over time"
        plots.append(("query-locality", title, draw_lines([Line("QL", points)], title, "hours", ".0%")))
    if evaluation.latency:
        title = "Response time in milliseconds, by number of sites"
        lines = [
            Line("mean", [(row.sites, 1000 * row.mean) for row in evaluation.latency]),
            Line("deviation", [(row.sites, 1000 * row.deviation) for row in evaluation.latency]),
            Line("99th percentile", [(row.sites, 1000 * row.slow) for row in evaluation.latency]),
        ]
        plots.append(("latency", title, draw_lines(lines, title, "sites")))
    for name, title, counts in (
        ("ordinals", "Pages by the popularity rank of their master", evaluation.placement_ordinals),
        ("leads", "Hours by which people were earlier, by decile", [s / 3600 for s in evaluation.people_leads]),
    ):
        rows = [Bar(str(rank), float(count), float(count), float(count)) for rank, count in enumerate(counts, 1)]
        plots.append((name, title, bars(rows, ",.4g", title)))
    rows = [Bar(p.variant, p.quality.precision, p.quality.precision, p.quality.precision) for p in report.placements]
    plots.append(("placement", "Placement precision by what is known of a page", bars(rows, ".1%", "Precision")))
    return [plot for plot in plots if plot[2]]


def _page(report: FederationReport, plots: Sequence[tuple[str, str, str]]) -> str:
    evaluation = report.evaluation
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    notes = "".join(f"<p>{escape(note)}</p>\n" for note in report.notes)
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>Metrics of sites</title><style>{_STYLE}</style></head><body>\n'
        f"<h1>Metrics of sites</h1>\n<p>{when}. {evaluation.records:,} records of {len(evaluation.sites)} sites. "
        f"Sections are those of the COAST report.</p>\n{notes}",
        _table(("metric", "section", "value"), metric_rows(evaluation)),
    ]
    if report.crawls:
        parts.append("<h2>Crawlers</h2>\n")
        rows = [
            (
                f"{c.crawlers} {c.assignment}",
                f"{c.download_time:,.0f}",
                f"{c.links_exchanged:,}",
                f"{c.balance:.2f}",
                f"{c.distance:,.0f}",
            )
            for c in report.crawls
        ]
        parts.append(_table(("crawlers", "TDT in s", "ICC", "LB", "mean distance in km"), rows))
    if evaluation.latency:
        parts.append("<h2>Response times</h2>\n")
        times = [
            (str(r.sites), f"{r.queries:,}", *(f"{1000 * v:.1f}" for v in (r.mean, r.deviation, r.median, r.slow)))
            for r in evaluation.latency
        ]
        parts.append(_table(("sites", "queries", "mean in ms", "deviation", "median", "99 %"), times))
    parts += [f"<h2>{escape(title)}</h2>\n{drawing}\n" for _, title, drawing in plots]
    return "".join(parts) + "</body></html>\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    first = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f"<table><thead><tr>{first}</tr></thead>\n<tbody>\n{body}</tbody></table>\n"
