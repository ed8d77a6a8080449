"""One page of results, before the rest of an answer is added."""

from typing import NamedTuple

from periplus.records import Hit

__all__ = ["PresentedResults"]


class PresentedResults(NamedTuple):
    """One page of results."""

    hits: tuple[Hit, ...]
    hidden: int
    """Candidates that safe search left out."""
    examined: int
    """Candidates that were looked at for that."""
