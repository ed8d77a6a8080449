"""A model to an ONNX file for processors: attention, normalisation and activation as one step each, int8 matrices.

    words (batch, length) int32 ─┐
    lengths (batch) int32 ───────┴─ embeddings ─ layer x n ─ mean over the words ─ length 1 ─ vectors (batch, width)

Matrices are cut to whole numbers by column (`quantise`), values on their way in at run time. Seven bits are used where
a processor without VNNI would overflow on eight: see docs/decisions/013-meaning.md for what that costs.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper, numpy_helper

from periplus.meaning.weights import Floats, Layer, Model, Norm

__all__ = ["convert", "quantise"]

_OPSET: Final = 17
_FORMAT: Final = 8
"""The ONNX file format: old enough for all runtimes that the extra allows."""
_OURS: Final = "com.microsoft"
_EPSILON: Final = 1e-12
_SMALLEST: Final = 1e-12


def quantise(matrix: Floats, bits: int = 7) -> tuple[npt.NDArray[np.int8], Floats]:
    """Cut a matrix to whole numbers, each column by its own scale."""
    most = 2 ** (bits - 1) - 1
    scale = np.maximum(np.abs(matrix).max(axis=0), _SMALLEST).astype(np.float32) / np.float32(most)
    return np.clip(np.rint(matrix / scale), -most, most).astype(np.int8), scale


class _Graph:
    """Gathers nodes and constants."""

    def __init__(self, model: Model, bits: int) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._model = model
        self._bits = bits
        self._made = 0

    def constant(self, value: npt.NDArray[Any]) -> str:
        """Add a constant; give its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind: str, inputs: list[str], outputs: int = 1, domain: str = "", **attributes: Any) -> list[str]:
        """Add a step; give the names of what comes out of it."""
        names = [f"v{self._made + i}" for i in range(outputs)]
        self._made += outputs
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names

    def norm(self, value: str, before: str, norm: Norm) -> str:
        """Add what was there before, and normalise."""
        parts = [value, before, self.constant(norm.weight), self.constant(norm.bias)]
        return self.node("SkipLayerNormalization", parts, domain=_OURS, epsilon=_EPSILON)[0]

    def times(self, value: str, matrix: Floats, bias: Floats) -> str:
        """Multiply by a matrix and add a bias."""
        if not self._bits:
            product = self.node("MatMul", [value, self.constant(matrix)])[0]
            return self.node("Add", [product, self.constant(bias)])[0]
        whole, scale = quantise(matrix, self._bits)
        zero = self.constant(np.zeros(whole.shape[1], np.int8))
        parts = [value, self.constant(whole), self.constant(scale), zero, self.constant(bias)]
        return self.node("DynamicQuantizeMatMul", parts, domain=_OURS)[0]

    def attention(self, value: str, mask: str, layer: Layer) -> str:
        """Let every word look at every other."""
        bias, heads = self.constant(layer.attention_bias), self._model.heads
        if not self._bits:
            parts = [value, self.constant(layer.attention), bias, mask]
            return self.node("Attention", parts, domain=_OURS, num_heads=heads)[0]
        whole, scale = quantise(layer.attention, self._bits)
        cut, size, zero = self.node("DynamicQuantizeLinear", [value], 3)
        none = self.constant(np.zeros(whole.shape[1], np.int8))
        parts = [cut, self.constant(whole), bias, size, self.constant(scale), mask, zero, none]
        return self.node("QAttention", parts, domain=_OURS, num_heads=heads)[0]

    def layer(self, value: str, mask: str, layer: Layer) -> str:
        """Add a layer."""
        seen = self.times(self.attention(value, mask, layer), layer.joined, layer.joined_bias)
        value = self.norm(seen, value, layer.joined_norm)
        wide = self.node("Gelu", [self.times(value, layer.wide, layer.wide_bias)], domain=_OURS)[0]
        return self.norm(self.times(wide, layer.narrow, layer.narrow_bias), value, layer.narrow_norm)


def convert(model: Model, bits: int = 7) -> bytes:
    """Write the encoder as an ONNX file, with matrices of `bits` bits; 0 leaves them as floats."""
    graph = _Graph(model, bits)
    empty = ["words", "", graph.constant(model.words), graph.constant(model.places), ""]
    norm = [graph.constant(model.norm.weight), graph.constant(model.norm.bias)]
    value = graph.node("EmbedLayerNormalization", [*empty, *norm], 2, domain=_OURS, epsilon=_EPSILON)[0]
    for layer in model.layers:
        value = graph.layer(value, "lengths", layer)
    _pool(graph, value)
    inputs = [
        helper.make_tensor_value_info("words", TensorProto.INT32, ["batch", "length"]),
        helper.make_tensor_value_info("lengths", TensorProto.INT32, ["batch"]),
    ]
    outputs = [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", model.width])]
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_OURS, 1)]
    drawn = helper.make_graph(graph.nodes, "encoder", inputs, outputs, graph.constants)
    made: bytes = helper.make_model(drawn, opset_imports=opsets, ir_version=_FORMAT).SerializeToString()
    return made


def _pool(graph: _Graph, value: str) -> None:
    """Add up the words of each text and give the sum length 1."""
    shape = graph.node("Shape", ["words"])[0]
    count = graph.node("Gather", [shape, graph.constant(np.array(1, np.int64))])[0]
    zero, one = (graph.constant(np.array(n, np.int64)) for n in (0, 1))
    places = graph.node("Range", [zero, count, one])[0]
    lengths = graph.node("Cast", ["lengths"], to=TensorProto.INT64)[0]
    last = graph.constant(np.array([1], np.int64))
    inside = graph.node("Less", [places, graph.node("Unsqueeze", [lengths, last])[0]])[0]
    row = graph.node("Unsqueeze", [graph.node("Cast", [inside], to=TensorProto.FLOAT)[0], last])[0]
    added = graph.node("Squeeze", [graph.node("MatMul", [row, value])[0], last])[0]
    graph.nodes.append(helper.make_node("LpNormalization", [added], ["vectors"], axis=1, p=2))
