"""Metrics of distributed crawling: Total Download Time, Inter Crawler Communications, Load Balance (COAST, 5.1.1.3)."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["inter_crawler_links", "load_balance", "total_download_time"]

Ints = npt.NDArray[np.signedinteger[Any]]


def total_download_time(download_times: npt.NDArray[np.float64]) -> float:
    """Return TDT, in seconds (section 5.1.1.3): the sum over crawlers and their pages of downloadTime(c, p).

    download_times: of each page, by the crawler that it is assigned to.
    """
    return float(np.sum(download_times, dtype=np.float64))


def inter_crawler_links(sources: Ints, targets: Ints, owners: Ints) -> int:
    """Return ICC (section 5.1.1.3): the links from pages of one crawler to pages of another.

    sources, targets: the two pages of each link; owners: the crawler of each page.
    """
    return int(np.count_nonzero(owners[sources] != owners[targets]))


def load_balance(owners: Ints, crawlers: int) -> float:
    """Return LB (section 5.1.1.3): the largest load of a crawler over the smallest; infinite if one has no page."""
    loads = np.bincount(owners, minlength=crawlers) if len(owners) else np.zeros(crawlers, np.int64)
    if not len(loads) or not loads.max():
        return 1.0
    return float(loads.max() / loads.min()) if loads.min() else math.inf
