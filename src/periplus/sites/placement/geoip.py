"""A GeoIP database: the place of a network address, read from an `.mmdb` file of the user's choice.

Any database with `location.latitude` and `location.longitude` will do (GeoLite2-City, DB-IP City Lite, ...). The file
is read by the Python reader of `maxminddb`, whose decoder bounds depth, values and bytes of a record: a damaged or
hostile file is an error, not a crash.
"""

import contextlib
import ipaddress
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from periplus.errors import BadFile, MissingPart
from periplus.sites.site_topology import Place

__all__ = ["GeoDatabase", "HostPlace"]

_MAX_BYTES: Final = 4 << 30
_MAX_TYPE: Final = 80


class HostPlace(NamedTuple):
    """Where a network address is."""

    place: Place
    country: str = ""
    """ISO 3166 code in small letters; '' if the database does not state it."""


class GeoDatabase:
    """An open GeoIP database."""

    def __init__(self, path: Path) -> None:
        """Open a file; raise `BadFile` if it is not a GeoIP database, `MissingPart` if the extra is not installed."""
        try:
            import maxminddb
        except ImportError:
            raise MissingPart(
                "A GeoIP database needs the package maxminddb.", "Install it: pip install periplus[sites]"
            ) from None
        self.path = path
        with _damage(path):
            if not path.is_file():
                raise BadFile(f"There is no GeoIP database {path}.", "It is an .mmdb file with cities.")
            if path.stat().st_size > _MAX_BYTES:
                raise BadFile(f"{path} has more than {_MAX_BYTES >> 30} GiB: that is not a GeoIP database.")
            # Not the C extension: the Python reader cannot read outside of a damaged file.
            self._reader = maxminddb.open_database(path, maxminddb.MODE_MMAP)
            metadata = self._reader.metadata()
            self.kind = str(metadata.database_type)[:_MAX_TYPE]
            self._version = int(metadata.ip_version)
            if self._version not in (4, 6):
                raise BadFile(f"{path} is not a GeoIP database: its addresses are of version {self._version}.")

    def find_place(self, address: str) -> HostPlace | None:
        """Return the place of a network address; None if the database does not have it, or the address is none."""
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return None
        if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
            parsed = parsed.ipv4_mapped
        if parsed.version > self._version:
            return None
        with _damage(self.path):
            record = self._reader.get(parsed)
        return _read_place(record)

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


@contextlib.contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Turn whatever a damaged file makes the reader raise into `BadFile`."""
    try:
        yield
    except BadFile:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise BadFile(f"{path} is not a GeoIP database, or it is damaged: {reason}", "Download it again.") from None


def _read_place(record: Any) -> HostPlace | None:
    """Return the place that a record states; None if it states none that is on the map."""
    if not isinstance(record, Mapping):
        return None
    location = record.get("location")
    if not isinstance(location, Mapping):
        return None
    latitude, longitude = location.get("latitude"), location.get("longitude")
    if not isinstance(latitude, float | int) or not isinstance(longitude, float | int):
        return None
    if not (math.isfinite(latitude) and math.isfinite(longitude) and abs(latitude) <= 90 and abs(longitude) <= 180):
        return None
    country = record.get("country")
    code = country.get("iso_code") if isinstance(country, Mapping) else None
    return HostPlace(Place(float(latitude), float(longitude)), _country_code(code))


def _country_code(code: Any) -> str:
    return code.lower() if isinstance(code, str) and len(code) == 2 and code.isascii() and code.isalpha() else ""
