"""The golden files: what a format's writer wrote, how its reader reads it, and how its bytes are compared.

`tests/golden/NAME-vN` holds the files that one edition of the writer left, and `expected.json` the content that its
reader must return for ever. An edition is added, never rewritten: scripts/make_golden.py writes the next one.
"""

import contextlib
import hashlib
import json
import secrets
import shutil
import struct
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import msgspec
import numpy as np

from periplus.accel import warm_up
from periplus.hashing import fingerprint
from periplus.store import compress, decompress
from periplus.store.warc import warc_writer

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
EXPECTED = "expected.json"
NOW = 1_700_000_000.0
_LARGEST = 1 << 24
_LARGE = 16_384
_PACKED = ".packed"
_DICTIONARY = b"\x5d\x2a\x4d\x18"
_RESIDUE = 1e-9
"""Floats below this are what is left of a difference between larger ones: processors differ in their first digits."""


class GoldenFormat(NamedTuple):
    """One format, or a few that are written together."""

    name: str
    write: Callable[[Path], None]
    """Write a fixed input to an empty folder."""
    read: Callable[[Path], Any]
    """Return the content of the folder as plain values, through the reader of the format."""
    tolerant: tuple[str, ...] = ()
    """Files, as glob patterns, whose damaged parts the reader leaves out by design."""
    unread: tuple[str, ...] = ()
    """Files that are for people, or that no reader depends on."""
    unnumbered: tuple[str, ...] = ()
    """Files without a number of their own: plain text, or parts that another file of the format vouches for."""
    rebuilt: tuple[str, ...] = ()
    """Caches: one of a later version is left out and made again."""


def editions(name: str) -> list[Path]:
    """Return the folders of a format's golden files, oldest first."""
    return sorted(GOLDEN.glob(f"{name}-v[0-9]*"), key=lambda path: int(path.name.rpartition("-v")[2]))


def put_away(made: Path, folder: Path) -> None:
    """Copy written files to their golden folder; large ones compressed."""
    for name, path in files_of(made).items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes()
        if len(data) > _LARGE:
            target.with_name(target.name + _PACKED).write_bytes(compress(data))
        else:
            target.write_bytes(data)


def take_out(folder: Path, target: Path) -> Path:
    """Copy golden files to where a test may change them, as they were written."""
    shutil.copytree(folder, target)
    for path in list(target.rglob(f"*{_PACKED}")):
        path.with_name(path.name.removesuffix(_PACKED)).write_bytes(decompress(path.read_bytes(), _LARGEST))
        path.unlink()
    return target


