"""Conversion of units: '5 km in miles', '72 f to c', '3 cups in ml'. Offline, exact where the definition is."""

import re
from typing import Final, NamedTuple

from periplus.serve.instant.arithmetic import as_text

__all__ = ["convert"]


class _Unit(NamedTuple):
    name: str
    quantity: str
    scale: float
    """Its size in the base unit of the quantity."""
    offset: float = 0.0
    """Its zero in the base unit."""


_CONVERSION: Final = re.compile(
    r"\s*(?P<number>[-−]?\d{1,15}(?:[.,]\d{1,15})?)\s*(?P<source>[a-zµ°²³/\"' ]{1,24}?)"
    r"\s+(?:in|to|as|into|en|zu|à|a)\s+(?P<target>[a-zµ°²³/\"' ]{1,24}?)\s*\??\s*",
    re.IGNORECASE,
)

_TABLE: Final = """
length  m 1 meter metre meters metres | km 1000 kilometer kilometre kilometers kilometres | cm 0.01 centimeter
length  mm 0.001 millimeter millimeters | mi 1609.344 mile miles | yd 0.9144 yard yards | ft 0.3048 foot feet
length  in 0.0254 inch inches | nmi 1852 | µm 0.000001 micrometer um
mass    kg 1 kilogram kilograms kilo kilos | g 0.001 gram grams | mg 0.000001 milligram | t 1000 tonne tonnes
mass    lb 0.45359237 pound pounds lbs | oz 0.028349523125 ounce ounces | st 6.35029318 stone
volume  l 1 liter litre liters litres | ml 0.001 milliliter milliliters | cl 0.01 | m³ 1000 m3
volume  gal 3.785411784 gallon gallons | qt 0.946352946 quart quarts | pt 0.473176473 pint pints
volume  cup 0.2365882365 cups | tbsp 0.01478676478125 tablespoon | tsp 0.00492892159375 teaspoon
area    m² 1 m2 sqm | km² 1000000 km2 | ha 10000 hectare hectares | acre 4046.8564224 acres | ft² 0.09290304 ft2
time    s 1 second seconds sec | min 60 minute minutes | h 3600 hour hours hr | d 86400 day days
time    week 604800 weeks | year 31557600 years | ms 0.001 millisecond milliseconds
speed   m/s 1 | km/h 0.2777777777777778 kmh kph | mph 0.44704 | kn 0.5144444444444445 knot knots
data    B 1 byte bytes | kB 1000 kilobyte kilobytes | MB 1000000 megabyte megabytes | GB 1000000000 gigabyte
data    TB 1000000000000 terabyte | KiB 1024 kibibyte | MiB 1048576 mebibyte | GiB 1073741824 gibibyte | bit 0.125
energy  J 1 joule joules | kJ 1000 kilojoule | cal 4.184 calorie calories | kcal 4184 | kWh 3600000 | Wh 3600
pressure  Pa 1 pascal | hPa 100 | kPa 1000 | bar 100000 | atm 101325 | psi 6894.757293168361 | mmHg 133.322387415
angle   rad 1 radian radians | deg 0.017453292519943295 degree degrees °
"""


def _read() -> dict[str, _Unit]:
    units = {
        "c": _Unit("°C", "temperature", 1.0, 273.15),
        "f": _Unit("°F", "temperature", 5 / 9, 273.15 - 32 * 5 / 9),
        "k": _Unit("K", "temperature", 1.0),
    }
    aliases = {"°c": "c", "celsius": "c", "centigrade": "c", "°f": "f", "fahrenheit": "f", "kelvin": "k"}
    units |= {word: units[name] for word, name in aliases.items()}
    for line in _TABLE.strip().splitlines():
        quantity, rest = line.split(maxsplit=1)
        for entry in rest.split("|"):
            name, scale, *synonyms = entry.split()
            unit = _Unit(name, quantity, float(scale))
            units |= {word.lower(): unit for word in (name, *synonyms) if word.lower() not in units}
    return units


_UNITS: Final = _read()


def convert(words: str) -> str:
    """Return '5 km = 3.106855961 mi' for a conversion, '' for anything else."""
    match = _CONVERSION.fullmatch(words[:120])
    if not match:
        return ""
    source, target = (_UNITS.get(match[part].strip().lower()) for part in ("source", "target"))
    if source is None or target is None or source.quantity != target.quantity:
        return ""
    value = _number(match["number"])
    result = (value * source.scale + source.offset - target.offset) / target.scale
    # Digits beyond the twelfth are rounding errors of binary fractions.
    return f"{as_text(value)} {source.name} = {as_text(float(f'{result:.12g}'))} {target.name}"


def _number(text: str) -> float:
    """Return a number; a comma separates thousands if three digits follow it, and decimals otherwise."""
    text = text.replace("−", "-")
    thousands = re.fullmatch(r"-?\d{1,3},\d{3}", text) is not None
    return float(text.replace(",", "" if thousands else "."))
