"""Naive twin of `static_embeddings.kernels`: strings, dictionaries and floats."""

import unicodedata

import numpy as np

ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


def words_of(text):
    """Return the words of a text: decomposed, without marks, in lower case; runs of letters or of digits."""
    decomposed = unicodedata.normalize("NFKD", text)
    letters = "".join(letter.lower() for letter in decomposed if unicodedata.category(letter)[0] != "M")
    words, kind = [], ""
    for letter in letters:
        category = unicodedata.category(letter)[0]
        if category not in "LN":
            kind = ""
            continue
        if category == kind:
            words[-1] += letter
        else:
            words.append(letter)
        kind = category
    return words


def pieces_of_word(word, vocabulary, max_word=40):
    """Return the longest pieces from left to right; none if some part has none."""
    if len(word) > max_word or not ALPHABET.issuperset(word):
        return []
    pieces, at = [], 0
    while at < len(word):
        for end in range(len(word), at, -1):
            piece = ("##" if at else "") + word[at:end]
            if piece in vocabulary:
                break
        else:
            return []
        pieces.append(piece)
        at = end
    return pieces


def embed(words, vocabulary, vectors):
    """Return the sum of the vectors of all pieces of words, of length 1."""
    total = np.zeros(vectors.shape[1])
    for word in words:
        for piece in pieces_of_word(word, vocabulary):
            total += vectors[vocabulary[piece]]
    return total / max(np.linalg.norm(total), 1e-12)


def passages_of(title, body, limits, vocabulary):
    """Return the words of each passage, those of the title and some of the body; one without pieces of its own is none.

    The first may have those of the title only.
    """
    max_title, max_words, max_passages = limits
    head, words = words_of(title)[:max_title], words_of(body)
    parts = [words[at : at + max_words] for at in range(0, max(len(words), 1), max_words)][:max_passages]

    def has_pieces(part):
        return any(pieces_of_word(word, vocabulary) for word in part)

    return [head + part for n, part in enumerate(parts) if has_pieces(part) or (n == 0 and has_pieces(head))]


def score_documents(signs, start, query, documents):
    """Return the best similarity of each document, nan where it has no passages."""
    bits = np.unpackbits(signs, axis=1, bitorder="little").astype(np.float64)
    values = (2 * bits - 1) @ query.astype(np.float64) / len(query) ** 0.5
    return [max(values[start[d] : start[d + 1]], default=float("nan")) for d in documents]
