"""How far another site is trusted, by what it has replied so far.

    TRUSTED     its bounds decide whether it is asked
    UNBOUNDED   it returned a score above its bound: its bounds are not used, and it is asked always, so that nothing
                it has is hidden by them; what it returns is checked as before
    EXCLUDED    it returned scores or features that no document can have, or garbage several times in a row: it is
                never asked, since whatever it returns could displace pages that are better

A site leaves the last two only when somebody restores it, or introduces it again with another key. A site that does not
answer stays as it is, and is not asked for a while that grows from five seconds to a minute.
"""

import threading
from typing import Final

import msgspec

__all__ = ["EXCLUDED", "TRUSTED", "UNBOUNDED", "SiteTrust", "TrustStatus"]

TRUSTED: Final = "trusted"
UNBOUNDED: Final = "unbounded"
EXCLUDED: Final = "excluded"
_MAX_MALFORMED: Final = 3
"""Malformed replies in a row after which a site is excluded."""
_MAX_SILENT: Final = 3
"""Requests in a row without a reply after which a site rests."""
_REST_SECONDS: Final = 5.0
_MAX_REST_SECONDS: Final = 60.0


class TrustStatus(msgspec.Struct, frozen=True):
    """How a site is trusted, and why, for people."""

    state: str
    reason: str
    asked: int
    answered: int
    contributed: int
    """Answers of which a document came into the results."""
    malformed: int
    silent: int
    resting_seconds: float


class SiteTrust:
    """The trust in one site; any thread may use it. Times are those of a monotonic clock, and arguments."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.state = TRUSTED
        self.reason = ""
        self._asked = self._answered = self._contributed = 0
        self._malformed = self._malformed_in_row = 0
        self._silent = self._silent_in_row = 0
        self._rests_until = 0.0

    def may_ask(self, now: float) -> bool:
        """Return whether the site is asked at all now."""
        return self.state != EXCLUDED and now >= self._rests_until

    @property
    def uses_bounds(self) -> bool:
        """Whether its bounds count."""
        return self.state == TRUSTED

    def record_answer(self) -> None:
        """Count an answer that was as it should be."""
        with self._lock:
            self._asked += 1
            self._answered += 1
            self._malformed_in_row = self._silent_in_row = 0
            self._rests_until = 0.0

    def record_contribution(self) -> None:
        """Count that documents of an answer came into the results."""
        with self._lock:
            self._contributed += 1

    def record_silence(self, now: float) -> None:
        """Count a request without a reply in time."""
        with self._lock:
            self._asked += 1
            self._silent += 1
            self._silent_in_row += 1
            late = self._silent_in_row - _MAX_SILENT
            if late >= 0:
                self._rests_until = now + min(_MAX_REST_SECONDS, _REST_SECONDS * 2.0 ** min(late, 16))

    def record_malformed(self) -> None:
        """Count a reply that cannot be used."""
        with self._lock:
            self._asked += 1
            self._malformed += 1
            self._malformed_in_row += 1
            if self._malformed_in_row >= _MAX_MALFORMED:
                self._lower(EXCLUDED, f"{self._malformed_in_row} replies in a row could not be used")

    def record_impossible(self, what: str) -> None:
        """Exclude the site: it returned what no document can have."""
        with self._lock:
            self._asked += 1
            self._lower(EXCLUDED, what)

    def record_understated(self, score: float, bound: float) -> None:
        """Stop using the bounds of the site: it returned a higher score."""
        with self._lock:
            self._lower(UNBOUNDED, f"it returned a score of {score:.3f} above its bound of {bound:.3f}")

    def _lower(self, state: str, reason: str) -> None:
        if self.state != EXCLUDED and (state == EXCLUDED or self.state == TRUSTED):
            self.state, self.reason = state, reason

    def restore(self) -> None:
        """Trust the site again."""
        with self._lock:
            self.state, self.reason = TRUSTED, ""
            self._malformed_in_row = self._silent_in_row = 0
            self._rests_until = 0.0

    def status(self, now: float) -> TrustStatus:
        """Return the state and its counts."""
        with self._lock:
            return TrustStatus(
                self.state,
                self.reason,
                self._asked,
                self._answered,
                self._contributed,
                self._malformed,
                self._silent,
                max(0.0, self._rests_until - now),
            )
