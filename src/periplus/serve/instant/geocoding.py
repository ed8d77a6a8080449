"""Names of places to where they are: asked of a service that the operator chose, a bounded few at once, and remembered.

The service answers as Open-Meteo's does: `{"results": [{"name", "latitude", "longitude", "admin1", "country"}]}`, the
likeliest first, without results where it knows no such place.
"""

import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import quote

import msgspec
from starlette.exceptions import HTTPException

__all__ = ["LONGEST_NAME", "Place", "Places", "clean_name", "read_places"]

LONGEST_NAME: Final = 80
_SECONDS: Final = 86_400.0
_UNKNOWN_SECONDS: Final = 600.0
"""How long a place, and that there is none, is remembered."""
_MOST: Final = 1_000
_UNUSABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


class _Result(msgspec.Struct, frozen=True):
    name: str
    latitude: float
    longitude: float
    admin1: str = ""
    country: str = ""


class _Answer(msgspec.Struct, frozen=True):
    results: tuple[_Result, ...] = ()


class Place(msgspec.Struct, frozen=True):
    """Somewhere."""

    name: str
    """With region and country, as far as they are known."""
    latitude: float
    longitude: float


def clean_name(text: str) -> str:
    """Give a name of a place as it may be asked for; '' when there is none."""
    return " ".join(_UNUSABLE.sub(" ", text[: 4 * LONGEST_NAME]).split())[:LONGEST_NAME].strip()


def read_places(body: bytes) -> Place | None:
    """Read what a service answered: the first place, None if it knows none; raise `ValueError` if it makes no sense."""
    try:
        found = msgspec.json.decode(body, type=_Answer).results
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError("no answer in the form that is known") from error
    if not found:
        return None
    first = found[0]
    if not (-90 <= first.latitude <= 90 and -180 <= first.longitude <= 180 and clean_name(first.name)):
        raise ValueError("an impossible place")
    parts = dict.fromkeys(filter(None, map(clean_name, (first.name, first.admin1, first.country))))
    return Place(", ".join(parts), round(first.latitude, 1), round(first.longitude, 1))


class Places:
    """Finds places by name."""

    def __init__(self, address: str, ask: Callable[[str], Awaitable[bytes | None]]) -> None:
        self._address = address
        self._ask = ask
        self._known: OrderedDict[tuple[str, str], tuple[float, Place | None]] = OrderedDict()

    async def find(self, name: str, language: str) -> Place:
        """Give where a name (cleaned) is; 404 if that is not known, 502 if the service does not answer."""
        key = (name.casefold(), language)
        until, place = self._known.get(key, (0.0, None))
        if until <= time.monotonic():
            place = await self._find(name, language)
            patience = _SECONDS if place else _UNKNOWN_SECONDS
            self._known[key] = (time.monotonic() + patience, place)
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
        if place is None:
            raise HTTPException(404, "No place of that name is known.")
        return place

    async def _find(self, name: str, language: str) -> Place | None:
        address = self._address.replace("{name}", quote(name, safe="")).replace("{language}", language)
        body = await self._ask(address)
        try:
            if body is None:
                raise ValueError("nothing")
            return read_places(body)
        except ValueError:
            raise HTTPException(502, "The service for places does not answer.") from None
