"""Naive multilingual encoder: one text at a time, in NumPy, in double precision."""

import numpy as np


def encode(model, words):
    """Return the vector of one text, of length 1."""
    words, arrays = np.asarray(words), model.arrays
    table = words % 17
    embedded = model.words[words] * model.scale[table][:, None].astype(np.float64) + model.offset[table][:, None]
    joined = {name: np.concatenate([arrays[f"{name}{size}"] for size in (2, 3, 5)], axis=-1) for name in NAMES}
    values = norm(embedded @ joined["proj"] + joined["proj_b"], joined["ln_g"], joined["ln_b"], model.epsilon)
    width = values.shape[1] // 3
    features = [embedded]
    for branch, (size, before) in enumerate(((2, 0), (3, 1), (5, 2))):
        value = values[:, branch * width : (branch + 1) * width]
        for part in "12":
            value = value + relu(convolve(value, arrays[f"w{part}_{size}"], arrays[f"b{part}_{size}"], size, before))
        features.append(value)
    rows = norm(np.concatenate(features, axis=1), arrays["ln_g"], arrays["ln_b"], model.epsilon)
    pooled = sum(row @ arrays["cnn_W"] + arrays["cnn_b"] for row in rows) / np.sqrt(len(rows))
    first = relu(pooled @ arrays["p1"] + relu(pooled @ arrays["d0"]) @ arrays["d1"])
    last = np.tanh(first @ arrays["p3"] + relu(first @ arrays["d2"]) @ arrays["d3"])
    return last / np.linalg.norm(last)


NAMES = ("proj", "proj_b", "ln_g", "ln_b")


def convolve(value, matrix, bias, size, before):
    """Return for each word the product of it and its neighbours, zeros beyond the ends, and a matrix."""
    out = []
    for at in range(len(value)):
        window = [
            value[n] if 0 <= n < len(value) else np.zeros(value.shape[1])
            for n in range(at - before, at - before + size)
        ]
        out.append(np.concatenate(window) @ matrix + bias)
    return np.array(out)


def norm(value, weight, bias, epsilon):
    """Return rows of mean 0 and variance 1, scaled and shifted."""
    centred = value - value.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + epsilon) * weight + bias


def relu(value):
    """Return values, 0 for negative ones."""
    return np.maximum(value, 0)
