"""Naive twins of what filters are made of: frequent terms of a range, documents of terms, pages of a site."""

from collections.abc import Iterable, Mapping, Sequence


def frequent_terms(frequencies: Mapping[bytes, int], prefix: bytes, most: int) -> tuple[list[tuple[bytes, int]], int]:
    return _best([pair for pair in frequencies.items() if pair[0].startswith(prefix)], most)


def frequent_numbers(
    frequencies: Mapping[bytes, int], low: int, high: int, most: int
) -> tuple[list[tuple[bytes, int]], int]:
    return _best(
        [
            (term, count)
            for term, count in frequencies.items()
            if term.isdigit() and len(term) <= 18 and low <= int(term) <= high
        ],
        most,
    )


def _best(pairs: Iterable[tuple[bytes, int]], most: int) -> tuple[list[tuple[bytes, int]], int]:
    ordered = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))
    return ordered[:most], len(ordered)


def site_pages(urls: Sequence[str], host: str, path: str) -> list[int]:
    found = []
    for number, url in enumerate(urls):
        own, _, rest = url.partition("://")[2].partition("/")
        if (own == host or own.endswith("." + host)) and ("/" + rest).startswith(path):
            found.append(number)
    return found
