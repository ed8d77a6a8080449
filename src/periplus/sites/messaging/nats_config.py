"""The configuration of the NATS server of a site.

The servers of two sites are linked by one leaf node connection, with TLS. On each of the two, the link belongs to an
account of its own that is named after the other site: nothing passes from one link to another, so that any number of
sites can be linked with each other without loops, a site sees only what is sent to it, and the account tells who has
sent a message. Every account has JetStream in a domain that is named after the site: what a site stores stays with it,
and works while it is cut off. See docs/decisions/056.

Of two sites, the one with the greater name connects to the other, unless only the other way has an address. The site
that connects proves its key (an nkey is an Ed25519 key in another spelling), and trusts exactly one certificate. The
other one asks for the certificate of the topology too, unless a token is valid: a site that joins is not known before.
"""

import base64
import json
from pathlib import Path
from typing import Any, Final, NamedTuple

from periplus.sites.site_topology import SiteRecord, SiteTopology

__all__ = [
    "JOIN_ACCOUNT",
    "LOCAL_ACCOUNT",
    "JoinAccess",
    "NatsPorts",
    "connects_to",
    "nkey_public",
    "nkey_seed",
    "write_nats_config",
]

LOCAL_ACCOUNT: Final = "local"
"""The account of what does not leave the site: buckets for services and liveness."""
JOIN_ACCOUNT: Final = "join"
"""The account of sites that have a token and are not in the topology yet."""
MAX_PAYLOAD: Final = 34 << 20
_LOCAL_BYTES: Final = 64 << 20
_MEMORY_BYTES: Final = 1 << 20
"""Of streams in memory, of which no site has any."""
_PREFIX_SEED: Final = 18 << 3
_PREFIX_USER: Final = 20 << 3


class NatsPorts(NamedTuple):
    """Where a NATS server listens."""

    client: int
    """On the loopback address, for the processes of this site."""
    leaf_host: str
    leaf: int
    """For other sites; 0 is not at all."""


class JoinAccess(NamedTuple):
    """How a site that joins reaches one that is in the federation: the content of a token."""

    address: str
    secret: str
    certificate: str


def _crc16(data: bytes) -> int:
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def _base32(data: bytes) -> str:
    return base64.b32encode(data + _crc16(data).to_bytes(2, "little")).decode("ascii").rstrip("=")


def nkey_public(key: str) -> str:
    """Return an Ed25519 public key, in hexadecimal, in the spelling of NATS: 'U...'."""
    return _base32(bytes([_PREFIX_USER]) + bytes.fromhex(key))


def nkey_seed(seed: bytes) -> str:
    """Return the 32 bytes of an Ed25519 private key in the spelling of NATS: 'SU...'."""
    prefix = bytes([_PREFIX_SEED | _PREFIX_USER >> 5, (_PREFIX_USER & 31) << 3])
    return _base32(prefix + seed)


def connects_to(site: SiteRecord, other: SiteRecord) -> bool:
    """Return whether a site opens the link to another; exactly one of two does, if either has an address."""
    if not other.address:
        return False
    return not site.address or site.name > other.name


