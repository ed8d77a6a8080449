"""The seeds of a crawl, as URLs: an address takes ten times the memory of its URL. And their file."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from periplus.checksums import add_text_checksum, split_text_checksum
from periplus.errors import BadUrl
from periplus.files import read_file, write_atomically
from periplus.records import Address
from periplus.url import parse_address

__all__ = ["SeedList", "read_seeds_file", "write_seeds_file"]


class SeedList:
    """Seeds in the order in which they were added, each once."""

    def __init__(self, seeds: Iterable[Address] = ()) -> None:
        self.urls: list[str] = []
        self._keys: set[int] = set()
        for seed in seeds:
            self.add(seed)

    def add(self, seed: Address) -> bool:
        """Add a seed; return whether it is new."""
        if seed.key in self._keys:
            return False
        self._keys.add(seed.key)
        self.urls.append(seed.url)
        return True

    def __len__(self) -> int:
        return len(self.urls)

    def __contains__(self, key: int) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[Address]:
        return map(parse_address, self.urls)

    def __getitem__(self, part: slice) -> list[Address]:
        return [parse_address(url) for url in self.urls[part]]


def read_seeds_file(path: Path) -> list[Address]:
    """Read the seeds from their own file, which is used if the snapshot is damaged; none if it is damaged too."""
    try:
        text, is_right = split_text_checksum(read_file(path))
        return [parse_address(line) for line in text.decode("ascii").split()] if is_right is not False else []
    except (FileNotFoundError, ValueError, BadUrl):
        return []


def write_seeds_file(path: Path, seeds: Sequence[str]) -> None:
    """Write the URLs of the seeds to their file."""
    write_atomically(path, add_text_checksum("\n".join(seeds).encode("ascii")))
