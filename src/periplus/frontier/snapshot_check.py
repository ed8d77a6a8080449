"""Verifies the snapshot of a frontier, and the spill files that it names."""

from collections.abc import Iterator
from pathlib import Path

from periplus.checksums import FileFault
from periplus.errors import DataError
from periplus.frontier.frontier_snapshot import unpack
from periplus.frontier.spill_files import check_spill_files

__all__ = ["check_frontier"]


def check_frontier(path: Path, data: bytes, spill: Path) -> Iterator[FileFault]:
    """Yield the faults of a frontier that was read from `path`, and of the files in its spill folder."""
    try:
        hosts = unpack(data).hosts
    except DataError as error:
        yield FileFault(path, error.message)
        return
    yield from check_spill_files(spill, hosts)
