"""Visits to pages of this site's crawl that were reported to other sites."""

from pathlib import Path

from periplus.signals import append_received_visits, update_visit_counts
from periplus.sites.messaging.batches import Batch

__all__ = ["ReceivedVisits"]


class ReceivedVisits:
    """Queues received visits beside those that were reported here; `apply` is the handler of their sink.

    They tell the crawl what to fetch and count as popularity of pages, but neither as interests of the people of this
    site nor as what rises in its region.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def apply(self, batch: Batch) -> None:
        """Queue a batch, durably. The same batch again changes nothing: its name is stored with its visits."""
        header = batch.header
        append_received_visits(self._folder, batch.items, f"{header.sender} {header.lane} {header.number}")
        update_visit_counts(self._folder)
