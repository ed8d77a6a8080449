"""Convert a model to an ONNX file for CPUs: fused attention, normalisation and activation, int8 matrices.

    words (texts, length) int32 ─ embeddings ─ first layer ─┐
    kept (some of length) int64 ────────────────────────────┴─ other layers ─ pooling ─ norm ─ vectors (texts, width)

Pooling is the mean of all words, or the first one, the special token before the text. In the latter case the last layer
computes keys and values of all words and everything else for the first one alone.

All vectors of such a model point in much the same direction. A share of their mean is subtracted (`Model.centre`), so
that similarities spread, and bytes are not spent on what all vectors have in common.

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

__all__ = ["GraphBuilder", "convert_to_onnx", "finish_graph", "quantise"]

_OPSET: Final = 17
_FORMAT: Final = 8
"""The ONNX file format, which all runtimes allowed by the extra can read."""
_CONTRIB_DOMAIN: Final = "com.microsoft"
_EPSILON: Final = 1e-12
_SMALLEST: Final = 1e-12
_UNPRUNED_LAYERS: Final = 1
"""Layers that all words pass."""
_OUTLIER_INPUT, _OUTLIER_RECEIVED, _OUTLIER_SENT = 6.0, 2.5, 5.0
"""By how much the weights of outliers exceed the median, see `_find_outliers`."""
_MAX_OUTLIERS: Final = 16
"""Units of a layer that are computed as floats."""

Positions = npt.NDArray[np.int64]
_NONE: Final[Positions] = np.zeros(0, np.int64)


def quantise(matrix: Floats, bits: int = 7) -> tuple[npt.NDArray[np.int8], Floats]:
    """Return a matrix as integers, and the scale of each column."""
    largest = 2 ** (bits - 1) - 1
    scale = np.maximum(np.abs(matrix).max(axis=0), _SMALLEST).astype(np.float32) / np.float32(largest)
    return np.clip(np.rint(matrix / scale), -largest, largest).astype(np.int8), scale


class GraphBuilder:
    """Collects nodes and constants of an ONNX graph."""

    def __init__(self, heads: int, bits: int, *, separate_outliers: bool = False) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._heads, self._bits = heads, bits
        self._separate_outliers = separate_outliers and bits > 0
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

    def embeddings(self, model: Model) -> str:
        """Add the lookup of words and positions and its norm; return the name of its output."""
        if not model.word_group:
            tables = ["words", "", self.constant(model.words), self.constant(model.positions), ""]
            norm = [self.constant(model.norm.weight), self.constant(model.norm.bias)]
            name, domain = "EmbedLayerNormalization", _CONTRIB_DOMAIN
            return self.node(name, [*tables, *norm], 2, domain=domain, epsilon=_EPSILON)[0]
        words = self._quantised_words(model)
        length = self.node("Slice", [self.node("Shape", ["words"])[0], *self.integers([1], [2], [0])])[0]
        begin, axis = self.integers([0], [0])
        positions = self.node("Slice", [self.constant(model.positions), begin, length, axis])[0]
        parts = [self.node("Add", [words, positions])[0], *map(self.constant, model.norm)]
        return self.node("LayerNormalization", parts, epsilon=_EPSILON)[0]

    def _quantised_words(self, model: Model) -> str:
        """Add the lookup of word embeddings in a table of bytes, a quarter of the size of one of floats."""
        groups = model.width // model.word_group
        table, scales = quantise(model.words.reshape(-1, model.word_group).T, 8)
        values = self.node("Gather", [self.constant(table.T.reshape(-1, groups, model.word_group)), "words"], axis=0)[0]
        factors = self.node("Gather", [self.constant(scales.reshape(-1, groups, 1)), "words"], axis=0)[0]
        floats = self.node("Cast", [values], to=TensorProto.FLOAT)[0]
        product = self.node("Mul", [floats, factors])[0]
        return self.node("Reshape", [product, *self.integers([0, 0, model.width])])[0]

    def integers(self, *lists: list[int]) -> list[str]:
        """Add lists of integers; return their names."""
        return [self.constant(np.array(values, np.int64)) for values in lists]

    def attention(self, value: str, matrix: Floats, added: Floats) -> str:
        """Add self-attention; return the name of its output."""
        bias, heads = self.constant(added), self._heads
        if not self._bits:
            parts = [value, self.constant(matrix), bias]
            return self.node("Attention", parts, domain=_CONTRIB_DOMAIN, num_heads=heads)[0]
        integers, scale = quantise(matrix, self._bits)
        quantised, input_scale, zero = self.node("DynamicQuantizeLinear", [value], 3)
        matrix_zero = self.constant(np.zeros(integers.shape[1], np.int8))
        parts = [quantised, self.constant(integers), bias, input_scale, self.constant(scale), "", zero, matrix_zero]
        return self.node("QAttention", parts, domain=_CONTRIB_DOMAIN, num_heads=heads)[0]

    def attention_of_first(self, value: str, first: str, matrix: Floats, added: Floats) -> str:
        """Add the attention of the first word to all words; return the name of its output."""
        width = matrix.shape[0]
        query = self.linear(first, np.ascontiguousarray(matrix[:, :width]), added[:width])
        others = self.linear(value, np.ascontiguousarray(matrix[:, width:]), added[width:])
        keys, values = self.node("Split", [others, *self.integers([width, width])], 2, axis=2)
        parts, heads = [query, keys, values], self._heads
        return self.node("MultiHeadAttention", parts, domain=_CONTRIB_DOMAIN, num_heads=heads)[0]

    def layer(self, value: str, pending_bias: Floats, layer: Layer, *, only_first: bool) -> tuple[str, Floats]:
        """Add a layer to a value without `pending_bias`; return its output, and the bias that is pending for that."""
        attention_bias = layer.attention_bias + pending_bias @ layer.attention
        if only_first:
            first = self.node("Slice", [value, *self.integers([0], [1], [1])])[0]
            attended = self.attention_of_first(value, first, layer.attention, attention_bias)
            value = first
        else:
            attended = self.attention(value, layer.attention, attention_bias)
        projected = self.linear(attended, _centred(layer.projection), _centred(layer.projection_bias + pending_bias))
        value, pending_bias = self.norm(projected, value, layer.projection_norm), layer.projection_norm.bias
        contracted = self.feed_forward(value, pending_bias, layer)
        return self.norm(contracted, value, layer.contraction_norm), layer.contraction_norm.bias

    def feed_forward(self, value: str, pending_bias: Floats, layer: Layer) -> str:
        """Add the two matrices between norms; return the name of their output, which has mean 0."""
        bias = layer.expansion_bias + pending_bias @ layer.expansion
        contraction, contraction_bias = _centred(layer.contraction), _centred(layer.contraction_bias + pending_bias)
        inputs, units = _find_outliers(layer) if self._separate_outliers else (_NONE, _NONE)
        expansion, unit_bias = _zeroed(layer.expansion, inputs, axis=0), _zeroed(bias, units, axis=0)
        whole = value
        if len(inputs):
            value = self.node(
                "Mul", [whole, self.constant(_zeroed(np.ones(len(expansion), np.float32), inputs, axis=0))]
            )[0]
        expanded = self.linear(value, _zeroed(expansion, units, axis=1), unit_bias)
        if len(inputs):
            column = self.node("Gather", [whole, self.constant(inputs)], axis=2)[0]
            part = self.node("MatMul", [column, self.constant(_zeroed(layer.expansion[inputs], units, axis=1))])[0]
            expanded = self.node("Add", [expanded, part])[0]
        # The fast one deviates by a thousandth at most, less than quantisation does.
        expanded = self.node("FastGelu" if self._bits else "Gelu", [expanded], domain=_CONTRIB_DOMAIN)[0]
        contracted = self.linear(expanded, _zeroed(contraction, units, axis=0), contraction_bias)
        if not len(units):
            return contracted
        large = self.node("MatMul", [whole, self.constant(layer.expansion[:, units])])[0]
        large = self.node("Add", [large, self.constant(bias[units])])[0]
        large = self.node("Gelu", [large], domain=_CONTRIB_DOMAIN)[0]
        return self.node("Add", [contracted, self.node("MatMul", [large, self.constant(contraction[units])])[0]])[0]


def _find_outliers(layer: Layer) -> tuple[Positions, Positions]:
    """Return the inputs and the units of a feed-forward network whose values are far larger than the others.

    Models that pool by the first word mark it by a value of a few hundred in one unit. Quantised together, the others
    would vanish beside it. Such inputs and units are computed as floats; their weights show which they are.
    """
    inputs = _beyond(np.abs(layer.projection_norm.weight), _OUTLIER_INPUT)
    received = np.linalg.norm(layer.expansion * layer.projection_norm.weight[:, None], axis=0)
    sent = np.abs(layer.contraction).max(axis=1)
    units = np.union1d(_beyond(received, _OUTLIER_RECEIVED), _beyond(sent, _OUTLIER_SENT))
    order = np.argsort(-(received * sent)[units], kind="stable")
    return inputs, np.sort(units[order[:_MAX_OUTLIERS]])


def _beyond(values: Floats, factor: float) -> Positions:
    """Return the positions of values that exceed the median by a factor."""
    return np.flatnonzero(values > factor * np.median(values))


def _zeroed(values: Floats, positions: Positions, axis: int) -> Floats:
    """Return a copy with zeros at positions of one axis."""
    copy = values.copy()
    np.moveaxis(copy, axis, 0)[positions] = 0
    return copy


def _centred(values: Floats) -> Floats:
    """Return a matrix or bias whose outputs have mean 0."""
    centred: Floats = values - values.mean(axis=-1, keepdims=True, dtype=np.float64).astype(np.float32)
    return centred


def convert_to_onnx(model: Model, bits: int = 7) -> bytes:
    """Return the encoder as an ONNX file, with matrices of `bits` bits; 0 leaves them as floats."""
    graph = GraphBuilder(model.heads, bits, separate_outliers=model.pooling == "first")
    value = graph.embeddings(model)
    pending_bias: Floats = np.zeros(model.width, np.float32)
    for number, layer in enumerate(model.layers):
        value = graph.node("Gather", [value, "kept"], axis=1)[0] if number == _UNPRUNED_LAYERS else value
        only_first = model.pooling == "first" and number == len(model.layers) - 1
        value, pending_bias = graph.layer(value, pending_bias, layer, only_first=only_first)
    # Of the model whose vectors are those of the first word, only that one is left.
    mean = graph.node("ReduceMean", [value], axes=[1], keepdims=0)[0]
    biased = graph.node("Add", [mean, graph.constant(pending_bias)])[0]
    if model.centre is not None:
        biased = graph.node("LpNormalization", [biased], axis=1, p=2)[0]
        biased = graph.node("Sub", [biased, graph.constant(model.centre)])[0]
    graph.nodes.append(helper.make_node("LpNormalization", [biased], ["vectors"], axis=1, p=2))
    return finish_graph(graph, model.width)


def finish_graph(graph: GraphBuilder, width: int) -> bytes:
    """Return a graph from `words` and `kept` to `vectors` as an ONNX file."""
    inputs = [
        helper.make_tensor_value_info("words", TensorProto.INT32, ["texts", "length"]),
        helper.make_tensor_value_info("kept", TensorProto.INT64, ["some"]),
    ]
    outputs = [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", width])]
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_CONTRIB_DOMAIN, 1)]
    onnx_graph = helper.make_graph(graph.nodes, "encoder", inputs, outputs, graph.constants)
    raw: bytes = helper.make_model(onnx_graph, opset_imports=opsets, ir_version=_FORMAT).SerializeToString()
    return raw
