"""The tags of frames in markup, which are found by their names alone: not in comments, scripts and the like."""

from typing import Any

import numpy as np
import numpy.typing as npt

from periplus.accel import njit
from periplus.accel.pointers import borrow
from periplus.parse.html.kernels.tag_names import is_letter
from periplus.parse.kernels.html_tables import CARRIAGE_RETURN, GREATER_THAN, HYPHEN, SLASH, SPACE, TAB
from periplus.parse.kernels.html_tokenizer import find_byte

__all__ = ["find_frame_tags"]

_LESS, _GREATER, _EXCLAMATION = np.uint8(60), np.uint8(62), 33
_MAX_LETTERS = 8


def _pack(name: str) -> np.uint64:
    return np.uint64(int.from_bytes(name.encode(), "big"))


_FRAME, _IFRAME = _pack("frame"), _pack("iframe")
_SCRIPT, _STYLE, _TEMPLATE, _TEXTAREA, _TITLE, _XMP, _NOEMBED = (
    _pack(name) for name in ["script", "style", "template", "textarea", "title", "xmp", "noembed"]
)


@njit(cache=True, nogil=True)
def _read_whole_name(data: Any, at: int, size: int) -> Any:
    """Return a name of up to eight letters, packed, and the offset behind it; 0 if it is longer, or goes on."""
    packed, begin = np.uint64(0), at
    while at < size and is_letter(data[at]):
        if at - begin < _MAX_LETTERS:
            packed = (packed << np.uint64(8)) | np.uint64(data[at] | 32)
        at += 1
    if at >= size or at - begin > _MAX_LETTERS:
        return np.uint64(0), at
    byte = data[at]
    ends = byte == SPACE or (byte >= TAB and byte <= CARRIAGE_RETURN) or byte == SLASH or byte == GREATER_THAN
    return packed if ends else np.uint64(0), at


@njit(cache=True, nogil=True)
def _is_hidden(name: Any) -> bool:
    """Return whether what an element of this name contains is not markup of the page."""
    return (
        name == _SCRIPT
        or name == _STYLE
        or name == _TEMPLATE
        or name == _TEXTAREA
        or name == _TITLE
        or name == _XMP
        or name == _NOEMBED
    )


@njit(cache=True, nogil=True)
def _find_comment_end(data: Any, at: int, size: int) -> int:
    """Return the offset behind '-->', -1 if there is none."""
    begin = at
    while at < size:
        at = find_byte(data, at, size, _GREATER)
        if at < size and at >= begin + 2 and data[at - 1] == HYPHEN and data[at - 2] == HYPHEN:
            return at + 1
        at += 1
    return -1


@njit(cache=True, nogil=True)
def _find_element_end(data: Any, at: int, size: int, name: Any) -> int:
    """Return the offset behind the name in the next end tag of an element, -1 if there is none."""
    while at < size:
        at = find_byte(data, at, size, _LESS) + 1
        if at < size and data[at] == SLASH:
            found, after = _read_whole_name(data, at + 1, size)
            if found == name:
                return after
    return -1


@njit(cache=True, nogil=True)
def _find_all(data: Any, size: int, offsets: Any, most: int) -> int:
    count, at = 0, 0
    while count < most:
        at = find_byte(data, at, size, _LESS) + 1
        if at >= size:
            break
        if data[at] == _EXCLAMATION:
            if at + 2 < size and data[at + 1] == HYPHEN and data[at + 2] == HYPHEN:
                at = _find_comment_end(data, at + 3, size)
                if at < 0:
                    break
            continue
        name, after = _read_whole_name(data, at, size)
        if name == _FRAME or name == _IFRAME:
            offsets[count] = at - 1
            count += 1
        elif _is_hidden(name):
            at = _find_element_end(data, after, size, name)
            if at < 0:
                break
    return count


@njit(cache=True, nogil=True)
def _find(data: Any, offsets: Any) -> int:
    return _find_all(borrow(data), len(data), borrow(offsets), len(offsets))


def find_frame_tags(data: bytes, most: int) -> npt.NDArray[np.int64]:
    """Return where the start tags of up to `most` frames begin in UTF-8 markup, in time linear in its length."""
    offsets = np.empty(most, np.int64)
    return offsets[: _find(np.frombuffer(data, np.uint8), offsets)]


def warm() -> None:
    """Compile this module's kernels for the types that production uses."""
    find_frame_tags(b"<iframe>", 1)
