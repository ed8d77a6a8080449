"""A learned model: trees over the features, kept in a file, run without the library that made them."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile
from periplus.kernels import features, trees

__all__ = ["FEATURES", "Model", "Rows", "read_model", "write_model"]

FEATURES: Final = features.NAMES
"""All features, in the order of their columns."""
Rows = npt.NDArray[np.float64]

_KIND: Final = "ranking-model"
_TYPES: Final = {
    "root": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "value": np.float64,
    "leaf": np.float64,
}


class Model:
    """Trees that correct the sum of the weights."""

    def __init__(self, flat: trees.Trees, scale: float) -> None:
        self.trees = flat
        self.scale = scale
        """What one share of a query's best score was when the trees were made."""

    def correct(self, rows: Rows) -> npt.NDArray[np.float64]:
        """Give what the trees add to the score of each row, as a share of the query's best."""
        sums: npt.NDArray[np.float64] = trees.add_up(self.trees, rows)
        return sums / self.scale

    def explain(self, rows: Rows) -> Rows:
        """Give the same by feature."""
        parts: Rows = trees.attribute(self.trees, rows)
        return parts / self.scale


def write_model(path: Path, model: Model) -> None:
    """Write a model as one checked file; it names the features it was made with."""
    write_arrays(path, _KIND, model.trees._asdict(), {"features": list(FEATURES), "scale": model.scale})


def read_model(path: Path) -> Model:
    """Read a model; raise `CorruptFile` for one that is damaged or was made with other features."""
    file = ArrayFile(path, _KIND)
    file.check()
    arrays: dict[str, Any] = {}
    for name, kind in _TYPES.items():
        if name not in file or file[name].dtype != kind or file[name].ndim != 1:
            raise CorruptFile(f"{path} has no proper array '{name}'.")
        arrays[name] = np.array(file[name])
    if file.notes.get("features") != list(FEATURES):
        raise CorruptFile(f"{path} was made with other features.", "Learn again: periplus rank learn.")
    flat = trees.Trees(**arrays)
    scale = file.notes.get("scale")
    if not _sound(flat) or not isinstance(scale, float) or not scale > 0:
        raise CorruptFile(f"{path} has trees that lead nowhere.")
    return Model(flat, scale)


def _sound(flat: trees.Trees) -> bool:
    """Say whether every walk ends: children come after their parents, leaves and features exist."""
    nodes, leaves = len(flat.feature), len(flat.leaf)
    if {len(part) for part in flat[1:6]} != {nodes} or not np.isfinite(flat.leaf).all():
        return False
    own = np.arange(nodes)
    children = all(((side < 0) | ((side > own) & (side < nodes))).all() for side in (flat.left, flat.right))
    ends = np.concatenate([flat.root, flat.left, flat.right])
    found = bool((flat.feature >= 0).all() and (flat.feature < len(FEATURES)).all() and (flat.root < nodes).all())
    return bool(children and found and (~ends[ends < 0] < leaves).all())
