"""Engines that are compared are asked in an order that favours none of them."""

from collections import Counter

from query_turns import REPEATS, ask_in_turn, rotate


def test_each_engine_comes_first_equally_often() -> None:
    engines, asked = "abcd", list[tuple[str, str]]()

    def engine(name: str) -> object:
        return lambda query: asked.append((name, query.words))

    queries = ["one", "two", "three", "four"]
    samples = ask_in_turn([engine(name) for name in engines], queries)  # type: ignore[misc]
    measured = asked[len(engines) * len(queries) :]
    turns = [measured[start : start + len(engines)] for start in range(0, len(measured), len(engines))]
    assert [words for turn in turns for words in {words for _, words in turn}] == queries * REPEATS
    assert all({name for name, _ in turn} == set(engines) for turn in turns)
    for place in range(len(engines)):
        assert Counter(turn[place][0] for turn in turns) == dict.fromkeys(engines, REPEATS)
    assert all(one.wall.shape == (REPEATS, len(queries)) and (one.wall > 0).all() for one in samples)


def test_a_turn_keeps_all_items() -> None:
    assert [rotate([1, 2, 3], turn) for turn in range(4)] == [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 2, 3]]
    assert rotate([], 5) == []
