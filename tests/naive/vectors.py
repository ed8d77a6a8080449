"""Naive twin of `embeddings.kernels`: every cosine computed in floats, one document after the other."""

import numpy as np


def cosines(store, query):
    """Return the cosine of every row."""
    return [
        float(np.dot(row.astype(np.float64), query.astype(np.float64)) * scale)
        for row, scale in zip(store.vectors, store.scales, strict=True)
    ]


def score_documents(store, query, documents):
    """Return the best cosine of each document, nan where it has no passages."""
    values = cosines(store, query)
    return [
        max((values[row] for row in store.rows[store.start[d] : store.start[d + 1]]), default=float("nan"))
        for d in documents
    ]


def find_nearest(store, query, alive, lists, k):
    """Return the k nearest live documents of some lists, best first."""
    values = cosines(store, query)
    best = {}
    for number in lists:
        for row in range(store.list_start[number], store.list_start[number + 1]):
            owner = int(store.owners[row])
            if alive[owner]:
                best[owner] = max(best.get(owner, -2.0), values[row])
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))[:k]


def assign_centres(vectors, centres):
    """Return the number of the centre nearest to each vector."""
    return [int(np.argmax([np.dot(row.astype(np.float64), centre) for centre in centres])) for row in vectors]
