"""Kernel of what a page is compared by: the simhash of its main content, and the shingles of title and main content."""

from typing import Any

import numpy as np

from periplus.accel import njit
from periplus.accel.pointers import borrow, keep
from periplus.crawl.policies.kernels import hash_content
from periplus.crawl.regions.kernels import hash_url_words, make_shingles

__all__ = ["hash_page", "warm"]

_NEWLINE = np.uint8(10)


@njit(cache=True, nogil=True)
def _join(title: Any, title_size: int, text: Any, size: int, spans: Any, count: int, out: Any, most: int) -> int:
    """Copy a title and the parts of a text, each in a line; return their length, `most` at most."""
    used = min(title_size, most)
    for at in range(used):
        out[at] = title[at]
    left = most
    for number in range(0, count, 2):
        if left <= 0 or used >= most:
            break
        begin, end = spans[number], min(spans[number + 1], size)
        length = max(0, min(end - begin, left))
        left -= length + 1
        out[used] = _NEWLINE
        used += 1
        length = min(length, most - used)
        for at in range(length):
            out[used + at] = text[begin + at]
        used += length
    return used


@njit(cache=True, nogil=True)
def hash_page(
    title: Any, text: Any, spans: Any, url: Any, most: int, most_words: int, shortest: int, paragraph: int, length: int
) -> Any:
    """Return the simhash of a page, its shingles, and their fingerprint.

    Parameters: title (uint8 array), in UTF-8; text (uint8 array), in ASCII; spans (int64 array), begins and ends of the
    parts of its main content; url (uint8 array), in ASCII; most, bytes of which there are shingles; most_words, words
    of the URL that are compared; shortest, paragraph and length as for `hash_content`.
    Returns: what `hash_content` returns, and the shingles (uint64 array) and the fingerprint of `make_shingles`.
    """
    simhash = hash_content(text, spans, shortest, paragraph, length)
    joined = np.empty(most, np.uint8)
    size = _join(borrow(title), len(title), borrow(text), len(text), borrow(spans), len(spans), borrow(joined), most)
    shingles = np.empty(size // 2 + 2, np.uint64)
    count, mark = make_shingles(joined, size, hash_url_words(url, most_words), shingles)
    keep((joined,))
    return simhash, shingles[:count], mark


def warm() -> None:
    """Call every kernel once with the types that the crawl uses."""
    data = np.frombuffer(b"The tides of the harbour\nin 2024", np.uint8)
    hash_page(data, data, np.array((0, 24), np.int64), data, 9, 1, 1, 2, 8)
