"""Reading the visit logs: frame by frame, also while another process writes; damage is told from a torn tail."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from periplus.errors import CorruptFile
from periplus.store.log_frames import FILE_HEADER, Frame, check_file_header, read_frame, read_header
from periplus.store.store_manifest import Manifest, log_files, number_of

__all__ = ["Position", "frame_at", "open_log", "walk", "walk_file"]


class Position(NamedTuple):
    """A place in the logs: the number of the file, and the offset in it."""

    log: int
    offset: int


@contextmanager
def open_log(path: Path) -> Iterator[int]:
    """Open a log for reading; give the descriptor."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise CorruptFile(f"{path} cannot be opened: {error.strerror}.") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def walk(folder: Path, manifest: Manifest, begin: Position, skip: int = 0) -> Iterator[tuple[int, Frame]]:
    """Give (log number, frame) from `begin` on, up to the last whole frame.

    Frames that lie wholly within the first `skip` visits after `begin` come without their payload.
    """
    durable = {part.name: part for part in manifest.logs}
    paths = log_files(folder)
    missing = set(durable) - {path.name for path in paths}
    if missing:
        raise CorruptFile(f"{folder / min(missing)} is missing, though the manifest names it.")
    for path in paths:
        number = number_of(path.name)
        if number < begin.log:
            continue
        part = durable.get(path.name)
        offset = begin.offset if number == begin.log else 0
        for frame in walk_file(path, part.length if part else 0, offset, skip):
            skip -= min(skip, frame.visits)
            offset = frame.end
            yield number, frame
        if path is not paths[-1] and path.stat().st_size > max(offset, len(FILE_HEADER)):
            raise CorruptFile(f"{path} is damaged at byte {offset}.")


def walk_file(path: Path, durable: int, offset: int = 0, skip: int = 0) -> Iterator[Frame]:
    """Give the frames of one log from `offset` on. Damage before `durable` is an error, after it the end."""
    with open_log(path) as descriptor:
        if not check_file_header(descriptor, path) and durable:
            raise CorruptFile(f"{path} is cut off at byte 0.")
        offset = max(offset, len(FILE_HEADER))
        while True:
            size = os.fstat(descriptor).st_size
            if size < durable:
                raise CorruptFile(f"{path} is cut off: {size} bytes of {durable}.")
            frame = read_header(descriptor, offset, size)
            if frame is None or frame.visits > skip or offset >= durable:
                frame = read_frame(descriptor, offset, size)
            if frame is None or frame.offset < durable < frame.end:
                if offset < durable:
                    raise CorruptFile(f"{path} is damaged at byte {offset}.")
                return
            skip -= min(skip, frame.visits)
            yield frame
            offset = frame.end


def frame_at(path: Path, offset: int) -> Frame:
    """Give the one frame that begins at `offset`."""
    with open_log(path) as descriptor:
        frame = read_frame(descriptor, offset, os.fstat(descriptor).st_size)
    if frame is None:
        raise CorruptFile(f"{path} is damaged at byte {offset}.")
    return frame
