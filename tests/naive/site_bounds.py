"""Bounds of sites by plain loops: naive twins of `sites.forwarding.kernels`."""

from collections.abc import Mapping, Sequence

from periplus.query.kernels.plan import ALL, AND, GIVEN, LEAF, OR, PHRASE

ABSENT = -1.0


def hash_term(term: bytes) -> int:
    """Return the FNV-1a fingerprint of 32 bits."""
    value = 0x811C9DC5
    for byte in term:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def can_match(program: Sequence[tuple[int, int]], phrases: Sequence[Sequence[int]], leaves: set[int]) -> bool:
    """Return whether documents with these leaves can match; filters and exclusions are taken to be met."""
    stack: list[bool] = []
    for operation, argument in program:
        if operation == LEAF:
            stack.append(argument in leaves)
        elif operation == PHRASE:
            stack.append(set(phrases[argument]) <= leaves)
        elif operation in (ALL, GIVEN):
            stack.append(True)
        else:
            right = stack.pop()
            left = stack.pop()
            stack.append(left and right if operation == AND else left or right if operation == OR else left)
    return bool(stack) and stack[0]


def bound_group(
    adds: Mapping[int, float],
    words: Sequence[int],
    word_count: int,
    program: Sequence[tuple[int, int]],
    phrases: Sequence[Sequence[int]],
    static: float,
    bonus: float,
) -> float:
    """Return the bound of one group; adds: what each leaf that it has can add; words: the word of each leaf."""
    if not can_match(program, phrases, set(adds)):
        return ABSENT
    present = {words[leaf] for leaf in adds}
    every = word_count > 0 and present >= set(range(word_count))
    return sum(adds.values()) + static + (bonus if every else 0.0)


def count_group(
    adds: Mapping[int, float], counts: Mapping[int, int], size: int, static: float, bonus: float, least: float
) -> int:
    """Return how many documents of a group can reach a score: those with a leaf that is essential for it."""
    reached, essential = static + bonus, []
    for leaf in sorted(adds, key=lambda leaf: (adds[leaf], leaf)):
        if not essential and reached + adds[leaf] < least:
            reached += adds[leaf]
        else:
            essential.append(leaf)
    if reached >= least:
        return size
    return min(size, sum(counts[leaf] for leaf in essential))
