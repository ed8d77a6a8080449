"""Damaged files with right and wrong fingerprints: what a reader does with arrays that somebody else has changed.

    .venv/bin/python bench/segment_damage.py [--rounds N] [--seed N] [--only FILE] [--array NAME]

A small data folder is made: two segments (one large enough for every encoding of postings), deletions, vectors, a
graph with backlinks, synonyms, a ranking model. Each array of each of its files is then damaged in several ways: bits,
bytes, extreme words, swapped arrays, truncated files, changed headers. In half of the cases the fingerprints are made
to agree with the damage, so that only validation can detect it. A child process opens the result without verification,
and with it, and uses all that reads it: queries of every kind, suggestions, explanations, merging, export, checking,
graph ranks, similarity. A signal, a timeout, memory beyond a limit and an exception that is not a `PeriplusError` are
faults; an answer or a `PeriplusError` is not.
"""

import argparse
import contextlib
import faulthandler
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from damage_sample import make_sample, use_everything
from periplus.hashing import fingerprint

ALIGN = 64
PREFIX = struct.Struct("<8sII")
CASE_SECONDS = 60
"""Seconds of processor time after which a case counts as a hang."""
CASE_BYTES = 2 << 30
"""Address space that a case may add."""


class Row(NamedTuple):
    """The outcome of one case."""

    file: str
    array: str
    damage: str
    resealed: bool
    """Whether the fingerprints agree with the damage."""
    outcome: str
    """'refused' (an error names the file), 'answered', or a fault: 'signal N', 'hang', 'memory', 'traceback ...'."""

    @property
    def is_fault(self) -> bool:
        """Whether this may not happen."""
        return self.outcome not in ("refused", "answered")


class ArrayImage:
    """The bytes of an arrays file, taken apart."""

    def __init__(self, raw: bytes) -> None:
        _, _, length = PREFIX.unpack_from(raw)
        self.header: dict[str, Any] = msgspec.json.decode(raw[PREFIX.size : PREFIX.size + length])
        start = PREFIX.size + length + 8
        self.body = bytearray(raw[start + -start % ALIGN :])

    def span(self, entry: dict[str, Any]) -> tuple[int, int]:
        """Return where an array is in the body."""
        size = int(np.prod(entry["shape"], dtype=np.int64)) * np.dtype(entry["dtype"]).itemsize
        return entry["offset"], entry["offset"] + size

    def encode(self, *, reseal: bool) -> bytes:
        """Return the file again; with `reseal`, the fingerprints of all arrays agree with their bytes."""
        if reseal:
            for entry in self.header["arrays"]:
                with contextlib.suppress(TypeError, ValueError, OverflowError):
                    begin, end = self.span(entry)
                    entry["fingerprint"] = fingerprint(bytes(self.body[begin:end]))
        header = msgspec.json.encode(self.header)
        raw = PREFIX.pack(b"PERIPLUS", 1, len(header)) + header + struct.pack("<Q", fingerprint(header))
        return raw + bytes(-len(raw) % ALIGN) + bytes(self.body)


EXTREMES = (0, 1, -1, 1 << 31, (1 << 31) - 1, 1 << 63, (1 << 63) - 1, 1 << 32, (1 << 40) + 3)


def _flip(image: ArrayImage, entry: dict[str, Any], chance: random.Random) -> str:
    begin, end = image.span(entry)
    for _ in range(chance.choice((1, 1, 2, 5))):
        image.body[chance.randrange(begin, end)] ^= 1 << chance.randrange(8)
    return "bits"


def _fill(image: ArrayImage, entry: dict[str, Any], chance: random.Random) -> str:
    begin, end = image.span(entry)
    at = chance.randrange(begin, end)
    size = min(end - at, chance.choice((1, 8, 64, 4096)))
    byte = chance.choice((0, 0x80, 0xFF, 0xFF, 0x7F, 192, 15))
    image.body[at : at + size] = bytes([byte]) * size
    return f"bytes {byte:#x}"


def _noise(image: ArrayImage, entry: dict[str, Any], chance: random.Random) -> str:
    begin, end = image.span(entry)
    at = chance.randrange(begin, end)
    size = min(end - at, chance.choice((4, 64, 4096, end - begin)))
    image.body[at : at + size] = chance.randbytes(size)
    return "noise"


def _extreme(image: ArrayImage, entry: dict[str, Any], chance: random.Random) -> str:
    begin, end = image.span(entry)
    width = np.dtype(entry["dtype"]).itemsize
    count = (end - begin) // width
    number = chance.choice((0, count - 1, chance.randrange(count), chance.randrange(count)))
    value = chance.choice((*EXTREMES, count, count + 1, len(image.body), len(image.body) + 1)) % (1 << 8 * width)
    image.body[begin + number * width : begin + (number + 1) * width] = value.to_bytes(width, "little")
    return f"word {value:#x} at {number}"


def _swap(image: ArrayImage, entry: dict[str, Any], chance: random.Random) -> str:
    other = chance.choice(image.header["arrays"])
    for field in ("offset", "shape"):
        entry[field], other[field] = other[field], entry[field]
    return f"swapped with {other['name']}"


