"""Convert a model to an ONNX file for CPUs: fused attention, normalisation and activation, int8 matrices.

    words (texts, length) int32 ─ embeddings ─ first layer ─┐
    kept (some of length) int64 ────────────────────────────┴─ other layers ─ mean ─ length 1 ─ vectors (texts, width)

Texts of one batch must have the same length: there is no padding, hence no mask. After the first layer only the words
at the positions in `kept` continue; attention has mixed the others into them by then.

Matrices are quantised by column (`quantise`), activations at run time. Seven bits are used because a processor without
VNNI would overflow on eight; docs/decisions/013-embeddings.md has the cost.

Layer normalisation subtracts the mean, divides by the standard deviation, multiplies and adds a bias. Runtimes have a
slow operator for all of it and a fast one for the division and multiplication alone. The rest is folded into the
matrices: those with centred columns produce values of mean 0, and each norm's bias is added to the biases of the
matrices that follow it.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper, numpy_helper

from periplus.embeddings.safetensors import Floats, Layer, Model, Norm

__all__ = ["convert_to_onnx", "quantise"]

_OPSET: Final = 17
_FORMAT: Final = 8
"""The ONNX file format, which all runtimes allpending_bias by the extra can read."""
_CONTRIB_DOMAIN: Final = "com.microsoft"
_EPSILON: Final = 1e-12
_SMALLEST: Final = 1e-12
_UNPRUNED_LAYERS: Final = 1
"""Layers that all words pass."""


def quantise(matrix: Floats, bits: int = 7) -> tuple[npt.NDArray[np.int8], Floats]:
    """Return a matrix as integers, and the scale of each column."""
    largest = 2 ** (bits - 1) - 1
    scale = np.maximum(np.abs(matrix).max(axis=0), _SMALLEST).astype(np.float32) / np.float32(largest)
    return np.clip(np.rint(matrix / scale), -largest, largest).astype(np.int8), scale


class _GraphBuilder:
    """Collects nodes and constants of an ONNX graph."""

    def __init__(self, model: Model, bits: int) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._model = model
        self._bits = bits
        self._value_count = 0

    def constant(self, value: npt.NDArray[Any]) -> str:
        """Add a constant; return its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind: str, inputs: list[str], outputs: int = 1, domain: str = "", **attributes: Any) -> list[str]:
        """Add a node; return the names of its outputs."""
        names = [f"v{self._value_count + i}" for i in range(outputs)]
        self._value_count += outputs
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names

    def norm(self, value: str, residual: str, norm: Norm) -> str:
        """Add the residual without its mean, and normalise; the norm's bias is left to the following matrices."""
        mean = self.node("ReduceMean", [residual], axes=[-1], keepdims=1)[0]
        parts = [value, self.node("Sub", [residual, mean])[0], self.constant(norm.weight)]
        return self.node("SkipSimplifiedLayerNormalization", parts, domain=_CONTRIB_DOMAIN, epsilon=_EPSILON)[0]

    def linear(self, value: str, matrix: Floats, bias: Floats) -> str:
        """Add a linear layer; return the name of its output."""
        if not self._bits:
            product = self.node("MatMul", [value, self.constant(matrix)])[0]
            return self.node("Add", [product, self.constant(bias)])[0]
        integers, scale = quantise(matrix, self._bits)
        zero = self.constant(np.zeros(integers.shape[1], np.int8))
        parts = [value, self.constant(integers), self.constant(scale), zero, self.constant(bias)]
        return self.node("DynamicQuantizeMatMul", parts, domain=_CONTRIB_DOMAIN)[0]

    def attention(self, value: str, matrix: Floats, added: Floats) -> str:
        """Add self-attention; return the name of its output."""
        bias, heads = self.constant(added), self._model.heads
        if not self._bits:
            parts = [value, self.constant(matrix), bias]
            return self.node("Attention", parts, domain=_CONTRIB_DOMAIN, num_heads=heads)[0]
        integers, scale = quantise(matrix, self._bits)
        quantised, input_scale, zero = self.node("DynamicQuantizeLinear", [value], 3)
        matrix_zero = self.constant(np.zeros(integers.shape[1], np.int8))
        parts = [quantised, self.constant(integers), bias, input_scale, self.constant(scale), "", zero, matrix_zero]
        return self.node("QAttention", parts, domain=_CONTRIB_DOMAIN, num_heads=heads)[0]

    def layer(self, value: str, pending_bias: Floats, layer: Layer) -> tuple[str, Floats]:
        """Add a layer to a value without `pending_bias`; return its output, and the bias that is pending for that."""
        attended = self.attention(value, layer.attention, layer.attention_bias + pending_bias @ layer.attention)
        projected = self.linear(attended, _centred(layer.projection), _centred(layer.projection_bias + pending_bias))
        value, pending_bias = self.norm(projected, value, layer.projection_norm), layer.projection_norm.bias
        expanded = self.linear(value, layer.expansion, layer.expansion_bias + pending_bias @ layer.expansion)
        # The fast one deviates by a thousandth at most, less than quantisation does.
        expanded = self.node("FastGelu" if self._bits else "Gelu", [expanded], domain=_CONTRIB_DOMAIN)[0]
        contracted = self.linear(expanded, _centred(layer.contraction), _centred(layer.contraction_bias + pending_bias))
        return self.norm(contracted, value, layer.contraction_norm), layer.contraction_norm.bias


def _centred(values: Floats) -> Floats:
    """Return a matrix or bias whose outputs have mean 0."""
    centred: Floats = values - values.mean(axis=-1, keepdims=True, dtype=np.float64).astype(np.float32)
    return centred


def convert_to_onnx(model: Model, bits: int = 7) -> bytes:
    """Return the encoder as an ONNX file, with matrices of `bits` bits; 0 leaves them as floats."""
    graph = _GraphBuilder(model, bits)
    inputs_of_embedding = ["words", "", graph.constant(model.words), graph.constant(model.positions), ""]
    norm = [graph.constant(model.norm.weight), graph.constant(model.norm.bias)]
    value = graph.node(
        "EmbedLayerNormalization", [*inputs_of_embedding, *norm], 2, domain=_CONTRIB_DOMAIN, epsilon=_EPSILON
    )[0]
    pending_bias: Floats = np.zeros(model.width, np.float32)
    for number, layer in enumerate(model.layers):
        value = graph.node("Gather", [value, "kept"], axis=1)[0] if number == _UNPRUNED_LAYERS else value
        value, pending_bias = graph.layer(value, pending_bias, layer)
    mean = graph.node("ReduceMean", [value], axes=[1], keepdims=0)[0]
    biased = graph.node("Add", [mean, graph.constant(pending_bias)])[0]
    graph.nodes.append(helper.make_node("LpNormalization", [biased], ["vectors"], axis=1, p=2))
    inputs = [
        helper.make_tensor_value_info("words", TensorProto.INT32, ["texts", "length"]),
        helper.make_tensor_value_info("kept", TensorProto.INT64, ["some"]),
    ]
    outputs = [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", model.width])]
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_CONTRIB_DOMAIN, 1)]
    onnx_graph = helper.make_graph(graph.nodes, "encoder", inputs, outputs, graph.constants)
    raw: bytes = helper.make_model(onnx_graph, opset_imports=opsets, ir_version=_FORMAT).SerializeToString()
    return raw
