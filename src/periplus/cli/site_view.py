"""What `periplus site status` prints."""

import time
from typing import TYPE_CHECKING

from periplus.cli.console import clean, echo, format_bytes, format_count

if TYPE_CHECKING:
    from periplus.app import PeerStatus, SiteDemo, SiteReport

__all__ = ["echo_demo", "echo_site"]


def echo_site(report: "SiteReport") -> None:
    """Print the state of a site: who is alive, the lag of every sink, bytes exchanged, the last thresholds."""
    status, topology = report.status, report.topology
    own = topology.site(report.name)
    place = f" at {own.place.latitude:g}, {own.place.longitude:g}" if own.place else ""
    echo(f"Site {report.name}{place}, of {format_count(len(topology.names), 'site')}; " + _state(report))
    if status is None:
        for site in topology.others(report.name):
            echo(f"  {site.name}: not heard yet")
        return
    versions = ", ".join(f"{name} {version}" for name, version in sorted(status.data.items())) or "nothing yet"
    epoch = f", with collection statistics of epoch {status.epoch}" if status.epoch else ""
    echo(f"  {format_count(status.documents, 'page')} indexed{epoch}; offers {versions}")
    for peer in status.peers:
        _echo_peer(peer)
    for line in status.warnings():
        echo(f"! {clean(line)}")


def _state(report: "SiteReport") -> str:
    if report.status is None:
        return "it has not run yet."
    if not report.running:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(report.status.time))
        return f"it does not run since {since}."
    return f"it runs, at {clean(report.status.url)}" if report.status.url else "it starts."


def _echo_peer(peer: "PeerStatus") -> None:
    if peer.alive:
        epoch = f", epoch {peer.epoch}" if peer.epoch > 0 else ""
        state = f"alive, {peer.round_trip * 1000:.1f} ms, {format_count(peer.documents, 'page')}{epoch}"
    else:
        state = f"silent for {peer.silent:.0f} s" if peer.silent >= 0 else "not heard yet"
    exchanged = f"{format_bytes(peer.sent_bytes)} sent, {format_bytes(peer.received_bytes)} received"
    versions = ", ".join(f"{name} {version}" for name, version in sorted(peer.data.items()))
    echo(f"  {peer.name}: {state}; {exchanged}" + (f"; has {versions}" if versions else ""))
    for sink in peer.sinks:
        lag = f", lag {sink.lag:.0f} s" if sink.waiting else ""
        echo(
            f"    {sink.sink:<12} {sink.sent:,} sent, {sink.received:,} received ({sink.received_items:,} items), "
            f"{sink.waiting:,} waiting{lag}"
        )
    if peer.fault:
        echo(f"    {clean(peer.fault)}")


def echo_demo(run: "SiteDemo") -> bool:
    """Run the demo and print what happens; return whether all answers are right."""
    for name, url in run.start().items():
        echo(f"Site {name} is up at {url}")
    _echo_metrics(run)
    correct = _ask(run, "Every site is asked about every region:")
    cut = run.names[-1]
    seconds = run.cut_off(cut)
    echo(f"\nCut off {cut}; the others noticed after {seconds:.1f} s, and it answers what is its own:")
    others = run.names[:-1]
    correct &= _ask(run, "", (cut,), (cut,))
    correct &= _ask(run, "The others answer without it:", others, others)
    _ask(run, f"What only {cut} has is missing, and the answers say so:", others, (cut,))
    seconds = run.return_site(cut)
    echo(f"\n{cut} is back; all sites knew it after {seconds:.1f} s.")
    correct &= _ask(run, "The same questions again:", others, (cut,))
    _echo_metrics(run, "At the end:")
    return correct


def _echo_metrics(run: "SiteDemo", title: str = "") -> None:
    metrics = run.measure() if title else run.crawl()
    echo(f"\n{title}" if title else "\nCrawled, placed and indexed:")
    for name in run.names:
        share = metrics.near[name] / max(1, metrics.fetched[name])
        echo(
            f"  {name:<10} fetched {metrics.fetched[name]:,} pages, {share:.0%} of its own region; "
            f"indexes {metrics.pages[name]:,}"
        )
    echo(
        f"  {metrics.links:,} links and {metrics.sent_pages:,} pages between sites, "
        f"{format_bytes(metrics.bytes)} in all"
    )


def _ask(run: "SiteDemo", title: str, names: tuple[str, ...] = (), regions: tuple[str, ...] = ()) -> bool:
    """Ask questions and print the answers; return whether all are right."""
    if title:
        echo(f"\n{title}")
    answers = list(run.ask(names, regions))
    for answer in answers:
        mark = "✓" if answer.correct else "✗"
        sites = ", ".join(
            f"{site} {milliseconds:.0f} ms" if outcome in ("local", "answered") else f"{site} {outcome}"
            for site, outcome, milliseconds in answer.sites
        )
        echo(f"{mark} {answer.asked} about {answer.region}: {clean(answer.question)}   ({sites or 'local index only'})")
        for note in answer.notes:
            echo(f"    {clean(note)}")
    asked = [outcome for answer in answers for _, outcome, _ in answer.sites if outcome != "local"]
    forwarded = sum(any(outcome not in ("local", "not asked") for _, outcome, _ in a.sites) for a in answers)
    right = sum(answer.correct for answer in answers)
    mean = sum(answer.seconds for answer in answers) / max(1, len(answers))
    echo(
        f"{right} of {len(answers)} right; {forwarded} forwarded, "
        f"{sum(outcome != 'not asked' for outcome in asked)} of {len(asked)} requests sent; mean {mean * 1000:.0f} ms"
    )
    return right == len(answers)
