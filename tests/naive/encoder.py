"""The encoder, naively: one text after the other, in NumPy, in double precision, step by step as the paper has it."""

import math

import numpy as np

_erf = np.vectorize(math.erf)


def encode(model, words, kept=None):
    """Give the vector of one text: word numbers in, mean of the last layer's values out, of length 1.

    Behind the first layer only words at places in `kept` go on, all if it is None.
    """
    value = norm(model.words[words].astype(np.float64) + model.places[: len(words)], model.norm)
    for number, layer in enumerate(model.layers):
        value = value[kept] if number == 1 and kept is not None else value
        value = norm(value + attend(value, layer, model.heads) @ layer.joined + layer.joined_bias, layer.joined_norm)
        wide = gelu(value @ layer.wide + layer.wide_bias)
        value = norm(value + wide @ layer.narrow + layer.narrow_bias, layer.narrow_norm)
    mean = value.mean(axis=0)
    return mean / np.linalg.norm(mean)


def attend(value, layer, heads):
    """Let each word gather from all others, head by head."""
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
    """Give each row mean 0 and variance 1, then scale and shift."""
    centred = value - value.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12) * norm.weight + norm.bias


def gelu(value):
    """Give the Gaussian error linear unit."""
    return value * 0.5 * (1 + _erf(value / math.sqrt(2)))
