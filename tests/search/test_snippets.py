"""Snippets: always a piece of the page itself, of a bounded length, with the right words marked."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from periplus.search import make_snippet
from periplus.text import token_spans

words = st.one_of(st.sampled_from(["sea", "salt.", "Häfen", "海の道", "x" * 60, "\n", "…"]), st.text(max_size=12))


@given(st.lists(words, max_size=150), st.lists(st.integers(0, 300), max_size=12), st.integers(40, 200))
def test_a_snippet_is_a_piece_of_the_text(parts: list[str], at: list[int], chars: int) -> None:
    text = " ".join(parts).encode("utf-8", "replace")
    spans = token_spans(text)
    places = [np.array(sorted(set(at[::2])), np.int64), np.array(sorted(set(at[1::2])), np.int64)]
    pieces = make_snippet(text, places, [1.0, 2.0], chars)
    plain = " ".join(text.decode("utf-8", "replace").replace("\x00", "").split())
    shown = "".join(piece for piece, _ in pieces)
    inner = " ".join(shown.removeprefix("… ").removesuffix(" …").split())
    assert inner in plain
    assert len(shown) <= 2 * chars + 200
    tokens = {" ".join(text[a:b].decode("utf-8", "replace").split()) for a, b in spans.tolist()}
    for piece, marked in pieces:
        assert not marked or all(part in " ".join(tokens) for part in piece.split())


def test_the_piece_with_the_most_different_words_wins() -> None:
    text = (
        "filler " * 80 + "salt salt salt salt " + "filler " * 80 + "the salt harbour lies here " + "filler " * 80
    ).encode()
    spans = token_spans(text)
    names = [text[a:b] for a, b in spans.tolist()]
    places = [np.array([n for n, name in enumerate(names) if name == word], np.int64) for word in (b"salt", b"harbour")]
    pieces = make_snippet(text, places, [1.0, 1.0], 160)
    assert "the salt harbour lies here" in "".join(piece for piece, _ in pieces)
    assert [piece for piece, marked in pieces if marked] == ["salt harbour"]
