"""The multilingual sentence encoder: its published arrays, and an ONNX file of them for CPUs.

    words ─ embeddings (512) ─ three branches of 256, each two convolutions over 2, 3 or 5 words
          └ concatenated (1280) ─ norm ─ sum over words / sqrt(length) ─ projection ─ dense layers ─ tanh ─ length 1

It is the universal sentence encoder, multilingual, version 3: sentences of fifteen languages (Chinese in both scripts)
that mean the same have similar vectors. The embeddings of words are bytes in 17 tables, one for each remainder of a
word's number, with a scale and an offset each. Convolutions are products of neighbouring words, side by side, and a
matrix.
"""

import io
import zipfile
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper

from periplus.embeddings.models.model_conversion import GraphBuilder, finish_graph
from periplus.embeddings.safetensors import Floats
from periplus.errors import BadFile

__all__ = ["MultilingualModel", "convert_multilingual", "read_multilingual"]

_TABLES: Final = 17
_BRANCHES: Final = ((2, 0), (3, 1), (5, 2))
"""Words of a convolution, and how many of them come before the one in question."""
_DENSE: Final = ("cnn_W", "cnn_b", "d0", "d1", "d2", "d3", "p1", "p3", "ln_g", "ln_b")


class MultilingualModel(NamedTuple):
    """The arrays of the model."""

    words: npt.NDArray[np.uint8]
    """(words, width): row r * 17 + t is row r of table t."""
    scale: Floats
    offset: Floats
    """Of each table."""
    arrays: dict[str, Floats]
    epsilon: float

    @property
    def width(self) -> int:
        """Dimensions of a vector."""
        return int(self.arrays["d3"].shape[1])


def read_multilingual(raw: bytes, name: str) -> MultilingualModel:
    """Read the published arrays; raise `BadFile` if they are damaged. `name` is for messages."""
    names = [f"{part}{size}" for size, _ in _BRANCHES for part in ("proj", "proj_b", "ln_g", "ln_b")]
    names += [f"{part}_{size}" for size, _ in _BRANCHES for part in ("w1", "w2")]
    names += [f"{part}_{size}" for size, _ in _BRANCHES for part in ("b1", "b2")]
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as file:
            tables = [file[f"q{number + 1}"] for number in range(_TABLES)]
            arrays = {key: np.asarray(file[key], np.float32) for key in (*names, *_DENSE)}
            scale, offset = (np.asarray(file[key], np.float32) for key in ("scale", "lo"))
            epsilon = float(file["eps"])
        words = np.stack(tables, axis=1).reshape(-1, tables[0].shape[1])
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise BadFile(f"{name} is not a model of a supported kind: {error}.") from None
    if words.dtype != np.uint8 or scale.shape != (_TABLES,) or offset.shape != (_TABLES,):
        raise BadFile(f"{name} has tables of another kind.")
    return MultilingualModel(words, scale, offset, arrays, epsilon)


def convert_multilingual(model: MultilingualModel, bits: int = 7) -> bytes:
    """Return the encoder as an ONNX file, with matrices of `bits` bits; 0 leaves them as floats."""
    arrays, graph = model.arrays, GraphBuilder(0, bits)
    embedded = _embed_words(graph, model)
    joined = _join(arrays, "proj"), _join(arrays, "proj_b")
    values = graph.linear(embedded, *joined)
    norms = [graph.constant(_join(arrays, part)) for part in ("ln_g", "ln_b")]
    values = graph.node("LayerNormalization", [values, *norms], epsilon=model.epsilon)[0]
    sizes = graph.integers([arrays[f"proj{size}"].shape[1] for size, _ in _BRANCHES])
    branches = graph.node("Split", [values, *sizes], len(_BRANCHES), axis=2)
    outputs = [
        _convolve_twice(graph, branch, arrays, *shape) for branch, shape in zip(branches, _BRANCHES, strict=True)
    ]
    features = graph.node("Concat", [embedded, *outputs], axis=2)[0]
    norms = [graph.constant(arrays[part]) for part in ("ln_g", "ln_b")]
    features = graph.node("LayerNormalization", [features, *norms], epsilon=model.epsilon)[0]
    pooled = _pool(graph, features, arrays)
    graph.nodes.append(helper.make_node("LpNormalization", [_dense(graph, pooled, arrays)], ["vectors"], axis=1, p=2))
    return finish_graph(graph, model.width)


def _join(arrays: Mapping[str, Floats], part: str) -> Floats:
    return np.concatenate([arrays[f"{part}{size}"] for size, _ in _BRANCHES], axis=-1)


def _embed_words(graph: GraphBuilder, model: MultilingualModel) -> str:
    """Add the lookup of words in tables of bytes; return the name of its output."""
    integers = graph.node("Gather", [graph.constant(model.words), "words"], axis=0)[0]
    table = graph.node("Mod", ["words", graph.constant(np.array(_TABLES, np.int32))])[0]
    scale, offset = (
        graph.node("Gather", [graph.constant(part.reshape(-1, 1)), table], axis=0)[0]
        for part in (model.scale, model.offset)
    )
    floats = graph.node("Cast", [integers], to=TensorProto.FLOAT)[0]
    return graph.node("Add", [graph.node("Mul", [floats, scale])[0], offset])[0]


def _convolve_twice(graph: GraphBuilder, value: str, arrays: Mapping[str, Floats], size: int, before: int) -> str:
    """Add two convolutions over `size` words, each with what it is applied to added to its output."""
    for part in ("1", "2"):
        pads = graph.integers([0, before, 0, 0, size - 1 - before, 0])
        padded = graph.node("Pad", [value, *pads])[0]
        shifted = [
            graph.node("Slice", [padded, *graph.integers([at], [at - size + 1 or _END], [1])])[0] for at in range(size)
        ]
        window = graph.node("Concat", shifted, axis=2)[0]
        product = graph.linear(window, arrays[f"w{part}_{size}"], arrays[f"b{part}_{size}"])
        value = graph.node("Add", [graph.node("Relu", [product])[0], value])[0]
    return value


_END: Final = (1 << 31) - 1
"""The end of an axis."""


def _pool(graph: GraphBuilder, features: str, arrays: Mapping[str, Floats]) -> str:
    """Add the sum over words, divided by the root of their number, and its projection."""
    total = graph.node("ReduceSum", [features, *graph.integers([1])], keepdims=0)[0]
    shape = graph.node("Shape", ["words"])[0]
    length = graph.node("Cast", [graph.node("Slice", [shape, *graph.integers([1], [2], [0])])[0]], to=1)[0]
    product = graph.node("MatMul", [total, graph.constant(arrays["cnn_W"])])[0]
    bias = graph.node("Mul", [length, graph.constant(arrays["cnn_b"])])[0]
    root = graph.node("Sqrt", [length])[0]
    return graph.node("Div", [graph.node("Add", [product, bias])[0], root])[0]


def _dense(graph: GraphBuilder, value: str, arrays: Mapping[str, Any]) -> str:
    """Add the dense layers, two blocks that each add a projection of their input."""

    def product(source: str, name: str) -> str:
        return graph.node("MatMul", [source, graph.constant(arrays[name])])[0]

    def block(source: str, names: tuple[str, str, str], activation: str) -> str:
        inner = graph.node("Relu", [product(source, names[0])])[0]
        total = graph.node("Add", [product(source, names[1]), product(inner, names[2])])[0]
        return graph.node(activation, [total])[0]

    return block(block(value, ("d0", "p1", "d1"), "Relu"), ("d2", "p3", "d3"), "Tanh")