def _reshape(image: ArrayImage, entry: dict[str, Any], chance: random.Random) -> str:
    shape = list(entry["shape"])
    how = chance.randrange(7)
    if how == 0 and shape:
        shape[0] = max(0, shape[0] - chance.choice((1, 1, 7, shape[0])))
    elif how == 1 and shape:
        shape = [shape[0] // 2, 2]
    elif how == 2:
        entry["dtype"] = chance.choice(("|u1", "|b1", "<u2", "<i4", "<f4", "<f8", "<u8", "<i8", "|i1"))
        shape = [int(np.prod(shape, dtype=np.int64)) // 8]
    elif how == 3:
        entry["offset"] += chance.choice((1, 8, 64, -64, 1 << 62))
    elif how == 4:
        shape = [0, *shape[1:]]
    elif how == 5:
        shape = [0, chance.choice((1 << 62, 1 << 31, 3))]
    else:
        image.header["arrays"].remove(entry)
    entry["shape"] = shape
    return f"header {how}"


DAMAGES: tuple[Callable[[ArrayImage, dict[str, Any], random.Random], str], ...] = (
    *(_flip, _flip, _fill, _noise, _extreme, _extreme, _extreme, _swap, _reshape),
)


def damage(raw: bytes, array: str, chance: random.Random, *, reseal: bool) -> tuple[bytes, str]:
    """Return the bytes of an arrays file with one of its arrays damaged, and how."""
    image = ArrayImage(raw)
    entry = next(entry for entry in image.header["arrays"] if entry["name"] == array)
    begin, end = image.span(entry)
    how = chance.choice(DAMAGES) if end > begin else chance.choice((_swap, _reshape))
    name = how(image, entry, chance)
    damaged = image.encode(reseal=reseal)
    if chance.random() < 0.03:
        return damaged[: chance.randrange(len(damaged))], "cut off"
    return damaged, name


def _child(folder: Path, scratch: Path, part: str, report: int) -> None:
    limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + CASE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (CASE_SECONDS, CASE_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        refused = use_everything(folder, scratch, part)
        os.write(report, b"refused" if refused else b"answered")
    except MemoryError:
        os.write(report, ("memory " + traceback.format_exc()[-3000:]).encode())
    except BaseException:
        os.write(report, ("traceback " + traceback.format_exc()[-3000:]).encode())
    os._exit(0)


def run_case(folder: Path, scratch: Path, part: str = "") -> str:
    """Use a damaged data folder in a child process; return the outcome."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        os.close(reader)
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 2)
        _child(folder, scratch, part, writer)
    os.close(writer)
    deadline = time.monotonic() + 6 * CASE_SECONDS
    while True:
        finished, status = os.waitpid(child, os.WNOHANG)
        if finished:
            break
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reader)
            return "hang"
        time.sleep(0.005)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read().decode("utf-8", "replace")
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return "hang" if number in (signal.SIGXCPU, signal.SIGKILL) else f"signal {number}"
    return text or "no report"


def array_files(folder: Path) -> list[Path]:
    """Return the arrays files of a data folder, relative to it."""
    paths = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return sorted(path.relative_to(folder) for path in paths if path.open("rb").read(8) == b"PERIPLUS")


def cases(
    folder: Path, rounds: int, seed: int, only: str = "", array: str = "", *, shuffle: bool = False
) -> Iterator[tuple[Path, str, int]]:
    """Yield file, array and the seed of each case."""
    pairs = [
        (path, str(entry["name"]))
        for path in array_files(folder)
        if path.parts[0] != "as-index" and only in str(path)
        for entry in ArrayImage((folder / path).read_bytes()).header["arrays"]
        if array in entry["name"]
    ]
    chance = random.Random(seed)
    for turn in range(rounds):
        if shuffle:
            chance.shuffle(pairs)
        for number, (path, name) in enumerate(pairs):
            yield path, name, (seed * 1_000_003 + turn) * 10_007 + number


def damage_every_array(
    rounds: int = 2,
    seed: int = 1,
    *,
    only: str = "",
    array: str = "",
    report: Callable[[Row], None] = lambda row: None,
    large: int = 33_280,
    seconds: float = float("inf"),
    shuffle: bool = False,
) -> list[Row]:
    """Damage each array of each file `rounds` times, each time in another way; return the outcomes.

    only, array: parts of the names of the files and arrays that are damaged. seconds: after which no further case is
    begun. shuffle: whether cases are in random order.
    """
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="damage-") as temporary:
        folder, scratch = Path(temporary) / "data", Path(temporary) / "scratch"
        folder.mkdir()
        make_sample(folder, large=large)
        if use_everything(folder, scratch):
            raise AssertionError("an intact folder is refused")
        end = time.monotonic() + seconds
        for path, name, number in cases(folder, rounds, seed, only, array, shuffle=shuffle):
            if time.monotonic() > end:
                break
            chance = random.Random(number)
            intact = (folder / path).read_bytes()
            reseal = chance.random() < 0.7
            damaged, how = damage(intact, name, chance, reseal=reseal)
            replace(folder / path, damaged)
            rows.append(Row(str(path), name, how, reseal, run_case(folder, scratch, path.parts[0])))
            replace(folder / path, intact)
            report(rows[-1])
    return rows


def replace(path: Path, data: bytes) -> None:
    """Replace a file by another of the same name: the parent has the old one mapped."""
    other = path.with_name(path.name + ".other")
    other.write_bytes(data)
    os.replace(other, path)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--only", default="", help="part of a file's name")
    parser.add_argument("--array", default="", help="part of an array's name")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)

    def report(row: Row) -> None:
        if row.is_fault:
            print(row.file, row.array, row.damage, "resealed" if row.resealed else "unsealed", row.outcome, flush=True)

    rows = damage_every_array(options.rounds, options.seed, only=options.only, array=options.array, report=report)
    faults = [row for row in rows if row.is_fault]
    refused = sum(row.outcome == "refused" for row in rows)
    print(f"{len(rows)} cases: {refused} refused, {len(rows) - refused - len(faults)} answered, {len(faults)} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
