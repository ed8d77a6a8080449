"""What one query did at the sites of a federation: who was asked and why, who answered, and how long it took."""

from typing import Final

import msgspec

__all__ = [
    "ANSWERED",
    "FAILED",
    "LOCAL",
    "NOT_ASKED",
    "SILENT",
    "FederationRecord",
    "SiteOutcome",
]

LOCAL: Final = "local"
ANSWERED: Final = "answered"
SILENT: Final = "silent"
"""It was asked, and did not answer within the deadline."""
FAILED: Final = "failed"
"""It was asked, and its reply could not be used."""
NOT_ASKED: Final = "not asked"


class SiteOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """One site and one query."""

    site: str
    outcome: str
    reason: str = ""
    """Why it was asked or not, for people."""
    milliseconds: float = 0.0
    bound: float | None = None
    """What no score of the site can exceed; None where that is not known. Of the first stage, or a share of the best
    score after reranking, as the threshold is."""
    threshold: float | None = None
    """The score that it was compared with."""
    results: int = 0
    """Results of the page that are its."""
    copies: int = 0
    """Of these, results that came from copies at this site."""


class FederationRecord(msgspec.Struct, frozen=True):
    """All sites and one query, in the order of sites."""

    sites: tuple[SiteOutcome, ...]
    rounds: int = 0
    """Rounds of requests to other sites for candidates: 0 for a query that was answered locally, mostly 1 otherwise."""

    @property
    def forwarded(self) -> bool:
        """Whether any other site was asked for candidates."""
        return self.rounds > 0

    def to_json(self) -> bytes:
        """Return the record as JSON, for pages and logs."""
        return msgspec.json.encode(self)
