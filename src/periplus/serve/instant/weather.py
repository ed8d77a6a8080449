"""The weather here or anywhere: asked of a service that the operator chose, at a place rounded to some ten kilometres.

Where somebody is, only the browser says, and only when told to. Names of places are looked up (`places`). The service
answers as Open-Meteo does: `{"current": {"temperature_2m", "weather_code", "wind_speed_10m"}}`, degrees Celsius, codes
of the WMO, kilometres an hour.
"""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from periplus.serve.instant.geocoding import LONGEST_NAME, Places, clean_name
from periplus.serve.pages.locales import Tongue, pick_tongue
from periplus.serve.pages.page_templates import Pages
from periplus.serve.request_bodies import json_response
from periplus.serve.search_request import parameters
from periplus.settings import ServeSettings

__all__ = ["Weather", "WeatherAsked", "WeatherDesk", "ask_weather", "read_weather"]

_WORDS: Final = frozenset(
    {"weather", "weather today", "weather here", "wetter", "wetter heute", "tiempo", "el tiempo", "clima", "météo"}
)
_PLACE: Final = re.compile(
    r"(?:weather (?:today )?(?:in|at|for|of)|wetter (?:heute )?(?:in|an|auf|für)|météo (?:à|a|au|en|de|pour)"
    r"|(?:el )?(?:tiempo|clima) (?:hoy )?(?:en|de)) (?P<after>.+)"
    r"|(?:weather|wetter|météo) (?P<plain>.+)|(?P<before>.+) (?:weather|wetter|météo)",
    re.IGNORECASE,
)
"""Ways to ask for the weather somewhere."""
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


class WeatherAsked(NamedTuple):
    """What a page that can ask for the weather shows."""

    place: str
    """The place that was named, '' if none was."""
    places: bool
    """Whether places can be named."""


def ask_weather(words: str, places: bool) -> WeatherAsked | None:
    """Say whether a query asks for the weather and for nothing else: here or, where `places` can be named, there."""
    plain = clean_name(words) if len(words) <= 2 * LONGEST_NAME else ""
    if plain.casefold() in _WORDS:
        return WeatherAsked("", places)
    found = _PLACE.fullmatch(plain) if places else None
    return WeatherAsked(next(filter(None, found.groups())), places) if found else None


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
    """Answers /api/weather for programs and our own pages, and /weather for people without scripts."""

    def __init__(self, settings: ServeSettings, fetch: Callable[[str], bytes | None] | None, pages: Pages) -> None:
        self._address = settings.weather
        self._fetch = fetch if settings.weather else None
        self._places = Places(settings.places, self._get) if settings.places else None
        self._pages = pages
        self._known: OrderedDict[tuple[float, float], tuple[float, Weather]] = OrderedDict()
        self._turns = asyncio.Semaphore(_AT_ONCE)

    @property
    def open(self) -> tuple[bool, bool]:
        """Whether it can tell the weather, and find places by name."""
        return self._fetch is not None, self._fetch is not None and self._places is not None

    async def answer(self, request: Request) -> Response:
        """Give the weather at a place, by its name or by where it is."""
        given = parameters(request.scope["query_string"])
        tongue = pick_tongue(given, request.headers.get("accept-language", ""))
        where, found = await self._find(given, tongue)
        about = {"degrees": found.degrees, "sky": found.sky, "wind": found.wind, "text": found.said(tongue)}
        if where:
            about |= {"place": where, "text": f"{where}: {found.said(tongue)}"}
        return json_response(about, headers={"cache-control": "no-store"})

    async def page(self, request: Request) -> Response:
        """Show the weather at a place that was named, or say why not."""
        given = parameters(request.scope["query_string"])
        tongue = pick_tongue(given, request.headers.get("accept-language", ""))
        name = clean_name(given.get("place", ""))
        text, wrong, status = "", "", 200
        try:
            self._service()
            if name:
                where, found = await self._find(given, tongue)
                text = f"{where}: {found.said(tongue)}"
        except HTTPException as error:
            wrong, status = str(error.detail), error.status_code
        headers = {"cache-control": "no-store"}
        shown = {"place": name, "text": text, "wrong": wrong, "open": self.open[1]}
        return self._pages.page("weather.html", status, headers, request, **shown)

    def _service(self) -> Callable[[str], bytes | None]:
        if self._fetch is None:
            raise HTTPException(501, "This server has no service for the weather: see serve.weather.")
        return self._fetch

    async def _find(self, given: Mapping[str, str], tongue: Tongue) -> tuple[str, Weather]:
        """Give the name of the place, '' if it was given by degrees, and the weather there."""
        self._service()
        name = clean_name(given.get("place", ""))
        if not name:
            place = (_degrees(given.get("latitude", ""), 90), _degrees(given.get("longitude", ""), 180))
            return "", await self._weather(place)
        if self._places is None:
            raise HTTPException(501, "This server has no service for places: see serve.places.")
        found = await self._places.find(name, tongue.code)
        return found.name, await self._weather((found.latitude, found.longitude))

    async def _weather(self, place: tuple[float, float]) -> Weather:
        until, known = self._known.get(place, (0.0, None))
        if known is not None and until > time.monotonic():
            return known
        latitude, longitude = (f"{part:g}" for part in place)
        body = await self._get(self._address.replace("{latitude}", latitude).replace("{longitude}", longitude))
        found = read_weather(body) if body else None
        if found is None:
            raise HTTPException(502, "The service for the weather does not answer.")
        self._known[place] = (time.monotonic() + _SECONDS, found)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        return found

    async def _get(self, address: str) -> bytes | None:
        """Ask a service, a few at once."""
        fetch = self._service()
        if self._turns.locked():
            raise HTTPException(503, "Too many ask for the weather.", {"retry-after": "2"})
        async with self._turns:
            return await asyncio.to_thread(fetch, address)


def _degrees(text: str, most: int) -> float:
    """Read a coordinate, rounded so that it says no more than which town."""
    try:
        value = float(text[:20])
    except ValueError:
        value = 999.0
    if not -most <= value <= most:
        raise HTTPException(400, "Give a place, or latitude and longitude in degrees.")
    return round(value, 1)
