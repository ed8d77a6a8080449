"""Reads the fetch logs frame by frame, also while another process writes; damage is distinguished from a torn tail."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from periplus.errors import CorruptFile
from periplus.files import disk_errors, disk_failure
from periplus.store.log_frames import FILE_HEADER, Frame, check_file_header, read_frame, read_header
from periplus.store.store_manifest import Manifest, file_number, log_files

__all__ = ["LogPosition", "open_log", "read_file_frames", "read_frame_at", "read_frames"]


class LogPosition(NamedTuple):
    """A position in the logs: number of the file, and offset in it."""

    log: int
    offset: int


@contextmanager
def open_log(path: Path) -> Iterator[int]:
    """Open a log for reading and yield its descriptor; raise `DiskFailed` if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise CorruptFile(f"{path} is missing.") from error
    except OSError as error:
        raise disk_failure(path, error) from error
    try:
        with disk_errors(path):
            yield descriptor
    finally:
        os.close(descriptor)


def read_frames(folder: Path, manifest: Manifest, begin: LogPosition, skip: int = 0) -> Iterator[tuple[int, Frame]]:
    """Yield (log number, frame) from `begin` on, up to the last complete frame.

    Frames entirely within the first `skip` records after `begin` are yielded without their payload.
    """
    durable = {entry.name: entry for entry in manifest.logs}
    paths = log_files(folder)
    missing = set(durable) - {path.name for path in paths}
    if missing:
        raise CorruptFile(f"{folder / min(missing)} is missing, though the manifest names it.")
    for path in paths:
        number = file_number(path.name)
        if number < begin.log:
            continue
        entry = durable.get(path.name)
        offset = begin.offset if number == begin.log else 0
        for frame in read_file_frames(path, entry.length if entry else 0, offset, skip):
            skip -= min(skip, frame.records)
            offset = frame.end
            yield number, frame
        if path is not paths[-1] and path.stat().st_size > max(offset, len(FILE_HEADER)):
            raise CorruptFile(f"{path} is damaged at byte {offset}.")


def read_file_frames(path: Path, durable: int, offset: int = 0, skip: int = 0) -> Iterator[Frame]:
    """Yield the frames of one log from `offset` on. Damage before `durable` is an error, after it the end."""
    with open_log(path) as descriptor:
        if not check_file_header(descriptor, path) and durable:
            raise CorruptFile(f"{path} is truncated at byte 0.")
        offset = max(offset, len(FILE_HEADER))
        while True:
            size = os.fstat(descriptor).st_size
            if size < durable:
                raise CorruptFile(f"{path} is truncated: {size} bytes of {durable}.")
            frame = read_header(descriptor, offset, size)
            if frame is None or frame.records > skip or offset >= durable:
                frame = read_frame(descriptor, offset, size)
            if frame is None or frame.offset < durable < frame.end:
                if offset < durable:
                    raise CorruptFile(f"{path} is damaged at byte {offset}.")
                return
            skip -= min(skip, frame.records)
            yield frame
            offset = frame.end


def read_frame_at(path: Path, offset: int) -> Frame:
    """Return the frame that begins at `offset`."""
    with open_log(path) as descriptor:
        frame = read_frame(descriptor, offset, os.fstat(descriptor).st_size)
    if frame is None:
        raise CorruptFile(f"{path} is damaged at byte {offset}.")
    return frame
