"""A model to an ONNX file for processors: attention, normalisation and activation as one step each, int8 matrices.

    words (texts, length) int32 ─ embeddings ─ first layer ─┐
    kept (some of length) int64 ────────────────────────────┴─ other layers ─ mean ─ length 1 ─ vectors (texts, width)

Texts that go through together must be of one length: nothing is filled up, so nothing is masked. Behind the first
layer only those words go on whose places are in `kept`: they have heard by then what the others had to say.

Matrices are cut to whole numbers by column (`quantise`), values on their way in at run time. Seven bits are used where
a processor without VNNI would overflow on eight: see docs/decisions/013-embeddings.md for what that costs.

Normalisation takes the mean away, divides by the spread, multiplies and adds. Runtimes have a slow step for all of that
and a fast one for dividing and multiplying alone, so the rest is put elsewhere: matrices whose columns have had their
mean taken away give sums without one, and what would be added last is added to the biases of the matrices behind it.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper, numpy_helper

from periplus.embeddings.safetensors import Floats, Layer, Model, Norm

__all__ = ["convert", "quantise"]

_OPSET: Final = 17
_FORMAT: Final = 8
"""The ONNX file format: old enough for all runtimes that the extra allows."""
_OURS: Final = "com.microsoft"
_EPSILON: Final = 1e-12
_SMALLEST: Final = 1e-12
_ALL_WORDS: Final = 1
"""Layers that all words go through."""


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
        """Add what was there before, without its mean, and normalise; the norm's own bias is left to who reads it."""
        mean = self.node("ReduceMean", [before], axes=[-1], keepdims=1)[0]
        parts = [value, self.node("Sub", [before, mean])[0], self.constant(norm.weight)]
        return self.node("SkipSimplifiedLayerNormalization", parts, domain=_OURS, epsilon=_EPSILON)[0]

    def times(self, value: str, matrix: Floats, bias: Floats) -> str:
        """Multiply by a matrix and add a bias."""
        if not self._bits:
            product = self.node("MatMul", [value, self.constant(matrix)])[0]
            return self.node("Add", [product, self.constant(bias)])[0]
        whole, scale = quantise(matrix, self._bits)
        zero = self.constant(np.zeros(whole.shape[1], np.int8))
        parts = [value, self.constant(whole), self.constant(scale), zero, self.constant(bias)]
        return self.node("DynamicQuantizeMatMul", parts, domain=_OURS)[0]

    def attention(self, value: str, matrix: Floats, added: Floats) -> str:
        """Let every word look at every other."""
        bias, heads = self.constant(added), self._model.heads
        if not self._bits:
            parts = [value, self.constant(matrix), bias]
            return self.node("Attention", parts, domain=_OURS, num_heads=heads)[0]
        whole, scale = quantise(matrix, self._bits)
        cut, size, zero = self.node("DynamicQuantizeLinear", [value], 3)
        none = self.constant(np.zeros(whole.shape[1], np.int8))
        parts = [cut, self.constant(whole), bias, size, self.constant(scale), "", zero, none]
        return self.node("QAttention", parts, domain=_OURS, num_heads=heads)[0]

    def layer(self, value: str, owed: Floats, layer: Layer) -> tuple[str, Floats]:
        """Add a layer to a value that still lacks `owed`; give its value, and what that lacks."""
        seen = self.attention(value, layer.attention, layer.attention_bias + owed @ layer.attention)
        joined = self.times(seen, _centred(layer.joined), _centred(layer.joined_bias + owed))
        value, owed = self.norm(joined, value, layer.joined_norm), layer.joined_norm.bias
        wide = self.times(value, layer.wide, layer.wide_bias + owed @ layer.wide)
        # The fast one is off by a thousandth at most, less than what whole numbers lose.
        wide = self.node("FastGelu" if self._bits else "Gelu", [wide], domain=_OURS)[0]
        narrow = self.times(wide, _centred(layer.narrow), _centred(layer.narrow_bias + owed))
        return self.norm(narrow, value, layer.narrow_norm), layer.narrow_norm.bias


def _centred(values: Floats) -> Floats:
    """Take the mean of what comes out away."""
    centred: Floats = values - values.mean(axis=-1, keepdims=True, dtype=np.float64).astype(np.float32)
    return centred


def convert(model: Model, bits: int = 7) -> bytes:
    """Write the encoder as an ONNX file, with matrices of `bits` bits; 0 leaves them as floats."""
    graph = _Graph(model, bits)
    empty = ["words", "", graph.constant(model.words), graph.constant(model.places), ""]
    norm = [graph.constant(model.norm.weight), graph.constant(model.norm.bias)]
    value = graph.node("EmbedLayerNormalization", [*empty, *norm], 2, domain=_OURS, epsilon=_EPSILON)[0]
    owed: Floats = np.zeros(model.width, np.float32)
    for number, layer in enumerate(model.layers):
        value = graph.node("Gather", [value, "kept"], axis=1)[0] if number == _ALL_WORDS else value
        value, owed = graph.layer(value, owed, layer)
    mean = graph.node("ReduceMean", [value], axes=[1], keepdims=0)[0]
    whole = graph.node("Add", [mean, graph.constant(owed)])[0]
    graph.nodes.append(helper.make_node("LpNormalization", [whole], ["vectors"], axis=1, p=2))
    inputs = [
        helper.make_tensor_value_info("words", TensorProto.INT32, ["texts", "length"]),
        helper.make_tensor_value_info("kept", TensorProto.INT64, ["some"]),
    ]
    outputs = [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", model.width])]
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_OURS, 1)]
    drawn = helper.make_graph(graph.nodes, "encoder", inputs, outputs, graph.constants)
    made: bytes = helper.make_model(drawn, opset_imports=opsets, ir_version=_FORMAT).SerializeToString()
    return made
