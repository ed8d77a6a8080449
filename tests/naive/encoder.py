"""Naive encoder: one text at a time, in NumPy, in double precision, step by step as in the paper."""

import math

import numpy as np

_erf = np.vectorize(math.erf)


def encode(model, words, kept=None):
    """Return the vector of one text: word numbers in, mean or first of the last layer's values out, of length 1.

    After the first layer only words at the positions in `kept` continue, all if it is None.
    """
    value = norm(model.words[words].astype(np.float64) + model.positions[: len(words)], model.norm)
    for number, layer in enumerate(model.layers):
        value = value[kept] if number == 1 and kept is not None else value
        value = norm(
            value + attend(value, layer, model.heads) @ layer.projection + layer.projection_bias, layer.projection_norm
        )
        wide = gelu(value @ layer.expansion + layer.expansion_bias)
        value = norm(value + wide @ layer.contraction + layer.contraction_bias, layer.contraction_norm)
    pooled = value[0] if model.pooling == "first" else value.mean(axis=0)
    pooled = pooled / np.linalg.norm(pooled)
    if model.centre is not None:
        pooled = pooled - model.centre
    return pooled / np.linalg.norm(pooled)


def attend(value, layer, heads):
    """Return the result of self-attention, head by head."""
    width = value.shape[1]
    size = width // heads
    query, key, what = np.split(value @ layer.attention + layer.attention_bias, 3, axis=1)
    out = np.zeros_like(value)
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        closeness = query[:, part] @ key[:, part].T / math.sqrt(size)
        share = np.exp(closeness - closeness.max(axis=1, keepdims=True))
        out[:, part] = share / share.sum(axis=1, keepdims=True) @ what[:, part]
    return out


def norm(value, norm):
    """Return rows of mean 0 and variance 1, scaled and shifted."""
    centred = value - value.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12) * norm.weight + norm.bias


def gelu(value):
    """Return the Gaussian error linear unit."""
    return value * 0.5 * (1 + _erf(value / math.sqrt(2)))
