"""The folder `site` of a data folder: who this site is, which other sites there are, and what is on its way.

site/key.pem            the private key; without it the site is another one
site/site.json          name, ports, and the passwords of the processes of this site
site/topology.json      the sites of the federation
site/nats.json          the configuration of the NATS server, written before it starts
site/jetstream/         its streams and buckets
site/outbox/            batches for other sites
site/received/SINK/     batches of other sites that wait for the crawler or the indexer
site/applied/           which batches were applied
site/quarantine/        batches that were refused
site/data/              statistics and thresholds of this site, by name
site/peers/SITE/        the same of other sites
site/status.json        the state of the process that exchanges messages
"""

import base64
import contextlib
import hashlib
import os
import secrets
import socket
import ssl
import time
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import BadInput, NothingHere, SiteUnreachable
from periplus.files import decode_json, disk_errors, encode_json, make_folder, read_file, write_atomically
from periplus.sites.messaging.nats_config import JOIN_ACCOUNT, LOCAL_ACCOUNT
from periplus.sites.messaging.site_keys import SiteKey, make_site_key, read_site_key, sign_record, verify_record
from periplus.sites.site_topology import (
    TOPOLOGY_NAME,
    Place,
    SiteRecord,
    SiteTopology,
    TopologyChange,
    check_record,
    decode_site_topology,
    encode_site_topology,
    merge_records,
)
from periplus.typed_decoding import parse_msgpack

__all__ = ["JoinToken", "SiteConfig", "SiteFolder", "decode_token", "fetch_certificate", "new_site_record"]

_FORMAT: Final = 1
TOKEN_DAYS: Final = 7.0
"""For which a token is valid."""
_WORD_PREFIX: Final = "periplus-site-"
_TLS_SECONDS: Final = 10.0
_MAX_INFO: Final = 8_192


class SiteConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What only this site knows about itself."""

    format: int = _FORMAT
    name: str
    client_port: int
    leaf_host: str = ""
    leaf_port: int = 0
    join_secret: str = ""
    """Of the token that other sites may join with."""
    join_expires: float = 0.0
    """Until when they may, in seconds since 1970."""
    passwords: dict[str, str] = {}
    """Of the processes of this site, by account."""
    routes: dict[str, str] = {}
    """Where to connect instead of the address in a record, by site: a tunnel, or a proxy."""

    def open_secret(self, now: float) -> str:
        """Return the secret with which sites can join now; '' if there is none, or it has expired."""
        return self.join_secret if now < self.join_expires else ""


class JoinToken(msgspec.Struct, frozen=True, array_like=True):
    """What a site needs to join: where to ask, a secret, and the certificate to expect, as its SHA-256."""

    network: str
    site: str
    address: str
    secret: str
    fingerprint: bytes
    expires: float = 0.0
    """By the clock of the site that issued it, which decides; for messages."""


def encode_token(token: JoinToken) -> str:
    """Return a token as one word to copy."""
    return _WORD_PREFIX + base64.urlsafe_b64encode(msgspec.msgpack.encode(token)).decode("ascii").rstrip("=")


def decode_token(text: str) -> JoinToken:
    """Return the token in a word; raise `BadInput` if it is none."""
    text = text.strip()
    try:
        if not text.startswith(_WORD_PREFIX) or len(text) > 4_096:
            raise ValueError
        body = text[len(_WORD_PREFIX) :]
        return parse_msgpack(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)), JoinToken)
    except (ValueError, msgspec.MsgspecError):
        raise BadInput("This is not a token of a site.", "Copy all of what `periplus site invite` prints.") from None


def certificate_fingerprint(certificate: str) -> bytes:
    """Return the SHA-256 of a certificate in PEM."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).digest()


def fetch_certificate(address: str, fingerprint: bytes) -> str:
    """Return the certificate that a NATS server shows to other sites, in PEM, if it has the expected fingerprint.

    Raise `SiteUnreachable` if nothing answers there, or something else does.
    """
    host, _, port = address.rpartition(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # the fingerprint decides
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _TLS_SECONDS) as plain:
            greeting = b""
            while not greeting.endswith(b"\n") and len(greeting) < _MAX_INFO:
                piece = plain.recv(1)
                if not piece:
                    break
                greeting += piece
            with context.wrap_socket(plain) as channel:
                raw = channel.getpeercert(binary_form=True) or b""
    except (OSError, ValueError) as error:
        raise SiteUnreachable(
            f"No site answers at {address}: {error}.", "Does it run? See: periplus site up."
        ) from error
    if hashlib.sha256(raw).digest() != fingerprint:
        raise SiteUnreachable(f"Another site than that of the token answers at {address}.", "Ask for a new token.")
    return ssl.DER_cert_to_PEM_cert(raw)


