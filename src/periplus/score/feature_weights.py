"""Weights files: the contribution of each feature to the score of a scorer, as TOML.

A shipped file has a table for each feature: `weight`, `shape` (a transformation of the value) and `about`. A user's
file has the same tables below the name of the scorer, only those that differ: `[dynamic.title]`, `weight = 0.2`.
"""

import functools
import math
import operator
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import SettingsError
from periplus.typed_decoding import convert_to

__all__ = [
    "SCORERS",
    "SHAPES",
    "FeatureWeight",
    "LinearScorer",
    "WeightArrays",
    "read_weights",
    "shipped_weights",
    "weight_arrays",
]

SCORERS: Final = ("url", "static", "crawl", "dynamic", "fusion")
Shape = Literal["plain", "square", "root", "log", "inverse", "any"]
SHAPES: Final[tuple[Shape, ...]] = ("plain", "square", "root", "log", "inverse", "any")
"""x, x * x, sqrt(x), ln(1 + x), 1 / (1 + x), 1 where x > 0; in the order of the constants of `kernels.weighting`."""
_MAX_FILE_BYTES: Final = 1 << 20


class FeatureWeight(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The weight and shape of one feature."""

    weight: float
    """For short queries."""
    shape: Shape = "plain"
    about: str = ""
    long: float | None = None
    """For long queries; None is the same. Only the dynamic scorer knows queries."""

    @property
    def weight_of_long(self) -> float:
        """The weight for long queries."""
        return self.weight if self.long is None else self.long


class _WeightOverride(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields that a user's file may change."""

    weight: float | None = None
    shape: Shape | None = None
    long: float | None = None


class WeightArrays(NamedTuple):
    """The weights of one scorer as arrays, by feature."""

    names: tuple[str, ...]
    weight: npt.NDArray[np.float64]
    shape: npt.NDArray[np.int32]
    long: npt.NDArray[np.float64]
    """The weights for long queries."""


@functools.cache
def shipped_weights(scorer: str) -> Mapping[str, FeatureWeight]:
    """Return the shipped weights of a scorer."""
    text = files("periplus.score").joinpath(f"{scorer}.toml").read_text("utf-8")
    return convert_to(tomllib.loads(text), dict[str, FeatureWeight])


def read_weights(scorer: str, file: str = "") -> dict[str, FeatureWeight]:
    """Return the weights of a scorer with the changes of a user's file; raise `SettingsError` if that is invalid."""
    weights = dict(shipped_weights(scorer))
    for name, override in _read_overrides(Path(file)).get(scorer, {}).items() if file else ():
        if name not in weights:
            raise SettingsError(f"{file}: the {scorer} scorer has no feature '{name[:40]}'.", "See docs/ranking.md.")
        value = weights[name].weight if override.weight is None else override.weight
        # A weight that is set for all queries replaces the shipped one for long queries too.
        long = override.long if override.long is not None or override.weight is not None else weights[name].long
        if not all(math.isfinite(number) for number in (value, long) if number is not None):
            raise SettingsError(f"{file}: the weight of {scorer}.{name} is not a finite number.")
        weights[name] = FeatureWeight(value, override.shape or weights[name].shape, weights[name].about, long)
    return weights


def _read_overrides(path: Path) -> dict[str, dict[str, _WeightOverride]]:
    try:
        raw: dict[str, Any] = tomllib.loads(path.read_bytes()[:_MAX_FILE_BYTES].decode("utf-8"))
        overrides = convert_to(raw, dict[str, dict[str, _WeightOverride]])
    except OSError as error:
        raise SettingsError(f"The weights file {path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise SettingsError(f"{path} is not a weights file: {error}.", "See docs/ranking.md.") from None
    if unknown := sorted(set(overrides) - set(SCORERS)):
        raise SettingsError(f"{path}: there is no scorer '{unknown[0][:40]}'.", f"Choose from {', '.join(SCORERS)}.")
    return overrides


def weight_arrays(weights: Mapping[str, FeatureWeight], names: Sequence[str]) -> WeightArrays:
    """Return weights as arrays, in the order of `names`."""
    return WeightArrays(
        tuple(names),
        np.array([weights[name].weight for name in names], np.float64),
        np.array([SHAPES.index(weights[name].shape) for name in names], np.int32),
        np.array([weights[name].weight_of_long for name in names], np.float64),
    )


_FUNCTIONS: Final[Mapping[Shape, Callable[[float], float]]] = {
    "plain": float,
    "square": lambda x: x * x,
    "root": lambda x: math.sqrt(max(0.0, x)),
    "log": lambda x: math.log1p(max(0.0, x)),
    "inverse": lambda x: 1.0 / (1.0 + max(0.0, x)),
    "any": lambda x: 1.0 if x > 0 else 0.0,
}


class LinearScorer:
    """A weighted sum of features, for one item at a time."""

    def __init__(self, weights: Mapping[str, FeatureWeight], names: Sequence[str]) -> None:
        self._weights = [weights[name].weight for name in names]
        shapes = [weights[name].shape for name in names]
        self._shapes = [_FUNCTIONS[shape] for shape in shapes] if set(shapes) > {"plain"} else []

    def score(self, values: Sequence[float]) -> float:
        """Return the weighted sum of feature values, in the order of `names`."""
        if self._shapes:
            values = [shape(value) for shape, value in zip(self._shapes, values, strict=True)]
        return math.fsum(map(operator.mul, self._weights, values))
