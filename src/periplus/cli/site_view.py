"""What `periplus site status` prints."""

import time
from typing import TYPE_CHECKING

from periplus.cli.console import clean, echo, format_bytes, format_count

if TYPE_CHECKING:
    from periplus.app import PeerStatus, SiteReport

__all__ = ["echo_site"]


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
    echo(f"  {format_count(status.documents, 'page')} indexed; offers {versions}")
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
        state = f"alive, {peer.round_trip * 1000:.1f} ms, {format_count(peer.documents, 'page')}"
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
