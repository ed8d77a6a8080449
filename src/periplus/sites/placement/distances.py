"""The distance between places on the globe."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from periplus.sites.placement.kernels import geography
from periplus.sites.site_topology import Place

__all__ = ["distance_between", "measure_distances"]


def distance_between(first: Place, second: Place) -> float:
    """Return the great-circle distance between two places, in kilometres."""
    return float(measure_distances([first], [second])[0, 0])


def measure_distances(first: Sequence[Place | None], second: Sequence[Place | None]) -> npt.NDArray[np.float64]:
    """Return the great-circle distances between places, in kilometres; NaN where one is unknown."""
    distances = np.full((len(first), len(second)), np.nan)
    geography.measure_distances(*_coordinates(first), *_coordinates(second), distances)
    return distances


def _coordinates(places: Sequence[Place | None]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    rows = [(np.nan, np.nan) if place is None else (place.latitude, place.longitude) for place in places]
    table = np.array(rows, np.float64).reshape(len(rows), 2)
    return np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1])
