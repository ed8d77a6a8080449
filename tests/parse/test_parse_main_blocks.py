"""The choice of main content against its naive twin."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from naive.main_blocks import find_main_blocks as naive_main_blocks
from periplus.parse.html.kernels import tag_names
from periplus.parse.html.kernels import text_blocks as kernel
from periplus.parse.html.main_content import find_main_blocks

REGIONS = (0, 0, 0, tag_names.NAV, tag_names.FOOTER, tag_names.NAMED, tag_names.CONTENT, tag_names.MAIN)
REGIONS += (tag_names.ARTICLE, tag_names.BROAD, tag_names.ONWARD, tag_names.AMBIGUOUS)
REGIONS += (tag_names.NAMED | tag_names.NESTED, tag_names.MAIN | tag_names.NAV, tag_names.ARTICLE | tag_names.AMBIGUOUS)
KINDS = (kernel.CONTAINER, kernel.PARAGRAPH, kernel.HEADING, kernel.ITEM, kernel.CELL, kernel.CAPTION)
SIZES = (0, 1, 9, 20, 34, 35, 36, 69, 70, 71, 140, 300, 900)


def random_blocks(seed: int, count: int, regions: int, kinds: int, links: float) -> kernel.Blocks:
    """Return blocks of random kinds in a random tree of containers."""
    chance = np.random.default_rng(seed)
    containers = 1 + int(chance.integers(0, count + 1))
    parent = np.array([-1, *(chance.integers(0, number) for number in range(1, containers))], np.int32)
    chars = chance.choice(SIZES, count).astype(np.int32)
    is_linked = chance.random(count) < links
    linked = np.where(is_linked, (chars * chance.random(count)).astype(np.int32), 0).astype(np.int32)
    kind = chance.choice(chance.choice(KINDS, kinds), count).astype(np.int32)
    inside = chance.choice(chance.choice(REGIONS, regions), count).astype(np.int32)
    container = np.sort(chance.integers(0, containers, count)).astype(np.int32)
    begin = np.arange(count, dtype=np.int64)
    return kernel.Blocks(begin, begin + 1, chars, linked, kind, inside, container, parent)


@given(st.integers(0, 1 << 32), st.integers(0, 60), st.integers(1, 6), st.integers(1, 6), st.floats(0, 1))
@example(1, 0, 1, 1, 0.0)
def test_the_kernel_chooses_what_its_twin_chooses(seed: int, count: int, regions: int, kinds: int, links: float):
    blocks = random_blocks(seed, count, regions, kinds, links)
    assert find_main_blocks(blocks).tolist() == naive_main_blocks(blocks).tolist()
