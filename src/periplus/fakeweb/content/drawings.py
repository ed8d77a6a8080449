"""Pictures of the fake web, drawn from a number: landscapes for articles, icons for hosts. PNG files with a palette."""

import colorsys
import struct
import zlib
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["draw_icon", "draw_landscape"]

_WIDTH, _HEIGHT = 360, 240
_ICON_SIDE: Final = 32
_BANDS: Final = 24
"""Shades of the sky."""
_HILLS: Final = 3
_SUN, _SEA, _FIRST_HILL = _BANDS, _BANDS + 1, _BANDS + 2
_WATER_LINE: Final = 0.78

Picture = npt.NDArray[np.uint8]


def draw_landscape(number: int) -> bytes:
    """Return a picture of hills behind the sea, below a sky with a sun; the same number yields the same picture."""
    rng = np.random.default_rng([number, 20_021])
    hue, warm = float(rng.uniform(0.45, 0.62)), float(rng.uniform(0.03, 0.12))
    rows, columns = np.mgrid[0:_HEIGHT, 0:_WIDTH]
    picture = (rows * _BANDS // _HEIGHT).astype(np.uint8)
    centre, radius = rng.uniform((40.0, 50.0), (_WIDTH - 40.0, 110.0)), rng.uniform(14.0, 26.0)
    picture[(columns - centre[0]) ** 2 + (rows - centre[1]) ** 2 < radius**2] = _SUN
    for hill in range(_HILLS):
        height, length, phase = rng.uniform((12.0, 90.0, 0.0), (34.0, 220.0, 2 * np.pi))
        ridge = 0.5 * _HEIGHT + 22.0 * hill - height * np.sin(columns / length * 2 * np.pi / 2 + phase)
        picture[rows > ridge] = _FIRST_HILL + hill
    picture[rows > _WATER_LINE * _HEIGHT] = _SEA
    sky = [
        _colour(hue + (warm - hue + 1.0) * 0.2 * band / _BANDS, 0.35 - 0.2 * band / _BANDS, 0.97)
        for band in range(_BANDS)
    ]
    hills = [_colour(hue - 0.08 * hill, 0.30 + 0.12 * hill, 0.62 - 0.16 * hill) for hill in range(_HILLS)]
    return _png(picture, [*sky, _colour(warm, 0.25, 1.0), _colour(hue, 0.55, 0.5), *hills])


def draw_icon(number: int) -> bytes:
    """Return the icon of a host: a disc in a colour of its own."""
    rows, columns = np.mgrid[0:_ICON_SIDE, 0:_ICON_SIDE]
    centre = (_ICON_SIDE - 1) / 2
    distance = np.hypot(rows - centre, columns - centre)
    picture = np.zeros((_ICON_SIDE, _ICON_SIDE), np.uint8)
    picture[distance < centre + 0.5] = 1
    picture[(distance < 0.62 * centre) & (rows < centre + number % 3 * 4)] = 2
    hue = number * 0.381966 % 1.0
    return _png(picture, [(255, 255, 255), _colour(hue, 0.6, 0.55), _colour(hue + 0.08, 0.2, 0.95)])


def _colour(hue: float, saturation: float, value: float) -> tuple[int, int, int]:
    red, green, blue = colorsys.hsv_to_rgb(hue % 1.0, saturation, value)
    return round(red * 255), round(green * 255), round(blue * 255)


def _png(picture: Picture, palette: list[tuple[int, int, int]]) -> bytes:
    """Return a PNG file of indexes into a palette."""
    height, width = picture.shape
    lines = np.concatenate((np.zeros((height, 1), np.uint8), picture), axis=1).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"PLTE", bytes(sum(palette, ()))), (b"IDAT", zlib.compress(lines, 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
