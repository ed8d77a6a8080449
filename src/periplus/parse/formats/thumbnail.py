"""Images to thumbnails: small WebP files without metadata. Called only in a process with limits (`ParserPool`)."""

import io
import warnings
from typing import Final

from PIL import Image, ImageOps

__all__ = ["MAX_THUMBNAIL_BYTES", "is_thumbnail", "make_thumbnail", "sample_image"]

_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "ICO", "BMP")
_MAX_PIXELS: Final = 40_000_000
_MIN_SIDE: Final = 8
"""Smaller images are counters and spacers."""
_QUALITIES: Final = (72, 45, 20)
MAX_THUMBNAIL_BYTES: Final = 12 << 10
"""A page of ten, with everything else that it loads, stays below 150 kB."""
_MAX_EARLIER_BYTES: Final = 24 << 10
"""What thumbnails of earlier versions may have."""


def make_thumbnail(data: bytes, side: int) -> bytes:
    """Return an image as WebP that fits into a square, upright and without metadata; b'' if it cannot be shown.

    Of an animation, the first picture. An image of more than 40 million pixels is refused before it is decoded.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
                width, height = image.size
                if width * height > _MAX_PIXELS or min(width, height) < _MIN_SIDE:
                    return b""
                image.draft("RGB", (2 * side, 2 * side))
                upright = ImageOps.exif_transpose(image)
                plain = upright.convert("RGBA" if _has_alpha(upright) else "RGB")
                plain.thumbnail((side, side))
                return _encode(plain)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning):
        return b""


def _has_alpha(image: Image.Image) -> bool:
    return image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info


def _encode(image: Image.Image) -> bytes:
    """Encode an image in the best quality that is small enough, at half its size if there is none."""
    clean = Image.new(image.mode, image.size)
    clean.paste(image)
    for shown in (clean, clean.reduce(2)):
        for quality in _QUALITIES:
            packed = io.BytesIO()
            shown.save(packed, "WEBP", quality=quality, method=4)
            if packed.tell() <= MAX_THUMBNAIL_BYTES:
                return packed.getvalue()
    return b""


def sample_image(name: str) -> bytes:
    """Return a small image of a format, which loads what decoding such an image needs."""
    packed = io.BytesIO()
    Image.new("RGB", (32, 32), "teal").save(packed, name)
    return packed.getvalue()


def is_thumbnail(data: bytes) -> bool:
    """Return whether some bytes may be what `make_thumbnail` returns."""
    return len(data) <= _MAX_EARLIER_BYTES and (not data or (data[:4] == b"RIFF" and data[8:12] == b"WEBP"))
