"""The weather where somebody is: asked of a service that the operator chose, at a place rounded to some ten kilometres.

The service answers as Open-Meteo does: `{"current": {"temperature_2m", "weather_code", "wind_speed_10m"}}`, degrees
Celsius, codes of the WMO, kilometres an hour.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from periplus.serve.asked import parameters
from periplus.serve.bodies import json_response
from periplus.serve.tongues import Tongue, pick_tongue

__all__ = ["Weather", "WeatherDesk", "asks_for_weather", "read_weather"]

_WORDS: Final = frozenset(
    {"weather", "weather today", "weather here", "wetter", "wetter heute", "tiempo", "el tiempo", "clima", "météo"}
)
_SKIES: Final = (
    (0, "clear sky"),
    (3, "clouds"),
    (48, "fog"),
    (57, "drizzle"),
    (67, "rain"),
    (77, "snow"),
    (82, "showers"),
    (86, "snow showers"),
    (99, "thunderstorm"),
)
"""The highest code of each sky."""
_SECONDS: Final = 600.0
_MOST: Final = 1_000
_AT_ONCE: Final = 4


class _Current(msgspec.Struct, frozen=True):
    temperature_2m: float
    weather_code: int = -1
    wind_speed_10m: float = -1.0


class _Answer(msgspec.Struct, frozen=True):
    current: _Current


class Weather(msgspec.Struct, frozen=True):
    """How it is somewhere."""

    degrees: float
    sky: str
    """'' when it does not say."""
    wind: float
    """Kilometres an hour; below 0 when it does not say."""

    def said(self, tongue: Tongue) -> str:
        """Write it in one line."""
        parts = [f"{tongue.number(round(self.degrees))} °C"]
        if self.sky:
            parts.append(tongue.say(self.sky))
        if self.wind >= 0:
            parts.append(tongue.say("wind {speed} km/h", speed=tongue.number(round(self.wind))))
        return ", ".join(parts)


def asks_for_weather(words: str) -> bool:
    """Say whether a query asks for the weather, and for nothing else."""
    return " ".join(words.casefold().split()) in _WORDS


def read_weather(body: bytes) -> Weather | None:
    """Read what a service answered; None when it makes no sense."""
    try:
        now = msgspec.json.decode(body, type=_Answer).current
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not -100 <= now.temperature_2m <= 70:
        return None
    sky = next((name for most, name in _SKIES if 0 <= now.weather_code <= most), "")
    return Weather(now.temperature_2m, sky, now.wind_speed_10m if 0 <= now.wind_speed_10m <= 500 else -1.0)


class WeatherDesk:
    """Answers /api/weather."""

    def __init__(self, address: str, fetch: Callable[[str], bytes | None] | None) -> None:
        self._address = address
        self._fetch = fetch if address else None
        self._known: OrderedDict[tuple[float, float], tuple[float, Weather]] = OrderedDict()
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def answer(self, request: Request) -> Response:
        """Give the weather at a place."""
        if self._fetch is None:
            raise HTTPException(501, "This server has no service for the weather: see serve.weather.")
        given = parameters(request.scope["query_string"])
        place = (_degrees(given.get("latitude", ""), 90), _degrees(given.get("longitude", ""), 180))
        found = self._kept(place) or await self._ask(place, self._fetch)
        tongue = pick_tongue(given, request.headers.get("accept-language", ""))
        about = {"degrees": found.degrees, "sky": found.sky, "wind": found.wind, "text": found.said(tongue)}
        return json_response(about, headers={"cache-control": "no-store"})

    def _kept(self, place: tuple[float, float]) -> Weather | None:
        until, found = self._known.get(place, (0.0, None))
        return found if until > time.monotonic() else None

    async def _ask(self, place: tuple[float, float], fetch: Callable[[str], bytes | None]) -> Weather:
        latitude, longitude = (f"{part:g}" for part in place)
        address = self._address.replace("{latitude}", latitude).replace("{longitude}", longitude)
        if self._turns.locked():
            raise HTTPException(503, "Too many ask for the weather.", {"retry-after": "2"})
        async with self._turns:
            body = await asyncio.to_thread(fetch, address)
        found = read_weather(body) if body else None
        if found is None:
            raise HTTPException(502, "The service for the weather does not answer.")
        self._known[place] = (time.monotonic() + _SECONDS, found)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        return found


def _degrees(text: str, most: int) -> float:
    """Read a coordinate, rounded so that it says no more than which town."""
    try:
        value = float(text[:20])
    except ValueError:
        value = 999.0
    if not -most <= value <= most:
        raise HTTPException(400, "Give latitude and longitude, in degrees.")
    return round(value, 1)
