"""Find hosts of a crawl by a part of their names: from the last snapshot, without disturbing a crawl that runs."""

import time
from heapq import nlargest
from pathlib import Path

from periplus.crawl.inspection.host_view import HostRow, make_row
from periplus.crawl.inspection.url_lookup import load_frontier, read_snapshots
from periplus.errors import PeriplusError
from periplus.settings import Settings

__all__ = ["find_hosts"]


def find_hosts(folder: Path, settings: Settings, text: str = "", count: int = 50) -> list[HostRow]:
    """Return the hosts whose names contain a text, those with most URLs first; none if there was no crawl."""
    text, now = text.strip().lower(), time.time()
    found: list[HostRow] = []
    for directory, snapshot in read_snapshots(folder):
        try:
            frontier = load_frontier(directory, snapshot, settings)
        except PeriplusError:
            continue  # a running crawl has changed the files meanwhile
        frontier.close()
        hosts = [host for name in frontier.hosts() if text in name and (host := frontier.host(name)) is not None]
        best = nlargest(count, hosts, key=lambda host: (len(host), host.in_flight is not None, host.next_time))
        found += [make_row(frontier, host, snapshot.pages_of_host, snapshot.errors_of_host, now) for host in best]
    return nlargest(count, found, key=lambda row: row.waiting)
