"""Language identification done slowly: a fastText classifier, scripts and the choice, character by character."""

import itertools
import math

import numpy as np

from periplus.text.kernels.language_scores import ModelArrays


def fnv(raw: bytes) -> int:
    """Return the hash of fastText: FNV-1a over signed bytes."""
    value = 2166136261
    for byte in raw:
        value = ((value ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
    return value


def ngrams(word: str, shortest: int, longest: int) -> list[bytes]:
    """Return the n-grams of a word within brackets."""
    text = f"<{word}>"
    spans = [(i, n) for i in range(len(text)) for n in range(shortest, longest + 1) if i + n <= len(text)]
    return [text[i : i + n].encode() for i, n in spans if not (n == 1 and (i == 0 or i + n == len(text)))]


def score_text(model: ModelArrays, text: str, languages: int) -> list[float]:
    """Return the probability of each language of a text."""
    raw, starts = model.blob.tobytes(), model.starts.tolist()
    words = {raw[a:b]: number for number, (a, b) in enumerate(itertools.pairwise(starts))}
    buckets = np.flatnonzero(np.unpackbits(model.bits.view(np.uint8), bitorder="little")).tolist()
    rows = {bucket: len(words) + row for row, bucket in enumerate(buckets)}
    total, count = np.zeros(model.vectors.shape[1]), 0
    for word in text.replace("\0", " ").split():
        number = words.get(word.encode(), -1)
        if number >= 0:
            total, count = total + model.vectors[number], count + int(model.word_counts[number])
            continue
        hashes = [fnv(gram) % int(model.buckets) for gram in ngrams(word, model.shortest, model.longest)]
        for row in [rows[bucket] for bucket in hashes if bucket in rows]:
            total, count = total + model.vectors[row], count + 1
    if not count:
        return [0.0] * languages
    if model.end_word >= 0:
        total, count = total + model.vectors[model.end_word], count + int(model.word_counts[model.end_word])
    scores = [0.0] * languages
    pending = [(len(model.left) - 1, 1.0)]
    while pending:
        node, reach = pending.pop()
        share = 1 / (1 + math.exp(-float(model.output[:, node] @ (total / count))))
        for child, factor in ((int(model.left[node]), 1 - share), (int(model.right[node]), share)):
            if child < 0:
                scores[~child] = reach * (factor + 1e-5)
            else:
                pending.append((child, reach * (factor + 1e-5)))
    return scores


def choose_language(
    scores: list[float], letters: int, weights: list[float], prior: list[float] | None, declared: int
) -> tuple[int, float]:
    """Return the best language, 0 without evidence, and its probability."""
    has_evidence = max(scores) > 0 or sum(weight > 0 for weight in weights[1:]) == 1
    least = 0.01 + 0.19 * min(letters / 150, 1) ** 2 if has_evidence else 0.0
    values = [0.0]
    for language in range(1, len(scores)):
        expected = prior[language] if prior else 0.0
        if declared:
            expected = (expected + 2 * (language == declared)) / (3 if prior else 2)
        value = weights[language] if has_evidence else 0.0
        if prior or declared:
            value = max(weights[language], expected) * (least + (1 - least) * expected) if weights[language] else 0.0
        floor = 1e-3 + 0.02 * max(0, 1 - letters / 20)
        values.append(value * (scores[language] + floor) if letters else expected)
    best = int(np.argmax(values))
    return (best, values[best] / sum(values)) if sum(values) > 0 else (0, 0.0)
