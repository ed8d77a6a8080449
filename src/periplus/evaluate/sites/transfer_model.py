"""How long a page takes to download, by distance: a model of HTTP over TCP (COAST, section 5.1.1.2).

Round-trip times grow with the great-circle distance: light in fibre covers 200 km in a millisecond, routes are longer
than great circles by a factor, and both ends add a constant. A download is

    one round trip to open the connection, then rounds of slow start: the window begins with ten segments (RFC 6928)
    and doubles every round trip until the window of the receiver, which it keeps; the first round trip carries the
    request and the first window;
    plus the time to send the bytes at the bandwidth of the path.

Losses are left out: they lengthen far transfers more than near ones, so that what nearness gains is a lower bound.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["TransferModel"]

_SEGMENT: Final = 1_460
"""Bytes in a segment."""

Floats = npt.NDArray[np.float64]


class TransferModel(NamedTuple):
    """The parameters of the model."""

    fibre_speed: float = 200.0
    """Kilometres in a millisecond."""
    detour: float = 1.6
    """Length of a route over that of the great circle."""
    base: float = 4.0
    """Milliseconds that the ends of a path add to a round trip."""
    first_window: int = 10
    """Segments."""
    largest_window: int = 64 * 1024
    """Bytes."""
    bandwidth: float = 50e6
    """Bits in a second."""

    def round_trip(self, distance: Floats) -> Floats:
        """Return the round-trip time, in milliseconds, over a distance in kilometres."""
        return self.base + 2.0 * self.detour * np.asarray(distance, np.float64) / self.fibre_speed

    def rounds(self, size: npt.ArrayLike) -> Floats:
        """Return the round trips that a response of so many bytes takes."""
        sizes = np.maximum(np.asarray(size, np.float64), 1.0)
        first = float(self.first_window * _SEGMENT)
        largest = max(float(self.largest_window), first)
        # Round n of slow start carries first * 2**n bytes, as long as that is below the largest window.
        doublings = int(np.ceil(np.log2(largest / first)))
        in_slow_start = first * (2.0**doublings - 1.0)
        slow = np.ceil(np.log2(sizes / first + 1.0) - 1e-12)
        rest = np.ceil(np.maximum(sizes - in_slow_start, 0.0) / largest)
        rounds: Floats = np.where(sizes <= in_slow_start, slow, doublings + rest)
        return rounds

    def download_time(self, distance: npt.ArrayLike, size: npt.ArrayLike) -> Floats:
        """Return the seconds that it takes to download pages of some bytes over some kilometres."""
        round_trip = self.round_trip(np.asarray(distance, np.float64))
        sending = np.asarray(size, np.float64) * 8.0 / self.bandwidth
        seconds: Floats = round_trip / 1000.0 * (1.0 + self.rounds(size)) + sending
        return seconds
