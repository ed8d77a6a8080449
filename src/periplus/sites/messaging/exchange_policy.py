"""When changed statistics and thresholds are sent: the more has changed, the sooner, and not for ever later.

Every page that is indexed may change thresholds. They are sent when the share of changed entries reaches
`site.threshold_share`, or half of it after half of `site.threshold_seconds`, and so on; any change after all of it.
"""

__all__ = ["ExchangePolicy"]


class ExchangePolicy:
    """Decides for one kind of data. Time is an argument, of `time.monotonic`."""

    def __init__(self, share: float, seconds: float, least_seconds: float = 1.0) -> None:
        self._share, self._seconds, self._least = share, seconds, least_seconds
        self._sent: float | None = None

    def is_due(self, changed: float, now: float) -> bool:
        """Return whether to send now, with a share `changed` of entries that differ from what was sent last."""
        if changed <= 0:
            return False
        if self._sent is None:
            return True
        age = now - self._sent
        if age < self._least:
            return False
        return age >= self._seconds or changed >= self._share * (1 - age / self._seconds)

    def note_sent(self, now: float) -> None:
        """Note that the data were sent."""
        self._sent = now