def write_nats_config(
    folder: Path,
    topology: SiteTopology,
    site: SiteRecord,
    ports: NatsPorts,
    passwords: dict[str, str],
    seed: bytes,
    stream_bytes: int,
    addresses: dict[str, str] | None = None,
    joining: JoinAccess | None = None,
    join_secret: str = "",
) -> str:
    """Return the configuration of a server, and write the certificates that it names.

    folder: where key.pem is, and the certificates are written;
    passwords: by account, of the clients of this site;
    addresses: where to connect instead of the address in a record, by site;
    joining: of a site that is not in the topology of the others yet;
    join_secret: of the token that other sites may join with; '' is none.
    """
    from periplus.files import write_atomically

    write_atomically(folder / "certificate.pem", site.certificate.encode())
    others = topology.others(site.name)
    accounts: dict[str, Any] = {LOCAL_ACCOUNT: _account(LOCAL_ACCOUNT, passwords, _LOCAL_BYTES)}
    remotes: list[dict[str, Any]] = []
    for other in others:
        accounts[other.name] = _account(other.name, passwords, 2 * stream_bytes)
        if connects_to(site, other):
            path = folder / f"peer-{other.name}.pem"
            write_atomically(path, other.certificate.encode())
            address = (addresses or {}).get(other.name, other.address)
            remotes.append(_remote(folder, f"tls://{address}", other.name, path, nkey_seed(seed)))
        else:
            peer = {"nkey": nkey_public(other.key), "allowed_connection_types": ["LEAFNODE"]}
            accounts[other.name]["users"].append(peer)
    # A process of the site is in this account even while nobody can join: it waits for those who do later.
    accounts[JOIN_ACCOUNT] = _account(JOIN_ACCOUNT, passwords)
    if joining is not None:
        path = folder / "inviter.pem"
        write_atomically(path, joining.certificate.encode())
        url = f"tls://token:{joining.secret}@{joining.address}"
        remotes.append(_remote(folder, url, JOIN_ACCOUNT, path, ""))
    elif join_secret:
        link: dict[str, Any] = {
            "user": "token",
            "password": join_secret,
            "allowed_connection_types": ["LEAFNODE"],
            "permissions": {"publish": [f"to.{site.name}.join"], "subscribe": ["_INBOX.>"]},
        }
        accounts[JOIN_ACCOUNT]["users"].append(link)
    leafnodes: dict[str, Any] = {"remotes": remotes, "reconnect": "1s"}
    if ports.leaf:
        leafnodes |= {
            "listen": f"{ports.leaf_host or '0.0.0.0'}:{ports.leaf}",  # noqa: S104 - other sites connect to it
            "no_advertise": True,
            "tls": {"cert_file": str(folder / "certificate.pem"), "key_file": str(folder / "key.pem"), "timeout": 5},
        }
        if not join_secret:
            # Nobody but the sites of the topology has reason to connect: others do not get beyond the TLS handshake.
            trusted = [site.certificate, *(other.certificate for other in others if not connects_to(site, other))]
            write_atomically(folder / "peers.pem", "".join(trusted).encode())
            leafnodes["tls"] |= {"verify": True, "ca_file": str(folder / "peers.pem")}
    identity = f"{site.name}-{site.key[:8]}"  # the name alone may be that of another site, until it has joined
    config = {
        "server_name": identity,
        "listen": f"127.0.0.1:{ports.client}",
        "max_payload": MAX_PAYLOAD,
        "max_pending": 4 * MAX_PAYLOAD,
        "write_deadline": "10s",
        "ping_interval": "5s",
        "ping_max": 2,
        "jetstream": {
            "store_dir": str(folder / "jetstream"),
            "domain": identity if joining is not None else site.name,
            "max_file_store": max(1, len(others)) * 2 * stream_bytes + _LOCAL_BYTES,
            "max_memory_store": (len(others) + 1) * _MEMORY_BYTES,
            "sync_interval": "always",
        },
        "accounts": accounts,
        "leafnodes": leafnodes,
    }
    return json.dumps(config, indent=2) + "\n"


def _account(name: str, passwords: dict[str, str], most: int = 0) -> dict[str, Any]:
    """Return an account with JetStream for so many bytes; 0 is without.

    The other site may use JetStream in the account of its link. So that it can neither use up the disk nor the share of
    others, every account has limits of its own.
    """
    account: dict[str, Any] = {"users": [{"user": name, "password": passwords[name]}]}
    if most:
        limits = {"max_mem": _MEMORY_BYTES, "max_file": most, "max_streams": 8, "max_consumers": 64}
        account["jetstream"] = limits
    return account


def _remote(folder: Path, url: str, account: str, trusted: Path, seed: str) -> dict[str, Any]:
    remote: dict[str, Any] = {
        "url": url,
        "account": account,
        "ignore_discovered_servers": True,
        "tls": {
            "ca_file": str(trusted),
            "cert_file": str(folder / "certificate.pem"),
            "key_file": str(folder / "key.pem"),
            "timeout": 5,
        },
    }
    if seed:
        remote["nkey"] = seed
    return remote