def files_of(folder: Path) -> dict[str, Path]:
    """Return the golden files in a folder by their relative names."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != EXPECTED)
    named = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: path for name, path in named.items() if not any(part.startswith(".") for part in name.split("/"))}


@contextlib.contextmanager
def fixed_world() -> Iterator[None]:
    """Replace the clock and every source of chance, so that the same input gives the same bytes."""
    warm_up()  # Numba names the files of its cache by chance, too: nothing may be compiled meanwhile.
    count = 0

    def some_bytes(size: int | None = None) -> bytes:
        nonlocal count
        count += 1
        return hashlib.blake2b(count.to_bytes(8, "little"), digest_size=64).digest()[: size or 32]

    def identifier() -> uuid.UUID:
        return uuid.UUID(bytes=some_bytes(16), version=4)

    def record_identity() -> str:
        return f"<urn:uuid:{identifier()}>"

    def nanoseconds() -> int:
        nonlocal count
        count += 1
        return int(NOW) * 1_000_000_000 + count

    with (
        mock.patch.object(time, "time", return_value=NOW),
        mock.patch.object(time, "time_ns", nanoseconds),
        mock.patch.object(uuid, "uuid4", identifier),
        mock.patch.object(warc_writer, "_identity", record_identity),
        mock.patch.object(secrets, "token_bytes", some_bytes),
        mock.patch.object(secrets, "token_hex", lambda size=None: some_bytes(size).hex()),
        mock.patch.object(secrets, "token_urlsafe", lambda size=None: some_bytes(size).hex()),
    ):
        yield


def plain(value: Any) -> Any:
    """Return a value as JSON would hold it, small floats to six digits: processors differ in the last ones."""
    if isinstance(value, float):
        return float(f"{value:.6g}" if abs(value) < 1e6 else f"{value:.13g}")
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value if isinstance(value, str | int | bool | None) else plain(msgspec.to_builtins(value))


def content(value: Any) -> Any:
    """Return a record as plain values without the format number of its file, which editions differ in."""
    fields = plain(value)
    fields.pop("format", None)
    return fields


def format_number(path: Path) -> int:
    """Return the format number that a file carries; 0 for one that has none."""
    data = path.read_bytes()
    if path.suffix == ".zst":
        data = b"".join(_unpacked(data)).split(b"\n")[0]
    if data.startswith(b"PERIPLUS"):
        header = _array_header(data)
        return int(header.get("format", header["notes"].get("format", 0)))
    if data.startswith(b"PERIVEC"):
        return int(data[7:8])
    if data.startswith(b"PERI"):
        return int(struct.unpack_from("<I", data, 8)[0])
    if data.startswith(b"{"):
        try:
            found = json.loads(data.split(b"\n")[0] if path.suffix == ".jsonl" else data)
        except ValueError:
            return 0
        return int(found.get("format", 0))
    if path.name.startswith("visits-"):  # a line has its sum first
        return int(json.loads(data.split(b"\n")[0][17:]).get("format", 0)) if data[17:18] == b"{" else 0
    return 0


def raise_number(path: Path) -> None:
    """Make a file one of a later version, whole but for the number."""
    data = path.read_bytes()
    if data.startswith(b"PERIPLUS"):
        header = json.dumps({**_array_header(data), "format": 99}).encode()
        start = 16 + len(header) + 8
        first = 16 + struct.unpack_from("<I", data, 12)[0] + 8
        body = data[first + -first % 64 :]
        head = data[:12] + struct.pack("<I", len(header)) + header + struct.pack("<Q", fingerprint(header))
        path.write_bytes(head + b"\0" * (-start % 64) + body)
    elif data.startswith(b"PERIVEC"):
        path.write_bytes(b"PERIVEC9" + data[8:])
    elif data.startswith(b"PERI"):
        path.write_bytes(data[:8] + struct.pack("<I", 99) + data[12:])
    elif path.name.startswith("visits-"):
        body = b'{"format":99}'
        path.write_bytes(b"%016x %s\n" % (fingerprint(body), body) + data)
    elif path.suffix == ".jsonl":
        path.write_bytes(b'{"format":99}\n' + data)
    else:
        path.write_text(json.dumps({**json.loads(data), "format": 99, "later": True}), "utf-8")


def _array_header(data: bytes) -> Any:
    _, _, length = struct.unpack_from("<8sII", data)
    return json.loads(data[16 : 16 + length])


def layout(path: Path) -> Any:
    """Return what a file's bytes say, without what a compressor or a processor decides.

    Files that hold neither compressed data nor computed floats are returned as they are.
    """
    data = path.read_bytes()
    if data.startswith(b"PERIPLUS"):
        return _array_layout(data)
    if data.startswith(b"PERIVLOG"):
        return _log_layout(data)
    if data.startswith(b"PERICRAW"):
        return _snapshot_layout(data)
    if path.suffix == ".spill":
        return plain(list(_inflated(data)))
    if path.name == "dictionary.zst":
        return "a dictionary, which a compressor decides"
    if path.name.endswith(".zst"):
        return plain(_unpacked(data))
    if path.name.endswith(".gz"):
        return plain(_gunzipped(data))
    return data.hex()


def _array_layout(data: bytes) -> Any:
    header = _array_header(data)
    start = 16 + len(data[16 : 16 + struct.unpack_from("<I", data, 12)[0]]) + 8
    start += -start % 64
    packed = {"text": ("text", "start"), "extras": ("media", "media_start")}.get(header["kind"], ())
    arrays = []
    for entry in header["arrays"]:
        values = np.frombuffer(data, entry["dtype"], int(np.prod(entry["shape"])), start + entry["offset"])
        if values.dtype.kind == "f":
            values = np.where(np.abs(values) < _RESIDUE, values.dtype.type(0), values)
        content = "" if entry["name"] in packed else plain(values)
        if values.dtype.kind == "f" and np.isnan(values).any():
            content = repr(content)  # no NaN equals another
        arrays.append([entry["name"], entry["dtype"], entry["shape"][1:] if content == "" else entry["shape"], content])
    rest = {name: value for name, value in header.items() if name != "arrays"}
    return {"container": struct.unpack_from("<I", data, 8)[0], **plain(rest), "arrays": arrays}


def _log_layout(data: bytes) -> Any:
    frames = []
    at = 16
    while at < len(data):
        length, visits, pages, warc, end, _ = struct.unpack_from("<IIIIQQ", data, at)
        # Where the WARC file ended depends on the compressor.
        frames.append([visits, pages, warc, end > 0, _without_offsets(data[at + 32 : at + 32 + length])])
        at += 32 + length
    return [data[:16].hex(), *frames]


def _without_offsets(payload: bytes) -> Any:
    records = msgspec.msgpack.decode(decompress(payload, _LARGEST))
    return plain([{name: value for name, value in record.items() if name != "warc_offset"} for record in records])


def _snapshot_layout(data: bytes) -> Any:
    state = msgspec.msgpack.decode(data[20:], strict=False)
    inner = state["frontier"]
    frontier = msgspec.msgpack.decode(inner[20:])
    for host in frontier[4]:
        for value in host:
            if isinstance(value, list) and value and all(isinstance(row, list) and len(row) == 6 for row in value):
                value[:] = [
                    [row[0], *row[4:]] if isinstance(row[1], int) and isinstance(row[0], int) else row for row in value
                ]
    return plain({**state, "frontier": [inner[:12].hex(), frontier], "head": data[:12].hex()})


def _inflated(data: bytes) -> Iterator[Any]:
    while data:
        stream = zlib.decompressobj()
        yield msgspec.msgpack.decode(stream.decompress(data))
        data = stream.unused_data


def _unpacked(data: bytes) -> list[bytes]:
    """Return the content of each frame; those after a dictionary are decompressed with it."""
    import zstandard

    found = []
    engine = zstandard.ZstdDecompressor()
    if data.startswith(_DICTIONARY):
        size = 8 + struct.unpack_from("<I", data, 4)[0]
        engine = zstandard.ZstdDecompressor(zstandard.ZstdCompressionDict(engine.decompress(data[8:size])))
        data = data[size:]
    while data:
        stream = engine.decompressobj()
        found.append(stream.decompress(data))
        data = stream.unused_data
    return found


def _gunzipped(data: bytes) -> list[bytes]:
    found = []
    while data:
        stream = zlib.decompressobj(31)
        found.append(stream.decompress(data))
        data = stream.unused_data
    return found
