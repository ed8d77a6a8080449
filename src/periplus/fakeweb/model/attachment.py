"""Link targets by preferential attachment, computed over arrays without a loop over links."""

import numpy as np
import numpy.typing as npt

__all__ = ["choose_targets", "power_law_sizes"]

Ints = npt.NDArray[np.int64]


def choose_targets(rng: np.random.Generator, groups: Ints, members: Ints, starts: Ints, copying: float = 0.8) -> Ints:
    """Return a target for each link among the members of its group, by preferential attachment.

    `groups` has one entry per link; `members[starts[g]:starts[g + 1]]` are the possible targets of group g.
    A link either picks a member at random or, with chance `copying`, the target of an earlier link of its group.
    Copying makes in-links follow a power law with exponent 1 + 1/copying. Copies of copies are resolved by pointer
    jumping, in a logarithmic number of rounds.
    """
    count = len(groups)
    order = np.argsort(groups, kind="stable")
    sorted_groups = groups[order]
    first = np.searchsorted(sorted_groups, sorted_groups, side="left")
    position = np.arange(count, dtype=np.int64)
    group_size = starts[sorted_groups + 1] - starts[sorted_groups]
    fresh = members[starts[sorted_groups] + (rng.random(count) * group_size).astype(np.int64)]
    earlier = first + (rng.random(count) * (position - first)).astype(np.int64)
    copies = (rng.random(count) < copying) & (position > first)
    pointer = np.where(copies, earlier, position)
    while True:
        further = pointer[pointer]
        if np.array_equal(further, pointer):
            break
        pointer = further
    targets = np.empty(count, dtype=np.int64)
    targets[order] = fresh[pointer]
    return targets


def power_law_sizes(rng: np.random.Generator, count: int, total: int, exponent: float = 0.8) -> Ints:
    """Return `count` sizes of at least 1 that add up to `total` and follow a power law, in random order."""
    weights = rng.permutation((np.arange(count) + 1.0) ** -exponent)
    spare = total - count
    ends = np.floor(np.cumsum(weights) / weights.sum() * spare + 0.5).astype(np.int64)
    ends[-1] = spare
    sizes: Ints = np.diff(ends, prepend=0) + 1
    return sizes
