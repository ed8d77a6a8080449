"""Weights files: what each feature of a ranker adds to its score, in TOML that people can read and change.

A shipped file has a table for each feature: `weight`, `shape` (what is done to the number first) and `about`. A file
of one's own has the same tables below the ranker's name, as many as should differ: `[dynamic.title]`, `weight = 0.2`.
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

__all__ = ["RANKERS", "SHAPES", "Scorer", "Weight", "Weights", "as_arrays", "read_weights", "shipped_weights"]

RANKERS: Final = ("url", "static", "crawl", "dynamic")
Shape = Literal["plain", "square", "root", "log", "inverse", "any"]
SHAPES: Final[tuple[Shape, ...]] = ("plain", "square", "root", "log", "inverse", "any")
"""x, x * x, root of x, ln(1 + x), 1 / (1 + x), 1 where x is above 0; numbered as `kernels.weighting.weigh` has them."""
_LARGEST: Final = 1 << 20


class Weight(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one feature adds."""

    weight: float
    shape: Shape = "plain"
    about: str = ""


class _Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file of one's own may change."""

    weight: float | None = None
    shape: Shape | None = None


class Weights(NamedTuple):
    """The weights of one ranker as arrays, by feature."""

    names: tuple[str, ...]
    weight: npt.NDArray[np.float64]
    shape: npt.NDArray[np.int32]


@functools.cache
def shipped_weights(ranker: str) -> Mapping[str, Weight]:
    """Give the weights that Periplus ships for a ranker."""
    text = files("periplus.score").joinpath(f"{ranker}.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, Weight])


def read_weights(ranker: str, file: str = "") -> dict[str, Weight]:
    """Give the weights of a ranker, with what a file of one's own changes; `SettingsError` if it cannot be used."""
    weights = dict(shipped_weights(ranker))
    for name, change in _changes(Path(file)).get(ranker, {}).items() if file else ():
        if name not in weights:
            raise SettingsError(f"{file}: the {ranker} ranker has no feature '{name[:40]}'.", "See docs/ranking.md.")
        value = weights[name].weight if change.weight is None else change.weight
        if not math.isfinite(value):
            raise SettingsError(f"{file}: the weight of {ranker}.{name} is no number.")
        weights[name] = Weight(value, change.shape or weights[name].shape, weights[name].about)
    return weights


def _changes(path: Path) -> dict[str, dict[str, _Change]]:
    try:
        raw: dict[str, Any] = tomllib.loads(path.read_bytes()[:_LARGEST].decode("utf-8"))
        changes = msgspec.convert(raw, dict[str, dict[str, _Change]])
    except OSError as error:
        raise SettingsError(f"The weights file {path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise SettingsError(f"{path} is no weights file: {error}.", "See docs/ranking.md.") from None
    if unknown := sorted(set(changes) - set(RANKERS)):
        raise SettingsError(f"{path}: there is no ranker '{unknown[0][:40]}'.", f"There are {', '.join(RANKERS)}.")
    return changes


def as_arrays(weights: Mapping[str, Weight], names: Sequence[str]) -> Weights:
    """Give weights as arrays, in the order of `names`."""
    return Weights(
        tuple(names),
        np.array([weights[name].weight for name in names], np.float64),
        np.array([SHAPES.index(weights[name].shape) for name in names], np.int32),
    )


_FUNCTIONS: Final[Mapping[Shape, Callable[[float], float]]] = {
    "plain": float,
    "square": lambda x: x * x,
    "root": lambda x: math.sqrt(max(0.0, x)),
    "log": lambda x: math.log1p(max(0.0, x)),
    "inverse": lambda x: 1.0 / (1.0 + max(0.0, x)),
    "any": lambda x: 1.0 if x > 0 else 0.0,
}


class Scorer:
    """Scores one thing at a time by named numbers."""

    def __init__(self, weights: Mapping[str, Weight], names: Sequence[str]) -> None:
        self._weights = [weights[name].weight for name in names]
        shapes = [weights[name].shape for name in names]
        self._shapes = [_FUNCTIONS[shape] for shape in shapes] if set(shapes) > {"plain"} else []

    def score(self, values: Sequence[float]) -> float:
        """Give the sum of what the features add."""
        if self._shapes:
            values = [shape(value) for shape, value in zip(self._shapes, values, strict=True)]
        return math.fsum(map(operator.mul, self._weights, values))
