"""A learned model: trees over the features, kept in a file, run without the library that made them."""

import logging
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.arrays import ArrayFile, write_arrays
from periplus.errors import CorruptFile, DataError
from periplus.files import decode_json, read_file
from periplus.rank.kernels import features, trees

__all__ = [
    "FEATURES",
    "FOLDER",
    "USED",
    "ModelSelection",
    "Rows",
    "TreeModel",
    "open_model",
    "read_model",
    "used_model",
    "write_model",
]

FEATURES: Final = features.NAMES
"""All features, in the order of their columns."""
Rows = npt.NDArray[np.float64]

FOLDER: Final = "models"
USED: Final = "used.json"
_LOG: Final = logging.getLogger("periplus.rank")
_KIND: Final = "ranking-model"
_FORMAT: Final = 1
"""The number of what the file holds; it is raised whenever that changes."""
_SELECTION_FORMAT: Final = 2
"""The number of `used.json`; since 2, it has a checksum."""
_TYPES: Final = {
    "root": np.int32,
    "feature": np.int32,
    "threshold": np.float64,
    "child": np.int32,
    "value": np.float64,
    "leaf": np.float64,
}


class ModelSelection(msgspec.Struct, frozen=True):
    """Which model of a data folder is used."""

    model: str
    format: int = _SELECTION_FORMAT


class TreeModel:
    """Trees that correct the sum of the weights."""

    def __init__(self, flat: trees.Trees, scale: float) -> None:
        self.trees = flat
        self.scale = scale
        """What one share of a query's best score was when the trees were made."""

    def correct(self, rows: Rows) -> npt.NDArray[np.float64]:
        """Return what the trees add to the score of each row, as a share of the query's best."""
        sums: npt.NDArray[np.float64] = trees.add_up(self.trees, rows)
        return sums / self.scale

    def explain(self, rows: Rows) -> Rows:
        """Return the same by feature."""
        parts: Rows = trees.attribute(self.trees, rows)
        return parts / self.scale


def write_model(path: Path, model: TreeModel) -> None:
    """Write a model as one checked file; it names the features it was made with."""
    notes = {"features": list(FEATURES), "scale": model.scale}
    write_arrays(path, _KIND, model.trees._asdict(), notes, format=_FORMAT)


def read_model(path: Path) -> TreeModel:
    """Read a model; raise `CorruptFile` for one that is damaged or was made with other features."""
    file = ArrayFile(path, _KIND, format=_FORMAT)
    file.check()
    arrays: dict[str, Any] = {}
    for name, kind in _TYPES.items():
        if name not in file or file[name].dtype != kind or file[name].ndim != 1 + (name == "child"):
            raise CorruptFile(f"{path} has no proper array '{name}'.")
        arrays[name] = np.array(file[name])
    flat = _renumbered(trees.Trees(**arrays), file.notes.get("features"), path)
    scale = file.notes.get("scale")
    if not _sound(flat) or not isinstance(scale, float) or not scale > 0:
        raise CorruptFile(f"{path} has trees that lead nowhere.")
    return TreeModel(flat, scale)


def _renumbered(flat: trees.Trees, names: Any, path: Path) -> trees.Trees:
    """Number features as they are now: a model keeps their names, and later versions may know more of them."""
    if names == list(FEATURES):
        return flat
    known = isinstance(names, list) and len(names) > 0 and all(name in FEATURES for name in names)
    if not known or not ((flat.feature >= 0) & (flat.feature < len(names))).all():
        raise CorruptFile(f"{path} was made with other features.", "Learn again: periplus learn.")
    numbers = np.array([FEATURES.index(name) for name in names], np.int32)
    return flat._replace(feature=numbers[flat.feature])


def _sound(flat: trees.Trees) -> bool:
    """Return whether every walk ends: children come after their parents, leaves and features exist."""
    nodes, leaves = len(flat.feature), len(flat.leaf)
    if flat.child.shape != (nodes, 2) or not len(flat.threshold) == len(flat.value) == nodes:
        return False
    after = (flat.child > np.arange(nodes)[:, None]) & (flat.child < nodes)
    ends = np.concatenate([flat.root, flat.child.ravel()])
    known = (flat.feature >= 0) & (flat.feature < len(FEATURES))
    fine = [(flat.child < 0) | after, known, flat.root < nodes, ~ends[ends < 0] < leaves, np.isfinite(flat.leaf)]
    return all(bool(one.all()) for one in fine)


def open_model(folder: Path) -> TreeModel | None:
    """Open the model that a data folder uses; None when there is none, or it cannot be read."""
    name = used_model(folder)
    try:
        return read_model(folder / FOLDER / f"{name}.model") if name else None
    except DataError as error:
        _LOG.warning("The ranking model is left out: %s", error)
        return None


def used_model(folder: Path) -> str:
    """Name the model that a data folder uses, '' if it uses none."""
    path = folder / FOLDER / USED
    try:
        name = decode_json(path, read_file(path), ModelSelection, _SELECTION_FORMAT, checksum_since=2).model
    except FileNotFoundError:
        return ""
    except CorruptFile as error:
        _LOG.warning("No ranking model is used: %s", error)
        return ""
    return name if name == Path(name).name else ""
