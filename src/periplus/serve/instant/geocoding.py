"""Geocoding: names of places to coordinates, from a service chosen by the operator, with a cache.

The service answers as Open-Meteo does: `{"results": [{"name", "latitude", "longitude", "admin1", "country"}]}`, the
most likely place first, without results for an unknown name.
"""

import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import quote

import msgspec
from starlette.exceptions import HTTPException

from periplus.typed_decoding import parse_json

__all__ = ["MAX_NAME_LENGTH", "Geocoder", "Location", "clean_name", "parse_locations"]

MAX_NAME_LENGTH: Final = 80
_LOCATION_SECONDS: Final = 86_400.0
_UNKNOWN_SECONDS: Final = 600.0
"""How long a location, and that there is none, is cached."""
_CACHE_SIZE: Final = 1_000
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


class _Result(msgspec.Struct, frozen=True):
    name: str
    latitude: float
    longitude: float
    admin1: str = ""
    country: str = ""


class _Response(msgspec.Struct, frozen=True):
    results: tuple[_Result, ...] = ()


class Location(msgspec.Struct, frozen=True):
    """A place with rounded coordinates."""

    name: str
    """With region and country, as far as they are known."""
    latitude: float
    longitude: float


def clean_name(text: str) -> str:
    """Return a name of a place without control characters, limited in length."""
    return " ".join(_UNPRINTABLE.sub(" ", text[: 4 * MAX_NAME_LENGTH]).split())[:MAX_NAME_LENGTH].strip()


def parse_locations(body: bytes) -> Location | None:
    """Return the first location of a response, None if it has none; raise `ValueError` for an invalid response."""
    try:
        results = parse_json(body, _Response).results
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError("not a response of a geocoding service") from error
    if not results:
        return None
    first = results[0]
    if not (-90 <= first.latitude <= 90 and -180 <= first.longitude <= 180 and clean_name(first.name)):
        raise ValueError("invalid coordinates")
    parts = dict.fromkeys(filter(None, map(clean_name, (first.name, first.admin1, first.country))))
    return Location(", ".join(parts), round(first.latitude, 1), round(first.longitude, 1))


class Geocoder:
    """Finds locations by name."""

    def __init__(self, url: str, get: Callable[[str], Awaitable[bytes | None]]) -> None:
        self._url = url
        self._get = get
        self._cache: OrderedDict[tuple[str, str], tuple[float, Location | None]] = OrderedDict()

    async def find(self, name: str, language: str) -> Location:
        """Return the location of a cleaned name; 404 if it is unknown, 502 if the service does not answer."""
        key = (name.casefold(), language)
        expires, location = self._cache.get(key, (0.0, None))
        if expires <= time.monotonic():
            location = await self._request(name, language)
            seconds = _LOCATION_SECONDS if location else _UNKNOWN_SECONDS
            self._cache[key] = (time.monotonic() + seconds, location)
            if len(self._cache) > _CACHE_SIZE:
                self._cache.popitem(last=False)
        if location is None:
            raise HTTPException(404, "This place is unknown.")
        return location

    async def _request(self, name: str, language: str) -> Location | None:
        url = self._url.replace("{name}", quote(name, safe="")).replace("{language}", language)
        body = await self._get(url)
        try:
            if body is None:
                raise ValueError("no response")
            return parse_locations(body)
        except ValueError:
            raise HTTPException(502, "The geocoding service does not answer.") from None
