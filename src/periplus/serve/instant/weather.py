"""The weather, from a service chosen by the operator, for coordinates rounded to about ten kilometres.

Only the browser knows where a person is, and it sends that only on request. Names of places are resolved by
`geocoding`. The service answers as Open-Meteo does: `{"current": {"temperature_2m", "weather_code",
"wind_speed_10m"}}`, in degrees Celsius, WMO codes and kilometres per hour.
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

from periplus.serve.instant.geocoding import MAX_NAME_LENGTH, Geocoder, clean_name
from periplus.serve.pages.locales import Locale, choose_locale
from periplus.serve.pages.page_templates import PageRenderer
from periplus.serve.request_bodies import json_response
from periplus.serve.search_request import parse_parameters
from periplus.serve.workers.blocking_calls import call_in_thread
from periplus.settings import ServeSettings
from periplus.typed_decoding import parse_json

__all__ = ["Weather", "WeatherQuery", "WeatherService", "parse_weather", "parse_weather_query"]

_WORDS: Final = frozenset(
    {"weather", "weather today", "weather here", "wetter", "wetter heute", "tiempo", "el tiempo", "clima", "météo"}
)
_PLACE: Final = re.compile(
    r"(?:weather (?:today )?(?:in|at|for|of)|wetter (?:heute )?(?:in|an|auf|für)|météo (?:à|a|au|en|de|pour)"
    r"|(?:el )?(?:tiempo|clima) (?:hoy )?(?:en|de)) (?P<after>.+)"
    r"|(?:weather|wetter|météo) (?P<plain>.+)|(?P<before>.+) (?:weather|wetter|météo)",
    re.IGNORECASE,
)
"""Queries for the weather at a place."""
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
"""The highest WMO code of each kind of weather."""
_CACHE_SECONDS: Final = 600.0
_CACHE_SIZE: Final = 1_000
_CONCURRENCY: Final = 4
"""Requests to the services at a time; more are refused."""
_NO_STORE: Final = {"cache-control": "no-store"}


class _Current(msgspec.Struct, frozen=True):
    temperature_2m: float
    weather_code: int = -1
    wind_speed_10m: float = -1.0


class _Response(msgspec.Struct, frozen=True):
    current: _Current


class Weather(msgspec.Struct, frozen=True):
    """The weather at a place."""

    degrees: float
    sky: str
    """'' if unknown."""
    wind: float
    """Kilometres per hour; negative if unknown."""

    def describe(self, locale: Locale) -> str:
        """Return a description in one line."""
        parts = [f"{locale.number(round(self.degrees))} °C"]
        if self.sky:
            parts.append(locale.translate(self.sky))
        if self.wind >= 0:
            parts.append(locale.translate("wind {speed} km/h", speed=locale.number(round(self.wind))))
        return ", ".join(parts)


class WeatherQuery(NamedTuple):
    """A query that asks for the weather."""

    place: str
    """The named place, '' if none was named."""
    by_name: bool
    """Whether places can be named."""


def parse_weather_query(words: str, by_name: bool) -> WeatherQuery | None:
    """Return what a query asks for if it asks for the weather and nothing else.

    by_name: whether places can be named.
    """
    text = clean_name(words) if len(words) <= 2 * MAX_NAME_LENGTH else ""
    if text.casefold() in _WORDS:
        return WeatherQuery("", by_name)
    match = _PLACE.fullmatch(text) if by_name else None
    return WeatherQuery(next(filter(None, match.groups())), by_name) if match else None


def parse_weather(body: bytes) -> Weather | None:
    """Return the weather in a response of the service, None if it is invalid."""
    try:
        current = parse_json(body, _Response).current
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not -100 <= current.temperature_2m <= 70:
        return None
    sky = next((name for highest, name in _SKIES if 0 <= current.weather_code <= highest), "")
    return Weather(current.temperature_2m, sky, current.wind_speed_10m if 0 <= current.wind_speed_10m <= 500 else -1.0)


class WeatherService:
    """Handlers of the group 'weather' in the route table: JSON for programs and our pages, a page without scripts."""

    def __init__(
        self, settings: ServeSettings, fetch: Callable[[str], bytes | None] | None, renderer: PageRenderer
    ) -> None:
        self._url = settings.weather
        self._fetch = fetch if settings.weather else None
        self._geocoder = Geocoder(settings.geocoder, self._get) if settings.geocoder else None
        self._renderer = renderer
        self._cache: OrderedDict[tuple[float, float], tuple[float, Weather]] = OrderedDict()
        self._slots = asyncio.Semaphore(_CONCURRENCY)

    @property
    def available(self) -> tuple[bool, bool]:
        """Whether there is a service for the weather, and one for names of places."""
        return self._fetch is not None, self._fetch is not None and self._geocoder is not None

    async def answer(self, request: Request) -> Response:
        """Return the weather at a place, by name or by coordinates."""
        parameters = parse_parameters(request.scope["query_string"])
        locale = choose_locale(parameters, request.headers.get("accept-language", ""))
        name, weather = await self._lookup(parameters, locale)
        text = weather.describe(locale)
        body = {"degrees": weather.degrees, "sky": weather.sky, "wind": weather.wind, "text": text}
        if name:
            body |= {"place": name, "text": f"{name}: {text}"}
        return json_response(body, headers=_NO_STORE)

    async def page(self, request: Request) -> Response:
        """Show the weather at a named place, or why it is not available."""
        parameters = parse_parameters(request.scope["query_string"])
        locale = choose_locale(parameters, request.headers.get("accept-language", ""))
        place = clean_name(parameters.get("place", ""))
        text, error, status = "", "", 200
        try:
            self._service()
            if place:
                name, weather = await self._lookup(parameters, locale)
                text = f"{name}: {weather.describe(locale)}"
        except HTTPException as failure:
            error, status = str(failure.detail), failure.status_code
        variables = {"place": place, "text": text, "error": error, "open": self.available[1]}
        return self._renderer.response("weather.html", status, _NO_STORE, request, **variables)

    def _service(self) -> Callable[[str], bytes | None]:
        if self._fetch is None:
            raise HTTPException(501, "This server has no weather service: see serve.weather.")
        return self._fetch

    async def _lookup(self, parameters: Mapping[str, str], locale: Locale) -> tuple[str, Weather]:
        """Return the name of the place, '' for coordinates, and the weather there."""
        self._service()
        place = clean_name(parameters.get("place", ""))
        if not place:
            latitude = _degrees(parameters.get("latitude", ""), 90)
            longitude = _degrees(parameters.get("longitude", ""), 180)
            return "", await self._weather(latitude, longitude)
        if self._geocoder is None:
            raise HTTPException(501, "This server has no geocoding service: see serve.geocoder.")
        location = await self._geocoder.find(place, locale.code)
        return location.name, await self._weather(location.latitude, location.longitude)

    async def _weather(self, latitude: float, longitude: float) -> Weather:
        key = (latitude, longitude)
        expires, weather = self._cache.get(key, (0.0, None))
        if weather is not None and expires > time.monotonic():
            return weather
        url = self._url.replace("{latitude}", f"{latitude:g}").replace("{longitude}", f"{longitude:g}")
        body = await self._get(url)
        weather = parse_weather(body) if body else None
        if weather is None:
            raise HTTPException(502, "The weather service does not answer.")
        self._cache[key] = (time.monotonic() + _CACHE_SECONDS, weather)
        if len(self._cache) > _CACHE_SIZE:
            self._cache.popitem(last=False)
        return weather

    async def _get(self, url: str) -> bytes | None:
        """Send a GET to a service; a few at a time."""
        fetch = self._service()
        if self._slots.locked():
            raise HTTPException(503, "Too many requests for the weather.", {"retry-after": "2"})
        async with self._slots:
            return await call_in_thread(fetch, url)


def _degrees(text: str, limit: int) -> float:
    """Return a coordinate, rounded to the precision of a town."""
    try:
        value = float(text[:20])
    except ValueError:
        value = 999.0
    if not -limit <= value <= limit:
        raise HTTPException(400, "Send a place, or latitude and longitude in degrees.")
    return round(value, 1)
