"""What a plan for a segment is made of, by running its program on lists."""

from collections.abc import Sequence

from periplus.query import QueryPlan
from periplus.query.kernels import match


def shape(plan: QueryPlan) -> int:
    """Return the shape of a program."""
    used = {operation for operation, _ in plan.program}
    restricted = any(leaf.languages is not None for leaf in plan.leaves)
    if plan.synonyms:
        return match.MIXED
    if used <= {match.LEAF, match.AND}:
        return match.EVERY
    if used <= {match.LEAF, match.OR}:
        return match.SOME
    return match.QUOTE if used == {match.PHRASE} and not restricted else match.MIXED


def required(plan: QueryPlan) -> set[int]:
    """Return the leaves without which nothing can match."""
    stack: list[set[int]] = []
    for operation, argument in plan.program:
        if operation == match.LEAF:
            stack.append({argument})
        elif operation == match.PHRASE:
            stack.append(set(plan.phrases[argument].leaves))
        elif operation in (match.ALL, match.GIVEN):
            stack.append(set())
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(left | right if operation == match.AND else left & right if operation == match.OR else left)
    return stack[0]


def clauses(plan: QueryPlan, often: Sequence[int]) -> list[int]:
    """Return the clauses of a program as masks, the one that fewest documents have first."""
    stack: list[list[int]] = []
    for operation, argument in plan.program:
        if operation == match.LEAF:
            stack.append([1 << argument])
        elif operation == match.PHRASE:
            stack.append([1 << leaf for leaf in plan.phrases[argument].leaves])
        elif operation in (match.ALL, match.GIVEN):
            stack.append([])
        else:
            right = stack.pop()
            if operation == match.AND:
                stack[-1] = stack[-1] + right
            elif operation == match.OR:
                stack[-1] = [one | other for one, other in zip(stack[-1], right, strict=False)]
    sums = {mask: sum(count for leaf, count in enumerate(often) if mask >> leaf & 1) for mask in stack[0]}
    return sorted(sums, key=sums.__getitem__)


def order(plan: QueryPlan, often: Sequence[int]) -> list[int]:
    """Return the leaves, required ones first, the rarest of them before others."""
    needed = required(plan)
    return sorted(range(len(often)), key=lambda leaf: (leaf not in needed, often[leaf]))


def words(plan: QueryPlan, often: Sequence[int]) -> list[tuple[int, int]]:
    """Return leaves and offsets of the words of all phrases, the rarest first where they are one after the other."""
    found: list[tuple[int, int]] = []
    for phrase in plan.phrases:
        pairs = [(leaf, place) for place, leaf in enumerate(phrase.leaves)]
        found += pairs if phrase.reach else sorted(pairs, key=lambda pair: often[pair[0]])
    return found
