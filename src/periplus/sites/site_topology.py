"""The sites of a federation: one record for each, signed by the site that it is about.

    {"format": 1, "network": "9f...", "sites": [{"name": "zurich", "version": 3, "place": [47.4, 8.5], ...}, ...],
     "checksum": "..."}

A site changes its own record only, and raises its version. So two topologies are merged record by record: of each site,
the one with the higher version. A site that has left keeps its record, with `left`. A record of a known name with
another key is never accepted: there are two sites with one name, and the one that was known first stays.
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from periplus.errors import BadInput, CorruptFile
from periplus.files import decode_json, encode_json

__all__ = [
    "MAX_SITES",
    "RESERVED_NAMES",
    "SINKS",
    "SITE_NAME_PATTERN",
    "TOPOLOGY_NAME",
    "Place",
    "SiteRecord",
    "SiteTopology",
    "TopologyChange",
    "check_record",
    "decode_site_topology",
    "encode_site_topology",
    "merge_records",
]

SINKS: Final = ("urls", "pages", "statistics", "thresholds", "visits", "submissions")
"""What sites send each other in batches. The names travel."""
TOPOLOGY_NAME: Final = "topology.json"
MAX_SITES: Final = 64
SITE_NAME_PATTERN: Final = "^[a-z][a-z0-9-]{0,31}$"
RESERVED_NAMES: Final = frozenset(("local", "join"))
"""Accounts of the NATS server that are not those of other sites: a site of that name would be let into them."""
_NAME: Final = re.compile(SITE_NAME_PATTERN)
_KEY: Final = re.compile("^[0-9a-f]{64}$")
_ADDRESS: Final = re.compile(r"^(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]{1,253}):[0-9]{1,5}$")
_MAX_LANGUAGES: Final = 32
_MAX_CERTIFICATE: Final = 8_192
_MAX_BYTES: Final = 4 << 20
_FORMAT: Final = 1


class Place(NamedTuple):
    """A point on the map, in degrees."""

    latitude: float
    longitude: float


class SiteRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One site of a federation."""

    name: str
    version: int = 1
    """Grows with every change of the record, which only the site itself makes."""
    place: Place | None = None
    languages: tuple[str, ...] = ()
    """Languages that its people read, as ISO 639-1 codes; none is any."""
    address: str = ""
    """'host:port' where other sites link to it; '' if it only links to others."""
    url: str = ""
    """The search page of the site, for people."""
    key: str
    """Its Ed25519 public key, as 64 hexadecimal digits."""
    certificate: str = ""
    """The certificate of its NATS server, in PEM: other sites trust this one and no other."""
    left: bool = False
    signature: str = ""
    """By the key, over the record without it; see `messaging.site_keys`."""


class TopologyChange(NamedTuple):
    """What merging a topology has changed."""

    topology: "SiteTopology"
    changed: tuple[str, ...]
    """Names of sites that are new or whose records are newer."""
    conflicts: tuple[SiteRecord, ...]
    """Records of other sites with the name of a known one."""


class SiteTopology(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The sites of a federation, sorted by name."""

    format: int = _FORMAT
    network: str
    """Identifies the federation; never changes."""
    sites: tuple[SiteRecord, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sites that have not left, sorted."""
        return tuple(site.name for site in self.sites if not site.left)

    def site(self, name: str) -> SiteRecord:
        """Return the record of a site, also of one that has left; raise `BadInput` if there is none."""
        for record in self.sites:
            if record.name == name:
                return record
        raise BadInput(f"There is no site {name[:40]!r}.", f"The sites are {', '.join(self.names)}.")

    def others(self, name: str) -> tuple[SiteRecord, ...]:
        """Return the records of all sites that have not left, except one."""
        return tuple(site for site in self.sites if site.name != name and not site.left)


def merge_records(topology: SiteTopology, records: tuple[SiteRecord, ...]) -> TopologyChange:
    """Return a topology with records that are new or newer; their signatures were checked by the caller."""
    sites = {site.name: site for site in topology.sites}
    changed, conflicts = [], []
    for record in records:
        current = sites.get(record.name)
        if current is not None and current.key != record.key:
            conflicts.append(record)
        elif current is None or record.version > current.version:
            if current is None and len(sites) >= MAX_SITES:
                continue
            sites[record.name] = record
            changed.append(record.name)
    merged = msgspec.structs.replace(topology, sites=tuple(sites[name] for name in sorted(sites)))
    return TopologyChange(merged, tuple(changed), tuple(conflicts))


def check_record(site: SiteRecord) -> str | None:
    """Return what is wrong with the record of a site, or None; the signature is not checked."""
    if not _NAME.fullmatch(site.name):
        return f"the name {site.name[:40]!r} is not 1 to 32 small letters, digits and hyphens"
    if site.name in RESERVED_NAMES:
        return f"no site can be called {site.name}"
    if not 1 <= site.version < 1 << 53:
        return f"the version of {site.name} is {site.version}"
    if not _KEY.fullmatch(site.key):
        return f"the key of {site.name} is not 64 hexadecimal digits"
    if site.place is not None and not (abs(site.place.latitude) <= 90 and abs(site.place.longitude) <= 180):
        return f"{site.name} is at {site.place.latitude}, {site.place.longitude}, which is not on the map"
    if site.address and not _ADDRESS.fullmatch(site.address):
        return f"the address of {site.name} is {site.address[:80]!r}, not host:port"
    if len(site.languages) > _MAX_LANGUAGES or any(not re.fullmatch("[a-z]{2,3}", code) for code in site.languages):
        return f"the languages of {site.name} are not codes such as 'de'"
    if len(site.certificate) > _MAX_CERTIFICATE or len(site.url) > 1_024:
        return f"the record of {site.name} is too large"
    return None


def encode_site_topology(topology: SiteTopology) -> bytes:
    """Return a topology as the JSON of its file, with a checksum."""
    return encode_json(topology, indent=2)


def decode_site_topology(data: bytes, where: str = TOPOLOGY_NAME) -> SiteTopology:
    """Return the topology in a file; raise `CorruptFile` or `NewerFormat`. `where` names the file in messages."""
    if len(data) > _MAX_BYTES:
        raise CorruptFile(f"{where} is damaged: it has {len(data):,} bytes.")
    topology = decode_json(Path(where), data, SiteTopology, _FORMAT, checksum_since=1)
    names = [site.name for site in topology.sites]
    faults = [fault for fault in map(check_record, topology.sites) if fault is not None]
    if names != sorted(set(names)) or len(names) > MAX_SITES:
        faults.append("its sites are not sorted by name, or too many")
    if faults:
        raise CorruptFile(f"{where} is damaged: {faults[0]}.")
    return topology