def new_site_record(
    key: SiteKey, name: str, place: Place | None, languages: tuple[str, ...], address: str, url: str = ""
) -> SiteRecord:
    """Return the signed record of a new site; raise `BadInput` if something in it cannot be used."""
    record = SiteRecord(name=name, place=place, languages=languages, address=address, url=url, key=key.public)
    if (fault := check_record(record)) is not None:
        raise BadInput(f"A site cannot be made: {fault}.")
    record = msgspec.structs.replace(record, certificate=key.make_certificate(name, address))
    return sign_record(key, record)


class SiteFolder:
    """The folder of one site; any process of the site may read it."""

    def __init__(self, data_folder: Path) -> None:
        self.path: Final = data_folder / "site"

    @property
    def exists(self) -> bool:
        """Whether this data folder belongs to a site."""
        return (self.path / "site.json").exists()

    def create(self, config: SiteConfig, topology: SiteTopology) -> None:
        """Write the configuration and the topology of a new site; the key is there already."""
        self.save_topology(topology)
        self.save_config(config)

    def make_key(self) -> SiteKey:
        """Return the key of the site, which is made if there is none."""
        with disk_errors(self.path):
            make_folder(self.path, 0o700)
        return make_site_key(self.path / "key.pem")

    def key(self) -> SiteKey:
        """Return the key of the site."""
        return read_site_key(self.path / "key.pem")

    def config(self) -> SiteConfig:
        """Return who this site is; raise `NothingHere` if the folder is not that of a site."""
        path = self.path / "site.json"
        try:
            return decode_json(path, read_file(path), SiteConfig, _FORMAT, checksum_since=1)
        except FileNotFoundError:
            raise NothingHere(
                f"{self.path.parent} is not a site.", "Make one: periplus site init, or periplus site join --name NAME."
            ) from None

    def save_config(self, config: SiteConfig) -> None:
        """Write who this site is, for its owner only."""
        path = self.path / "site.json"
        write_atomically(path, encode_json(config, indent=2))
        with disk_errors(path):
            os.chmod(path, 0o600)

    def topology(self) -> SiteTopology:
        """Return the sites of the federation."""
        path = self.path / TOPOLOGY_NAME
        try:
            return decode_site_topology(read_file(path), str(path))
        except FileNotFoundError:
            raise NothingHere(
                f"There is no topology in {self.path}.", "Join again: periplus site join --name NAME."
            ) from None

    def save_topology(self, topology: SiteTopology) -> None:
        """Write the sites of the federation."""
        write_atomically(self.path / TOPOLOGY_NAME, encode_site_topology(topology))

    def merge(self, records: tuple[SiteRecord, ...]) -> TopologyChange:
        """Add records of sites that are new or newer and signed by the sites themselves; write the result."""
        valid = tuple(site for site in records if check_record(site) is None and verify_record(site))
        change = merge_records(self.topology(), valid)
        if change.changed:
            self.save_topology(change.topology)
            self.complete_passwords(change.topology)
        return change

    def complete_passwords(self, topology: SiteTopology) -> SiteConfig:
        """Return the configuration with a password for the account of each site."""
        config = self.config()
        accounts = (LOCAL_ACCOUNT, JOIN_ACCOUNT, *(site.name for site in topology.others(config.name)))
        passwords = {**{name: secrets.token_urlsafe(24) for name in accounts}, **config.passwords}
        if passwords != config.passwords:
            config = msgspec.structs.replace(config, passwords=passwords)
            self.save_config(config)
        return config

    def update_own(self, **changes: object) -> SiteRecord:
        """Change the record of this site, sign it and write it; return it."""
        name = self.config().name
        own = self.topology().site(name)
        record = msgspec.structs.replace(own, version=own.version + 1, **changes)
        record = sign_record(self.key(), record)
        self.merge((record,))
        return record

    def token(self, days: float | None = None) -> str:
        """Return a token with which other sites can join; raise `BadInput` if nobody can reach this site.

        It is the one that was issued last while that is valid, unless `days` are given: then the last one is revoked.
        """
        config, topology = self.config(), self.topology()
        own = topology.site(config.name)
        if not own.address:
            raise BadInput("Other sites cannot reach this one.", "Set its address: periplus site init --address.")
        now = time.time()
        if days is not None or not config.open_secret(now):
            expires = now + 86_400 * (TOKEN_DAYS if days is None else days)
            config = msgspec.structs.replace(config, join_secret=secrets.token_urlsafe(24), join_expires=expires)
            self.save_config(config)
        fingerprint = certificate_fingerprint(own.certificate)
        return encode_token(
            JoinToken(topology.network, config.name, own.address, config.join_secret, fingerprint, config.join_expires)
        )

    def revoke_token(self) -> bool:
        """Make the token that was issued last useless; return whether it was valid until now."""
        config = self.config()
        was_valid = bool(config.open_secret(time.time()))
        self.save_config(msgspec.structs.replace(config, join_secret="", join_expires=0.0))
        return was_valid

    def remove(self) -> None:
        """Make this data folder one of no site; pages and index stay."""
        import shutil

        with contextlib.suppress(OSError):
            (self.path / "site.json").unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)
